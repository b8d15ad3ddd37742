import PubSub

/// The lists of symbols that clients request by name.
package struct WatchlistSettings: Sendable, Equatable {
  /// Lists that there may be, and symbols of one.
  static let limit = 100
  static let symbolLimit = 1_000

  /// Symbols and patterns by the name of their list, in order.
  package private(set) var lists: [String: [String]] = [:]

  package init() {}

  /// Takes lists like `majors=kraken:BTC-USD kraken:ETH-USD`; false if one is not allowed.
  mutating func take(_ entries: [String]) -> Bool {
    lists.removeAll()
    for entry in entries {
      let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, TopicBoard.isName(parts[0]), lists[parts[0]] == nil else { return false }
      let symbols = parts[1].split(separator: " ").map(String.init)
      guard (1...Self.symbolLimit).contains(symbols.count), symbols.allSatisfy(Self.isSymbol) else { return false }
      lists[parts[0]] = symbols
    }
    return lists.count <= Self.limit
  }

  /// `kraken:BTC-USD`, `kraken:*` or `*:BTC-USD`.
  private static func isSymbol(_ text: String) -> Bool {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && (2...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }
  }

  /// The lists as they are configured, by name.
  var entries: [String] {
    lists.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.joined(separator: " "))" }
  }
}
