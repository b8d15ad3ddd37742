/// A configured symbol taken apart: `BTC-USD` is base `BTC` and quote `USD`.
struct FeedSymbol: Hashable {
  let base: String
  let quote: String

  /// Nil unless it is two non-empty names joined by one dash.
  init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    base = String(parts[0])
    quote = String(parts[1])
  }

  static let advice = "write base and quote joined by a dash, as in BTC-USD"
}
