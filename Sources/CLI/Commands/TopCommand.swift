import ArgumentParser
import Dispatch
import Foundation
import Gateway
import Operations
import Transport
import Watch

struct TopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Show the state of a running gateway: feeds, books, clients, loops, limits, events.",
    discussion: """
      The page /ops on the internal port shows the same. It needs the operators' token.

        tidegate top                                              # beside a demo of the same user
        tidegate top --token-file /etc/tidegate/admin-token
        tidegate top --once --json | jq '.feeds[] | select(.state != "live")'

      Exit status: 0, --once has shown it; 1, the gateway refuses the token or has none; 3, no gateway answers; 64, wrong
      arguments; 128 + N, ended by signal N. If the gateway goes away later, it waits for its return.
      """)

  @Option(help: ArgumentHelp("The gateway's internal address.", valueName: "host:port"))
  var at = Self.defaultAddress
  @Option(
    help: ArgumentHelp(
      "The file of admin.token-file (default: the variable TIDEGATE_ADMIN_TOKEN_FILE, else the demo's own file).",
      valueName: "file"))
  var tokenFile: String?
  @Flag(help: "Show it once and exit.")
  var once = false
  @Flag(help: "Print the documents as they are, one a line.")
  var json = false

  static let defaultAddress = "127.0.0.1:9090"
  /// The time between two requests.
  private static let interval = Duration.seconds(1)

  private enum Look {
    case state(GatewayState, text: String)
    /// The gateway refuses it; another try would not help.
    case refused(String)
    case failed(String)
  }

  func run() async throws {
    let address = try internalAddress(at)
    guard let token = try Self.token(tokenFile) else {
      throw ValidationError("--token-file is missing; give the file of admin.token-file.")
    }
    let loop = try EventLoop(index: 0, label: "tidegate.top")
    let drawsInPlace = Terminal.isThere && !json && !once
    let ends = drawsInPlace ? Terminal.leavingOnSignals() : []
    defer { for source in ends { source.cancel() } }
    var table = StateTable(address: address.description)
    var isShown = false
    while true {
      let began = ContinuousClock.now
      let look = await Self.look(at: address, token, loop)
      switch look {
      case .refused(let reason):
        if drawsInPlace, isShown { StandardOutput.write(Terminal.leave) }
        printError("error: \(reason)")
        throw ExitCode(1)
      case .failed(let reason) where !isShown:
        printError("error: \(reason)")
        throw ExitCode(3)
      case .failed(let reason): table.fail(reason)
      case .state(let state, let text):
        if drawsInPlace, !isShown { StandardOutput.write(Terminal.enter) }
        isShown = true
        table.apply(state)
        if json { StandardOutput.write(text + "\n") }
      }
      if !json { show(table, inPlace: drawsInPlace) }
      if once { return }
      try await Task.sleep(until: began + Self.interval, clock: .continuous)
    }
  }

  private func show(_ table: StateTable, inPlace: Bool) {
    guard inPlace else {
      let lines = table.lines(width: Terminal.plainWidth, height: 1_000, color: Terminal.hasColor)
      return StandardOutput.write(lines.joined(separator: "\n") + "\n")
    }
    let size = Terminal.size
    Terminal.draw(table.lines(width: size.columns, height: size.rows, color: Terminal.hasColor))
  }

  private static func look(at address: SocketAddress, _ token: String, _ loop: EventLoop) async -> Look {
    switch await InternalRequest.send("GET", "/admin/state", token: token, at: address, loop: loop) {
    case .failed(let reason): return .failed(reason)
    case .answered(200, let text):
      guard let state = try? JSONDecoder().decode(GatewayState.self, from: Data(text.utf8)) else {
        return .failed("\(address.description) is not the internal port of this version")
      }
      return .state(state, text: text)
    case .answered(404, _): return .failed("\(address.description) is not an internal port of Tidegate")
    case .answered(let status, let text):
      let reason = GatewayRefusal(status: status, text: text).words
      return status == 401 || status == 403 ? .refused(reason) : .failed("\(address.description): \(reason)")
    }
  }

  /// The operators' token of a file, of the environment's file, or of a demo of this user; nil if there is none.
  static func token(_ file: String?) throws -> String? {
    let environment = ProcessInfo.processInfo.environment
    if let file = file ?? environment["TIDEGATE_ADMIN_TOKEN_FILE"] {
      guard let token = WatchCommand.token(inFile: file) else {
        throw ValidationError("--token-file \"\(file)\" cannot be read or is empty; give the file of admin.token-file.")
      }
      return token
    }
    return DemoToken.usualFile(environment).flatMap { WatchCommand.token(inFile: $0) }
  }
}
