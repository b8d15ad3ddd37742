import Bytes
import MarketData
import Venues

/// What a simulated venue trades, with the increments that the real one has for it.
package struct SimulatedInstrument: Sendable, Hashable {
  /// `BTC`.
  package private(set) var base: String
  /// `USD`, or `USDT` on Binance.
  package private(set) var quote: String
  /// The venue's own name: `BTC/USD`, `BTC-USD`, `BTCUSDT`.
  package private(set) var venueSymbol: String
  package private(set) var kind = Instrument.Kind.spot
  /// Base units in one unit of printed sizes; 1 unless the venue counts contracts.
  package private(set) var contractSize = Decimal64(mantissa: 1, scale: 0)
  /// Digits after the point in printed prices. Prices are `Int64` counts of 10^-`priceScale`.
  package private(set) var priceScale: UInt8
  /// Digits after the point in printed sizes. Sizes are `Int64` counts of 10^-`sizeScale`.
  package private(set) var sizeScale: UInt8
  /// The smallest step of a price, in counts of 10^-`priceScale`.
  package private(set) var tick: Int64
  /// The smallest step of a size, in counts of 10^-`sizeScale`.
  package private(set) var lot: Int64
  /// The price that the market keeps returning to, in quote currency.
  package private(set) var reference: Double
  /// This instrument's part of the venue's activity; the mean over a venue's instruments is 1.
  package private(set) var activity: Double
  /// Levels a side that the book is kept at, within a tenth.
  package private(set) var levels: Int

  /// The smallest order, about five dollars' worth in whole lots, in counts of 10^-`sizeScale`.
  package var minimumSize: Int64 {
    let lots = 5 / reference * Double(DecimalText.power(sizeScale)) / Double(lot)
    return max(1, Int64(lots)) * lot
  }

  /// The same with books of another depth, and `busyness` times as much going on.
  func with(levels: Int, busyness: Double = 1) -> SimulatedInstrument {
    var other = self
    other.levels = levels
    other.activity *= busyness
    return other
  }

  /// The market of another asset, alike in all else.
  func renamed(_ base: String) -> SimulatedInstrument {
    var other = self
    other.base = base
    // Some venues' derivatives call BTC by its older name.
    let own = venueSymbol.contains("XBT") ? "XBT" : self.base
    other.venueSymbol = venueSymbol.replacing(own, with: base, maxReplacements: 1)
      .replacing(self.base.lowercased(), with: base.lowercased(), maxReplacements: 1)
    return other
  }

  package var isSpot: Bool { kind == .spot }
  /// The name in the gateway's words: `BTC-USD`, `BTC-USDT-PERP`.
  package var symbol: String { FeedSymbol(base: base, quote: quote, kind: kind).text }
}

/// A part of what a venue lists, with books of another depth: a market that costs little.
package struct SimulatedExcerpt: Sendable {
  /// In the gateway's words, in this order: `BTC-USDT`.
  package let symbols: [String]
  /// Levels a side of each, in the same order.
  package let levels: [Int]
  /// How busy each is, in the same order, as a multiple of what it is otherwise.
  private let busyness: [Double]
  /// The kind of the markets of assets that there are not, `S0001-USDT` and so on; nil: the markets that there are.
  private var invented: Instrument.Kind?

  package init(symbols: [String], levels: [Int], busyness: [Double]? = nil) {
    precondition(symbols.count == levels.count, "an excerpt has as many depths as symbols")
    precondition(busyness.map { $0.count == symbols.count } ?? true)
    self.symbols = symbols
    self.levels = levels
    self.busyness = busyness ?? Array(repeating: 1, count: symbols.count)
  }

  /// A venue with `count` markets of assets that there are not, `S0001`, `S0002`…, with books of `levels` levels a
  /// side: with 12 or fewer nothing moves, because no order is taken away that few others stand behind.
  package init(invented count: Int, quote: String, kind: Instrument.Kind = .spot, levels: Int) {
    precondition((1...9_999).contains(count))
    invented = kind
    symbols = (1...count).map { FeedSymbol(base: Self.asset($0), quote: quote, kind: kind).text }
    self.levels = Array(repeating: levels, count: count)
    busyness = Array(repeating: 1, count: count)
  }

  /// `S0001`
  private static func asset(_ number: Int) -> String {
    let digits = String(number)
    return "S" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }

  func of(_ listing: [SimulatedInstrument]) -> [SimulatedInstrument] {
    if let invented {
      let models = listing.filter { $0.kind == invented }
      return levels.indices.map { index in
        models[index % models.count].renamed(Self.asset(index + 1)).with(levels: levels[index])
      }
    }
    return listed(listing)
  }

  private func listed(_ listing: [SimulatedInstrument]) -> [SimulatedInstrument] {
    symbols.indices.flatMap { index in
      listing.filter { $0.symbol == symbols[index] }.map {
        $0.with(levels: levels[index], busyness: busyness[index])
      }
    }
  }
}
