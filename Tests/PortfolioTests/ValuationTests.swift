import Bytes
import MarketData
import Portfolio
import Testing

@Suite("Valuation")
struct ValuationTests {
  private func number(_ mantissa: Int64, _ scale: UInt8 = 0) -> Decimal64 {
    Decimal64(mantissa: mantissa, scale: scale)
  }

  private func holding(_ asset: String, _ price: PriceReading) -> HoldingReading {
    HoldingReading(asset: asset, quantity: WideDecimal(2), price: price)
  }

  @Test("a stale price is marked on its line and in the total, and counts")
  func stale() {
    let valuation = Valuation([
      holding("BTC", PriceReading(number(100))), holding("ETH", PriceReading(number(10), trust: .stale)),
    ])
    #expect(valuation.holdings.map(\.trust) == [.live, .stale])
    #expect(valuation.trust == .stale && valuation.value?.text == "220")
  }

  @Test("a price that is missing leaves its line without a value, and the total says that it lacks it")
  func missing() {
    let valuation = Valuation([holding("BTC", PriceReading(number(100))), holding("ETH", PriceReading(nil))])
    #expect(valuation.holdings[1].value == nil && valuation.trust == .missing && valuation.value?.text == "200")
    #expect(valuation.holdings[0].share?.text == "100")
  }

  @Test("of a portfolio without any price nothing is known, and an empty one is worth nothing")
  func unpriced() {
    let valuation = Valuation([holding("BTC", PriceReading(nil)), holding("ETH", PriceReading(nil))])
    #expect(valuation.value == nil && valuation.holdingsValue == nil && valuation.trust == .missing)
    #expect(valuation.holdings.allSatisfy { $0.share == nil && $0.value == nil && $0.dayProfit == nil })
    #expect(valuation.dayProfit == nil && valuation.dayPercent == nil && valuation.unrealised == nil)
    #expect(Valuation([]).value?.text == "0" && Valuation([]).holdingsValue?.text == "0")
    let position = PositionReading(
      symbol: "binance:BTC-USDT-PERP", side: .long, size: number(1), leverage: number(1), entry: number(1),
      mark: PriceReading(nil))
    #expect(Valuation([], [position]).value == nil)
    let part = Valuation([holding("BTC", PriceReading(number(100))), holding("ETH", PriceReading(nil))])
    #expect(part.value?.text == "200" && part.holdingsValue == nil, "the total says that it lacks a line")
  }

  @Test("what does not fit in 77 digits is missing, and adds nothing to the totals")
  func tooLarge() throws {
    let huge = try (0..<3).reduce(WideDecimal(.max)) { number, _ in try number.times(WideDecimal(.max)) }
    let large = HoldingReading(asset: "BTC", quantity: huge, price: PriceReading(number(.max)))
    let valuation = Valuation([large, holding("ETH", PriceReading(number(10), dayOpen: number(8)))])
    #expect(valuation.holdings[0].trust == .missing && valuation.value?.text == "20")
    #expect(valuation.dayProfit?.text == "4" && valuation.dayPercent?.text == "25")
  }

  @Test("a position is closed where its margin no longer covers the required part of its value")
  func liquidation() throws {
    func line(
      _ side: PositionReading.Side, leverage: Int64, mark: Int64,
      _ maintenance: Decimal64? = Decimal64(mantissa: 5, scale: 3)
    ) -> PositionLine {
      let position = PositionReading(
        symbol: "a:B-C", side: side, size: Decimal64(mantissa: 3, scale: 1),
        leverage: Decimal64(mantissa: leverage, scale: 0), entry: Decimal64(mantissa: 64_000, scale: 0),
        maintenance: maintenance,
        mark: PriceReading(Decimal64(mantissa: mark, scale: 0)))
      return Valuation([], [position]).positions[0]
    }
    // 64,000 × 0.9 ÷ 0.995 and 64,000 × 1.1 ÷ 1.005.
    #expect(line(.long, leverage: 10, mark: 64_000).liquidationPrice?.text == "57889.44723618")
    #expect(line(.short, leverage: 10, mark: 64_000).liquidationPrice?.text == "70049.75124378")
    // 0.5 % of 64,000 of the margin of 6,400; after a loss of 3,200, 0.5 % of 60,800 of 3,200.
    #expect(line(.long, leverage: 10, mark: 64_000).marginPercent?.text == "5")
    #expect(line(.long, leverage: 10, mark: 60_800).marginPercent?.text == "9.5")
    // Nothing is left; no price is low enough; the required margin is unknown.
    #expect(line(.long, leverage: 10, mark: 57_600).marginPercent == nil)
    #expect(line(.long, leverage: 1, mark: 64_000).liquidationPrice == nil)
    #expect(line(.long, leverage: 1, mark: 64_000).marginPercent?.text == "0.5")
    #expect(line(.long, leverage: 10, mark: 64_000, nil).liquidationPrice == nil)
    #expect(line(.long, leverage: 10, mark: 64_000, nil).marginPercent == nil)
  }

  @Test("a short position wins when the mark falls, by its leverage of the margin")
  func short() {
    let position = PositionReading(
      symbol: "binance:BTC-USDT-PERP", side: .short, size: number(5, 1), leverage: number(10), entry: number(60_000),
      mark: PriceReading(number(57_000)))
    let valuation = Valuation([], [position])
    #expect(valuation.positions[0].unrealised?.text == "1500")
    #expect(valuation.positions[0].unrealisedPercent?.text == "50")
    #expect(valuation.value?.text == "1500")
  }
}
