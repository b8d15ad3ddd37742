import Bytes
import TestSupport
import Testing

@testable import MarketData

@Suite struct ConversionTests {
  private let now = Timestamp(microseconds: 1_700_000_000_000_000)

  private func market(
    _ venue: String, _ base: String, _ quote: String, bid: Int64, ask: Int64, scale: UInt8 = 2, age: Int64 = 0,
    isLive: Bool = true, kind: Instrument.Kind = .spot
  ) -> VenueMarket {
    let instrument = Instrument(
      id: .init(0), venue: venue, venueSymbol: "x", base: base, quote: quote, kind: kind, priceScale: scale,
      sizeScale: 0)
    return VenueMarket(
      instrument: instrument, isLive: isLive,
      quote: Quote(instrument: .init(0), bid: bid, bidSize: 1, ask: ask, askSize: 1, time: now - age))
  }

  @Test("a direct market, either way round, and an asset to itself")
  func direct() {
    let table = ConversionTable([market("kraken", "BTC", "USD", bid: 9_999_900, ask: 10_000_100, age: 7)])
    #expect(
      table.convert("BTC", to: "USD")
        == Conversion(rate: Decimal64(mantissa: 100_000, scale: 0), path: ["kraken:BTC-USD"], oldest: now - 7))
    #expect(table.convert("USD", to: "BTC")?.rate == Decimal64(mantissa: 1, scale: 5))
    #expect(table.convert("USD", to: "USD")?.path == [])
    #expect(table.convert("USD", to: "ZEC") == nil && table.convert("ZEC", to: "USD") == nil)
  }

  @Test("through other markets, with the path and the time of the oldest price")
  func through() {
    let table = ConversionTable([
      market("kraken", "ZEC", "BTC", bid: 479, ask: 481, scale: 6, age: 900),
      market("coinbase", "BTC", "USD", bid: 9_999_900, ask: 10_000_100, age: 20),
      market("kraken", "EUR", "USD", bid: 124, ask: 126, age: 50),
    ])
    #expect(
      table.convert("ZEC", to: "USD")
        == Conversion(
          rate: Decimal64(mantissa: 48, scale: 0), path: ["kraken:ZEC-BTC", "coinbase:BTC-USD"], oldest: now - 900))
    #expect(table.convert("ZEC", to: "EUR")?.rate == Decimal64(mantissa: 384, scale: 1))
    #expect(table.convert("ZEC", to: "EUR")?.path.count == 3)
  }

  @Test("the cheapest way counts: a wide direct market loses, what is not live or not spot does not exist")
  func cheapest() {
    let wide = market("a", "ZEC", "USD", bid: 4_000, ask: 5_600)
    let legs = [
      market("b", "ZEC", "BTC", bid: 47_999, ask: 48_001, scale: 8),
      market("b", "BTC", "USD", bid: 9_999_900, ask: 10_000_100),
    ]
    #expect(ConversionTable([wide] + legs).convert("ZEC", to: "USD")?.path == ["b:ZEC-BTC", "b:BTC-USD"])
    var narrow = wide
    narrow.quote?.bid = 4_799
    narrow.quote?.ask = 4_801
    #expect(ConversionTable([narrow] + legs).convert("ZEC", to: "USD")?.path == ["a:ZEC-USD"])
    narrow.isLive = false
    #expect(ConversionTable([narrow] + legs).convert("ZEC", to: "USD")?.path.count == 2)
    let swap = market("a", "ZEC", "USD", bid: 4_799, ask: 4_801, kind: .perpetual)
    #expect(ConversionTable([swap]).convert("ZEC", to: "USD") == nil)
    var oneSided = wide
    oneSided.quote?.askSize = 0
    oneSided.last = 4_700
    #expect(ConversionTable([oneSided]).convert("ZEC", to: "USD")?.rate == Decimal64(mantissa: 47, scale: 0))
  }

  @Test("random markets: no way of at most three is cheaper, and the rate is that of the path", arguments: testSeeds(8))
  func againstEveryWay(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let assets = ["A", "B", "C", "D", "E", "F"]
    for step in 0..<40 {
      var markets: [String: VenueMarket] = [:]
      for _ in 0..<Int(random.next() % 12) {
        let base = assets[Int(random.next() % 6)]
        let quote = assets[Int(random.next() % 6)]
        guard base != quote else { continue }
        let bid = Int64(random.next() % 1_000_000) + 1
        let one = market(
          ["x", "y"][Int(random.next() % 2)], base, quote, bid: bid, ask: bid + Int64(random.next() % 20_000),
          scale: UInt8(random.next() % 9), age: Int64(random.next() % 100), isLive: random.next() % 6 > 0)
        markets[one.instrument.symbol] = one
      }
      let table = ConversionTable(markets.keys.sorted().map { markets[$0]! })
      let live = markets.keys.sorted().map { markets[$0]! }.filter(\.isLive)
      func cost(_ market: VenueMarket) -> Int64 {
        let quote = market.quote!
        return (quote.ask - quote.bid) * 2_000_000_000 / (quote.bid + quote.ask) + ConversionTable.stepCost
      }
      func cheapest(_ from: String, _ to: String, _ steps: Int, _ seen: [String]) -> Int64? {
        if from == to { return 0 }
        guard steps > 0 else { return nil }
        var best: Int64?
        for market in live {
          let (base, quote) = (market.instrument.base, market.instrument.quote)
          guard base == from || quote == from else { continue }
          let next = base == from ? quote : base
          guard !seen.contains(next), let rest = cheapest(next, to, steps - 1, seen + [next]) else { continue }
          best = min(best ?? .max, rest + cost(market))
        }
        return best
      }
      for (base, quote) in [("A", "B"), ("C", "F"), ("E", "A")] {
        let conversion = table.convert(base, to: quote)
        let expected = cheapest(base, quote, ConversionTable.longest, [base])
        let paid = conversion.map { $0.path.reduce(0 as Int64) { $0 + cost(markets[$1]!) } }
        #expect(paid == expected, "seed \(seed), step \(step), \(base) to \(quote)")
        guard let conversion else { continue }
        var asset = base
        var rate = 1.0
        for symbol in conversion.path {
          let market = markets[symbol]!
          let quote = market.quote!
          let price = Double(quote.bid + quote.ask) / 2 / Double(DecimalText.power(market.instrument.priceScale))
          let isForward = market.instrument.base == asset
          rate = isForward ? rate * price : rate / price
          asset = isForward ? market.instrument.quote : market.instrument.base
        }
        #expect(asset == quote)
        #expect(conversion.oldest == conversion.path.map { markets[$0]!.quote!.time }.min())
        let shown = Double(conversion.rate.mantissa) / Double(DecimalText.power(conversion.rate.scale))
        let digit = 1 / Double(DecimalText.power(conversion.rate.scale))
        #expect(
          abs(shown - rate) <= max(rate * 1e-11, digit), "seed \(seed), step \(step): \(conversion), expected \(rate)")
      }
    }
  }
}
