import ArgumentParser
import Foundation
import Gateway
import Transport
import VenueSimulator
import Venues

struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Simulate an exchange on this machine, in its own protocol, with faults on demand.",
    discussion: """
        tidegate simulate --venue kraken --listen 127.0.0.1:9001
        tidegate serve --feed kraken=BTC-USD --endpoint kraken=ws://127.0.0.1:9001/v2

      With --from it sends a recording, whatever the client subscribes to: from the beginning, at the recorded pace,
      starting with the client's first message. At the end it closes the connection; a client that reconnects gets
      the recording again.
        tidegate simulate --from kraken.ndjson.gz --listen 127.0.0.1:9001

      Kinds of --fault, each with the value that it takes:
      \(Self.faultList)
      """)

  private static var faultList: String {
    Fault.Kind.allCases.map { "  \($0.rawValue): \($0.summary) (\($0.expects))" }.joined(separator: "\n")
  }

  @Option(help: ArgumentHelp("The exchange to simulate; with --from, the recording's.", valueName: "venue"))
  var venue: String?
  @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "host:port"))
  var listen: String
  @Option(help: ArgumentHelp("Seed of the market (default: 1).", valueName: "n"))
  var seed: UInt64?
  @Option(help: ArgumentHelp("Messages per second and symbol, 1 to 10000 (default: 20).", valueName: "n"))
  var rate: Int?
  @Option(
    help: ArgumentHelp(
      "List this many invented spot markets, S0001 and so on, instead of the usual ones, 1 to 9999.",
      valueName: "n"))
  var markets: Int?
  @Option(help: ArgumentHelp("Send this recording instead of a made-up market.", valueName: "recording"))
  var from: String?
  @Option(help: ArgumentHelp("Cause this fault now and then. Repeatable.", valueName: "kind[=value][@seconds]"))
  var fault: [String] = []
  @Option(
    help: ArgumentHelp("Serve wss with a fresh certificate and write its root here, for --ca.", valueName: "file"))
  var caOut: String?

  /// What `--fault` says.
  var faults: [Fault] {
    get throws {
      var faults: [Fault] = []
      for text in fault {
        do throws(FaultError) {
          faults.append(try Fault(parsing: text))
        } catch {
          throw ValidationError("--fault \"\(text)\": \(error.description)")
        }
      }
      return faults
    }
  }

  func validate() throws {
    _ = try faults
    let names = VenueRegistry.venues.map(\.name).sorted()
    if let venue, !names.contains(venue) {
      throw ValidationError("--venue: \(VenueRegistry.unknownVenue(venue))")
    }
    if venue == nil, from == nil {
      throw ValidationError(
        "--venue is missing; give one of \(names.joined(separator: ", ")), or a recording with --from.")
    }
    if (try? SocketAddress(parsing: listen)) == nil {
      throw ValidationError("--listen \"\(listen)\" is not allowed; give HOST:PORT with a numeric host or localhost.")
    }
    if let rate, !(1...10_000).contains(rate) {
      throw ValidationError("--rate \(rate) is not allowed; give 1 to 10000.")
    }
    if let markets, !(1...9_999).contains(markets) {
      throw ValidationError("--markets \(markets) is not allowed; give 1 to 9999.")
    }
    if from != nil,
      let flag = rate != nil ? "--rate" : seed != nil ? "--seed" : markets != nil ? "--markets" : nil
    {
      throw ValidationError("\(flag) cannot be combined with --from: a recording is played as it was recorded.")
    }
    if let from, !FileManager.default.isReadableFile(atPath: from) {
      throw ValidationError("--from \"\(from)\" cannot be read; give a recording.")
    }
  }

  func run() async throws { try await simulate(self, signals: ServiceSignals()) }
}
