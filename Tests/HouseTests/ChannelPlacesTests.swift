import Testing

/// A channel stands in its own file and in the registry: no other code decides by the name of a channel.
@Suite("Channels")
struct ChannelPlacesTests {
  /// Targets whose channels are those of a venue, of a market, or of a client.
  private static let others: Set<String> = ["Feeds", "MarketData", "TidegateClient", "VenueSimulator", "Venues"]
  /// Files outside `Channels` that decide by a channel, and how often. The loops find the owner of a document by its
  /// channel, and `HTTPAPI` describes the types of members. An entry may only shrink.
  private static let allowed: [String: Int] = [
    "AdminAPI.swift": 2,
    "AsyncAPISchemas.swift": 1,
    "LoopAlerts+Streams.swift": 2,
    "LoopComposites.swift": 2,
  ]

  /// Whether a line of code compares the name of a channel, or switches over one.
  private static func decides(_ line: Substring) -> Bool {
    let code = line.drop { $0 == " " }
    guard !code.hasPrefix("//") else { return false }
    return code.firstMatch(of: /[cC]hannel\s*[!=]=\s*\.[a-z]/) != nil
      || code.firstMatch(of: /switch\s[^{]*[cC]hannel\s*\{/) != nil
  }

  @Test("only its type and the registry decide by a channel's name")
  func indices() {
    for source in SourceTree.files(in: "Sources") where !Self.others.contains(source.target) {
      guard !source.path.hasPrefix("Sources/PubSub/Channels/") else { continue }
      let lines = source.lines.enumerated().filter { Self.decides($0.element) }
      guard !lines.isEmpty else { continue }
      let list = lines.map { "\(source.path):\($0.offset + 1)\($0.element)" }.joined(separator: "\n")
      let allowed = Self.allowed[source.name] ?? 0
      #expect(lines.count == allowed, "\(source.name) has \(lines.count), allowed are \(allowed):\n\(list)")
    }
  }

  @Test("comparisons and switches are found")
  func finds() {
    for line in [
      "if key.channel == .book {", "  case .wanted(let name) where name.channel == .topic:", "switch name.channel {",
      "switch channel {", "return channel != .status",
    ] {
      #expect(Self.decides(line[...]), "\(line)")
    }
    for line in ["// key.channel == .book", "switch channel.facts.names {", "stream.key.channel == channel"] {
      #expect(!Self.decides(line[...]), "\(line)")
    }
  }
}
