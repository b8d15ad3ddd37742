import Access
import Foundation
import History
import MarketData
import Operations
import Recordings
import Transport
import Venues

/// Finds what keeps a gateway from starting, or from ever doing what its configuration says, although each setting is
/// well-formed. `serve` and `check-config` both ask it, so that one refuses what the other refuses.
package struct StartCheck: Sendable {
  /// With these the gateway does not start.
  package private(set) var refusals: [ConfigurationProblem] = []
  /// With these the gateway starts, but something of it never works. `serve` logs them; `check-config` refuses them.
  package private(set) var lasting: [ConfigurationProblem] = []

  private let configuration: GatewayConfiguration
  private let origins: [String: String]

  /// Reads the named files and tries the addresses. Changes nothing.
  /// - Parameter today: the day in UTC as a number, 20261225, on which futures of earlier days have expired.
  package init(_ loaded: LoadedConfiguration, today: Int = StartCheck.today) {
    configuration = loaded.configuration
    origins = Dictionary(loaded.entries.map { ($0.key, $0.origin) }) { first, _ in first }
    checkAddresses()
    checkFiles()
    checkData()
    checkFutures(today)
  }

  /// The present day in UTC: 20261225.
  package static var today: Int {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let day = calendar.dateComponents([.year, .month, .day], from: Date())
    return (day.year ?? 0) * 10_000 + (day.month ?? 0) * 100 + (day.day ?? 0)
  }

  private func problem(_ key: String, _ message: String, allowed: String = "") -> ConfigurationProblem {
    ConfigurationProblem(name: key, location: origins[key] ?? "default", message: message, allowed: allowed)
  }

  private mutating func checkAddresses() {
    for (key, address) in [("listen", configuration.listen), ("internal-listen", configuration.internalListen)] {
      guard let objection = Listener.objection(to: address) else { continue }
      refusals.append(
        problem(
          key, "cannot listen there: \(objection.description)",
          allowed: "an address of this machine, with a port that this user may take"))
    }
  }

  private mutating func checkFiles() {
    if let path = configuration.adminTokenFile, case .failure(let problem) = AdminToken.read(path) {
      refusals.append(self.problem("admin.token-file", problem.words))
    }
    if let path = configuration.keysFile {
      do throws(ConfigurationProblems) {
        _ = try Authenticator(path: path)
      } catch {
        refusals += error.problems
      }
    }
    if let path = configuration.caFile {
      do throws(TransportError) {
        _ = try TLSClientContext(caFile: path)
      } catch {
        refusals.append(problem("ca-file", error.description))
      }
    }
    if !configuration.replay.isEmpty {
      do throws(RecordingError) {
        _ = try ReplayRun(try ReplayPlan(configuration.replay))
      } catch {
        refusals.append(problem("replay", error.description))
      }
    }
  }

  /// Replays keep no data. An unusable folder that nobody named is left to the log: a gateway also works without.
  private mutating func checkData() {
    let key = "data.directory"
    guard let directory = configuration.data.directory, configuration.replay.isEmpty else { return }
    do throws(DataFileError) {
      try HistoryKeeper.check(directory: directory, isSimulated: configuration.demo)
    } catch {
      switch error {
      case .newer, .foreign: refusals.append(problem(key, error.description))
      // The gateway sets a damaged file aside; others pass.
      case .damaged, .full, .busy, .owned, .inaccessible, .failed: break
      }
    }
    guard origins[key].map({ $0 != "default" }) ?? false,
      let reason = FileProblem.recording(directory + (directory.hasSuffix("/") ? "" : "/"))
        ?? FileProblem.updating(HistoryKeeper.path(directory, configuration.demo))
    else { return }
    lasting.append(
      problem(
        key, "nothing can be kept in \(directory): \(reason)", allowed: "a folder that this user may write, or none"))
  }

  private mutating func checkFutures(_ today: Int) {
    for feed in configuration.feeds {
      for symbol in feed.symbols {
        guard case .future(let expiry)? = FeedSymbol(symbol)?.kind, let day = Int(expiry), day < today else { continue }
        lasting.append(
          problem(
            "feeds.\(feed.venue).symbols", "\"\(symbol)\" has expired: no venue lists it any more",
            allowed: "a future of a later day, or a selection like \(symbol.dropLast(8))*"))
      }
    }
  }
}

extension GatewayConfiguration {
  /// Why a file holds no operators' token that the gateway would accept; nil if it holds one.
  package static func adminTokenProblem(_ path: String) -> String? {
    guard case .failure(let problem) = AdminToken.read(path) else { return nil }
    return problem.words
  }
}
