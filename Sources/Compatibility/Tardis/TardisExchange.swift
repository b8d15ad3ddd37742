import MarketData
import PubSub

/// An exchange by tardis' name: the kinds of markets of one venue.
struct TardisExchange: Sendable {
  let name: String
  let venue: String
  let kinds: [Instrument.Kind.Family]

  static let all: [TardisExchange] = [
    .init("binance", "binance", .spot),
    .init("binance-futures", "binance", .perpetual, .future),
    .init("bitfinex", "bitfinex", .spot),
    .init("bitget", "bitget", .spot),
    .init("bitget-futures", "bitget", .perpetual),
    .init("bitstamp", "bitstamp", .spot),
    .init("bybit", "bybit", .perpetual, .future),
    .init("bybit-spot", "bybit", .spot),
    .init("coinbase", "coinbase", .spot),
    .init("deribit", "deribit", .perpetual, .future),
    .init("gate-io", "gate", .spot),
    .init("gemini", "gemini", .spot),
    .init("hyperliquid", "hyperliquid", .perpetual),
    .init("kraken", "kraken", .spot),
    .init("kucoin", "kucoin", .spot),
    .init("okex", "okx", .spot),
    .init("okex-futures", "okx", .future),
    .init("okex-swap", "okx", .perpetual),
  ]

  private init(_ name: String, _ venue: String, _ kinds: Instrument.Kind.Family...) {
    (self.name, self.venue, self.kinds) = (name, venue, kinds)
  }

  /// The venue's own name of a market in capitals, as tardis writes it.
  func rawName(of instrument: Instrument) -> String {
    let name = instrument.venueSymbol.uppercased()
    switch self.name {
    // tBTCUSD
    case "bitfinex": return name.hasPrefix("T") ? String(name.dropFirst()) : name
    // The names of Kraken's first protocol.
    case "kraken" where name.hasPrefix("BTC/"): return "XBT/" + name.dropFirst(4)
    default: return name
    }
  }

  /// The markets of the exchange that a grant allows, by their raw names. O(instruments).
  func markets(in directory: Directory, _ grant: Grant) -> [String: Instrument] {
    let prefix = venue + ":"
    var markets: [String: Instrument] = [:]
    for entry in directory.entries.values {
      let instrument = entry.instrument
      guard instrument.symbol.hasPrefix(prefix), kinds.contains(instrument.kind.family),
        grant.allows(instrument.symbol)
      else { continue }
      markets[rawName(of: instrument)] = instrument
    }
    return markets
  }
}
