import ArgumentParser
import Foundation
import Gateway
import Operations
import Transport

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Print the health of a running gateway, and the reasons if it is not ok.",
    discussion: """
      With --check, the exit status is: 0 ok, every feed is live; 1 degraded, a part of the configured markets is
      missing, or history is not written; 2 not ready; 3 no gateway answers.

        tidegate status
        tidegate status --check --quiet || echo 'look at the gateway'
      """)

  @Option(help: ArgumentHelp("The gateway's internal address.", valueName: "host:port"))
  var at = "127.0.0.1:9090"
  @Flag(help: "Exit with the status above.")
  var check = false
  @Flag(help: "Print nothing.")
  var quiet = false

  /// What `/healthz` answers.
  private struct Health: Decodable {
    let status: String
    let feeds_live: Int
    let feeds: Int
    let uptime_s: Int
    let version: String
    let reasons: [String]
  }

  func run() async throws {
    let address = try internalAddress(at)
    let loop = try EventLoop(index: 0, label: "tidegate.status")
    let text: String
    switch await InternalRequest.send("GET", "/healthz", at: address, loop: loop) {
    case .failed(let reason):
      printError("error: \(reason)")
      throw ExitCode(3)
    case .answered(_, let answer): text = answer
    }
    guard let health = try? JSONDecoder().decode(Health.self, from: Data(text.utf8)) else {
      printError("error: \(address.description) is not an internal port of Tidegate")
      throw ExitCode(3)
    }
    if !quiet {
      print(
        "\(health.status): \(health.feeds_live) of \(health.feeds) feeds live, up \(Self.words(health.uptime_s)), "
          + "version \(health.version)")
      for reason in health.reasons { print("  \(reason)") }
    }
    let codes: [String: Int32] = ["ok": 0, "degraded": 1, "failing": 2]
    if check, let code = codes[health.status], code != 0 { throw ExitCode(code) }
  }

  /// `3 d 4 h`, `4 h 5 min`, `5 min 6 s`, `6 s`
  static func words(_ seconds: Int) -> String {
    let parts = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
    let first = parts.firstIndex { $0.0 > 0 } ?? 3
    return parts[first...].prefix(2).map { "\($0.0) \($0.1)" }.joined(separator: " ")
  }
}

/// Parses the address of an internal port.
func internalAddress(_ text: String) throws -> SocketAddress {
  guard let address = try? SocketAddress(parsing: text) else {
    throw ValidationError("--at \"\(text)\" is not allowed; give an address like 127.0.0.1:9090.")
  }
  return address
}
