import ArgumentParser

/// The reasons why `tidegate watch` ends by itself, with their exit status. Its help lists the numbers.
enum WatchEnd: Equatable {
  /// The gateway could not be reached, or ended the connection for good.
  case noConnection(String)
  /// Symbols were refused, each with its reason.
  case refused([String])
  /// With `--once`: these rows are still empty or incomplete at the time limit.
  case incomplete([String])
  /// With `--once`: everything has been shown.
  case complete

  /// With `--once`: the gateway has not answered in time.
  static func unanswered(_ url: String, lost reason: String? = nil) -> WatchEnd {
    .noConnection(
      reason.map { "no connection to \(url): \($0)" }
        ?? "\(url) did not answer within \(WatchScreen.onceLimit.components.seconds) s")
  }

  var status: Int32 {
    switch self {
    case .noConnection: 1
    case .refused: 2
    case .incomplete: 3
    case .complete: 0
    }
  }

  /// Lines for standard error.
  var lines: [String] {
    switch self {
    case .noConnection(let reason): [reason]
    case .refused(let reasons): reasons
    case .complete: []
    case .incomplete(let symbols):
      ["incomplete after \(WatchScreen.onceLimit.components.seconds) s: \(symbols.joined(separator: ", "))"]
    }
  }

  func fail() throws {
    if self == .complete { return }
    for line in lines { printError("error: \(line)") }
    throw ExitCode(status)
  }
}
