import Transport

/// What two processes of a service say to each other while one takes over from the other: a line of text each.
enum UpgradeMessage: Sendable, Equatable {
  // From the next process.
  /// This many of its connections to venues are live.
  case warming(live: Int, of: Int)
  /// Its books are ready.
  case ready
  /// Clients are accepted.
  case serving
  /// It ends, for this reason.
  case failed(String)

  // To the next process.
  /// The data file and the ports are its own; the number of this upgrade since the service began.
  case yours(Int)

  /// The most bytes of a reason.
  static let reasonLimit = 600

  /// Nil if it is another text.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= MessageChannel.limit, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    let rest = words.count > 1 ? words[1] : ""
    switch (words.first ?? "", words.count) {
    case ("warming", 2):
      let numbers = rest.split(separator: " ", omittingEmptySubsequences: false).map { Self.number($0) }
      guard numbers.count == 2, let live = numbers[0], let all = numbers[1], live <= all else { return nil }
      self = .warming(live: live, of: all)
    case ("ready", 1): self = .ready
    case ("serving", 1): self = .serving
    case ("failed", 2):
      let reason = Self.line(rest)
      guard !reason.isEmpty else { return nil }
      self = .failed(reason)
    case ("yours", 2):
      guard let number = Self.number(rest), number > 0 else { return nil }
      self = .yours(number)
    default: return nil
    }
  }

  var bytes: [UInt8] {
    switch self {
    case .warming(let live, let all): Array("warming \(live) \(all)".utf8)
    case .ready: Array("ready".utf8)
    case .serving: Array("serving".utf8)
    case .failed(let reason):
      Array("failed \(Self.line(reason[...]).isEmpty ? "for no reason" : Self.line(reason[...]))".utf8)
    case .yours(let number): Array("yours \(number)".utf8)
    }
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.count <= 9 && text.utf8.allSatisfy({ (48...57).contains($0) }) ? Int(text) : nil
  }

  /// One line of bounded length, for a log.
  private static func line(_ text: Substring) -> String {
    var line = ""
    for scalar in text.unicodeScalars where line.utf8.count < reasonLimit {
      line.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
    }
    return line
  }
}
