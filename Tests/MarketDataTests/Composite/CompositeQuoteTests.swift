import Bytes
import TestSupport
import Testing

@testable import MarketData

@Suite struct CompositeQuoteTests {
  private let now = Timestamp(microseconds: 1_700_000_000_000_000)

  private func market(
    _ venue: String, scales: (UInt8, UInt8) = (2, 4), bid: (Int64, Int64) = (0, 0), ask: (Int64, Int64) = (0, 0),
    last: Int64? = nil, at age: Int64 = 0, volume: Decimal64? = nil, quoteVolume: Decimal64? = nil, reason: String = ""
  ) -> VenueMarket {
    let instrument = Instrument(
      id: .init(0), venue: venue, venueSymbol: "x", base: "BTC", quote: "USD", priceScale: scales.0, sizeScale: scales.1
    )
    let quote = Quote(
      instrument: .init(0), bid: bid.0, bidSize: bid.1, ask: ask.0, askSize: ask.1, time: now - age)
    return VenueMarket(
      instrument: instrument, isLive: reason.isEmpty, reason: reason, quote: bid.1 + ask.1 > 0 ? quote : nil,
      last: last,
      lastTime: now - age, volume: volume, quoteVolume: quoteVolume)
  }

  @Test("best bid and ask come from the venues that have them, at scales that fit all")
  func best() {
    let composite = CompositeQuote([
      market("kraken", scales: (1, 8), bid: (1_000, 5), ask: (1_010, 7), last: 1_005, at: 3),
      market("coinbase", bid: (9_999, 3), ask: (10_050, 2), last: 10_049, at: 1),
    ])
    #expect(composite.priceScale == 2 && composite.sizeScale == 8)
    #expect(composite.bid == .init(price: 10_000, size: 5, venue: "kraken"))
    #expect(composite.ask == .init(price: 10_050, size: 20_000, venue: "coinbase"))
    #expect(composite.last == .init(price: 10_049, size: 0, venue: "coinbase"))
    #expect(composite.venues == ["coinbase", "kraken"] && !composite.isSingle && composite.time == now - 1)
  }

  @Test("a venue leaves the moment that it is not live, comes back when it is, and one alone says so")
  func leaving() {
    let kraken = market("kraken", bid: (100, 5), ask: (110, 7), last: 105)
    var coinbase = market("coinbase", bid: (105, 5), ask: (106, 7), last: 106, reason: "stale")
    var composite = CompositeQuote([kraken, coinbase])
    #expect(composite.isSingle && composite.venues == ["kraken"] && composite.bid?.venue == "kraken")
    #expect(composite.absent == [.init(venue: "coinbase", reason: "stale")])
    coinbase.isLive = true
    composite = CompositeQuote([kraken, coinbase])
    #expect(!composite.isSingle && composite.absent.isEmpty && composite.ask?.venue == "coinbase")
    let nobody = CompositeQuote([market("kraken", reason: "stale")])
    #expect(nobody.venues.isEmpty && nobody.bid == nil && nobody.last == nil && nobody.volume == nil)
  }

  @Test("volumes add up, and the average weighs only venues that say both")
  func volumes() {
    let composite = CompositeQuote([
      market(
        "a", last: 1, volume: Decimal64(mantissa: 10, scale: 0), quoteVolume: Decimal64(mantissa: 100_000, scale: 2)),
      market(
        "b", last: 1, volume: Decimal64(mantissa: 300, scale: 1), quoteVolume: Decimal64(mantissa: 3_300, scale: 0)),
      market("c", last: 1, volume: Decimal64(mantissa: 5, scale: 1)),
      market("d", last: 1),
    ])
    #expect(composite.volume == Decimal64(mantissa: 405, scale: 1))
    #expect(composite.quoteVolume == Decimal64(mantissa: 430_000, scale: 2))
    // 4300 ÷ 40 = 107.50
    #expect(composite.vwap == 10_750)
  }

  @Test("a price that does not fit at the common scale leaves its venue out, whole")
  func tooManyDigits() {
    let composite = CompositeQuote([
      market("a", scales: (0, 0), bid: (.max / 2, 1), ask: (.max - 1, 1), last: 5),
      market("b", scales: (4, 0), bid: (7, 1), ask: (8, 1), last: 7),
    ])
    #expect(composite.venues == ["b"] && composite.absent.map(\.reason) == ["too many digits"])
    #expect(composite.bid?.venue == "b")
  }

  @Test("random members make what a plain search over all of them says", arguments: testSeeds(6))
  func againstSearch(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for step in 0..<300 {
      var markets: [VenueMarket] = []
      for venue in ["e", "b", "d", "a", "c"].prefix(Int(random.next() % 6)) {
        let scale = UInt8(random.next() % 3)
        func side() -> (Int64, Int64) { (Int64(random.next() % 40) + 1, Int64(random.next() % 3)) }
        markets.append(
          market(
            venue, scales: (scale, scale), bid: side(), ask: side(),
            last: random.next() % 4 == 0 ? nil : Int64(random.next() % 50) + 1, at: Int64(random.next() % 4),
            reason: random.next() % 4 == 0 ? "stale" : ""))
      }
      let composite = CompositeQuote(markets.shuffled(using: &random))
      let live = markets.filter { $0.isLive && ($0.quote != nil || $0.last != nil) }
        .sorted { $0.instrument.venue < $1.instrument.venue }
      let scale = live.map(\.instrument.priceScale).max() ?? 0
      func wide(_ value: Int64, _ market: VenueMarket) -> Int64 {
        value * Int64(DecimalText.power(scale - market.instrument.priceScale))
      }
      var bid: CompositeQuote.Side?
      var ask: CompositeQuote.Side?
      var last: (side: CompositeQuote.Side, time: Timestamp)?
      for market in live {
        let venue = market.instrument.venue
        if let quote = market.quote, quote.bidSize > 0 {
          let side = CompositeQuote.Side(
            price: wide(quote.bid, market), size: wide(quote.bidSize, market), venue: venue)
          if bid == nil || side.price > bid!.price || (side.price == bid!.price && side.size > bid!.size) { bid = side }
        }
        if let quote = market.quote, quote.askSize > 0 {
          let side = CompositeQuote.Side(
            price: wide(quote.ask, market), size: wide(quote.askSize, market), venue: venue)
          if ask == nil || side.price < ask!.price || (side.price == ask!.price && side.size > ask!.size) { ask = side }
        }
        if let price = market.last, last == nil || market.lastTime > last!.time {
          last = (.init(price: wide(price, market), size: 0, venue: venue), market.lastTime)
        }
      }
      let isSame =
        composite.bid == bid && composite.ask == ask && composite.last == last?.side && composite.priceScale == scale
        && composite.venues == live.map(\.instrument.venue)
        && composite.absent.count == markets.count - live.count
      #expect(isSame, "seed \(seed), step \(step): \(composite)")
    }
  }
}
