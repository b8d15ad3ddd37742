import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Configured symbols")
struct FeedSymbolTests {
  @Test("spot, perpetuals and dated futures are told apart, and written as they were read")
  func kinds() {
    #expect(FeedSymbol("BTC-USD") == FeedSymbol(base: "BTC", quote: "USD"))
    #expect(FeedSymbol("1000PEPE-USDT-PERP") == FeedSymbol(base: "1000PEPE", quote: "USDT", kind: .perpetual))
    #expect(
      FeedSymbol("BTC-USDT-20261225") == FeedSymbol(base: "BTC", quote: "USDT", kind: .future(expiry: "20261225")))
    for text in ["BTC-USD", "BTC-USDT-PERP", "BTC-USDT-20261225"] { #expect(FeedSymbol(text)?.text == text) }
    let instrument = Instrument(
      id: InstrumentID(0), venue: "okx", venueSymbol: "BTC-USDT-261225", base: "BTC", quote: "USDT",
      kind: .future(expiry: "20261225"), priceScale: 1, sizeScale: 4)
    #expect(instrument.symbol == "okx:BTC-USDT-20261225")
  }

  @Test(
    "what is none is none",
    arguments: [
      "", "BTC", "BTC-", "-USD", "BTC-USD-", "BTC-USD-perp", "BTC-USD-261225", "BTC-USD-20261325", "BTC-USD-20261232",
      "BTC-USD-2026122x", "BTC-USD-PERP-X", "BTC-USD-00001225",
    ])
  func refused(_ text: String) { #expect(FeedSymbol(text) == nil) }

  @Test("a contract's size is multiplied exactly and loses zeros at its end")
  func contracts() {
    let hundredth = Decimal64(mantissa: 100, scale: 4)
    #expect(hundredth.trimmed == Decimal64(mantissa: 1, scale: 2))
    #expect(hundredth.multiplied(by: Decimal64(mantissa: 1, scale: 0)) == Decimal64(mantissa: 1, scale: 2))
    #expect(hundredth.multiplied(by: Decimal64(mantissa: 25, scale: 2)) == Decimal64(mantissa: 25, scale: 4))
    #expect(Decimal64(mantissa: .max, scale: 0).multiplied(by: Decimal64(mantissa: 3, scale: 0)) == nil)
    #expect(Decimal64(mantissa: 1, scale: 10).multiplied(by: Decimal64(mantissa: 1, scale: 10)) == nil)
  }
}
