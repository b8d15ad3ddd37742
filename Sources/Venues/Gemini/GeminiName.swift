import MarketData

/// Gemini's names of markets: `btcusd`, `btcgusdperp`. Base and quote run together, in lower case.
package enum GeminiName {
  /// The currencies that markets are quoted in. The longest that fits a name counts, which is right for all that were
  /// listed in 2026; the details of a market say what it is in truth.
  private static let quotes = [
    "USD", "GUSD", "USDT", "USDC", "RLUSD", "EUR", "GBP", "SGD", "BTC", "ETH", "DAI", "BCH", "LTC", "FIL", "SOL",
  ]

  package static func text(of symbol: FeedSymbol) -> String {
    (symbol.base + symbol.quote + (symbol.kind == .spot ? "" : "perp")).lowercased()
  }

  /// A name taken apart, in any case; nil if it ends in no quote currency.
  /// - Parameter quote: the quote currency, where it is known.
  package static func symbol(_ name: String, quote: String? = nil) -> FeedSymbol? {
    let isPerpetual = name.lowercased().hasSuffix("perp")
    let pair = name.dropLast(isPerpetual ? 4 : 0).uppercased()
    let fitting = (quote.map { [$0.uppercased()] } ?? quotes).filter { pair.hasSuffix($0) && pair != $0 }
    guard let quote = fitting.max(by: { $0.count < $1.count }) else { return nil }
    return FeedSymbol(base: String(pair.dropLast(quote.count)), quote: quote, kind: isPerpetual ? .perpetual : .spot)
  }
}
