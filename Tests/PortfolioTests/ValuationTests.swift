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
