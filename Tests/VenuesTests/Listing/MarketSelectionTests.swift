import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Selections of markets")
struct MarketSelectionTests {
  private func symbol(_ text: String) -> FeedSymbol { FeedSymbol(text)! }

  private func market(
    _ text: String, _ volume: Int64? = nil, _ state: ListedMarket.State = .trading,
    contract: Decimal64? = Decimal64(mantissa: 1, scale: 0)
  ) -> ListedMarket {
    ListedMarket(
      venueSymbol: text, symbol: symbol(text), contractSize: contract, state: state,
      quoteVolume: volume.map { Decimal64(mantissa: $0, scale: 2) })
  }

  @Test(
    "what a selection holds",
    arguments: [
      ("*", ["BTC-USD", "BTC-USDT-PERP", "BTC-USDT-20261225"], []),
      ("*-USD", ["BTC-USD", "1INCH-USD"], ["BTC-USDT", "BTC-USD-PERP", "BTC-USD-20261225"]),
      ("=USD", ["BTC-USD"], ["BTC-USDT"]),
      ("USD:top3", ["BTC-USD"], ["BTC-USDT"]),
      ("=USD:top3", ["BTC-USD"], ["BTC-USDT"]),
      ("BTC-*", ["BTC-USD", "BTC-EUR"], ["ETH-BTC", "BTC-USD-PERP"]),
      ("*-USD*", ["BTC-USD", "BTC-USDT", "BTC-USDC"], ["BTC-EUR"]),
      ("*-USDT-PERP", ["BTC-USDT-PERP"], ["BTC-USDT", "BTC-USDC-PERP", "BTC-USDT-20261225"]),
      ("1000*-USDT-PERP", ["1000PEPE-USDT-PERP", "1000-USDT-PERP"], ["PEPE1000-USDT-PERP"]),
      ("*-USDT-2026*", ["BTC-USDT-20261225"], ["BTC-USDT-20270326", "BTC-USDT-PERP"]),
      ("*-USDT-*", ["BTC-USDT-20261225", "BTC-USDT-PERP"], ["BTC-USDT"]),
      ("*-*", ["BTC-USDT"], ["BTC-USDT-PERP"]),
      ("B*C*-USD", ["BTC-USD", "BXCYC-USD"], ["BT-USD", "ABTC-USD"]),
    ])
  func holds(_ text: String, _ inside: [String], _ outside: [String]) throws {
    #expect(MarketSelection.isMeant(by: text))
    let selection = try MarketSelection(text)
    for name in inside { #expect(selection.matches(symbol(name)), "\(name)") }
    for name in outside { #expect(!selection.matches(symbol(name)), "\(name)") }
  }

  @Test("a symbol is no selection", arguments: ["BTC-USD", "BTC-USDT-PERP", "USD", "BTC", ""])
  func symbols(_ text: String) { #expect(!MarketSelection.isMeant(by: text)) }

  @Test(
    "what is wrong is said with what to write",
    arguments: [
      ("*-USD:top", "top and a number from 1 to 10000, as in *-USD:top20"),
      ("*-USD:top0", "top and a number"), ("*-USD:top+5", "top and a number"), ("*-USD:20", "top and a number"),
      ("*-USD:top5:top6", "top and a number"), ("*-usd", "write * for every market"),
      ("*-", "write * for every market"),
      ("*-USD-PERP-X", "write * for every market"), ("=BTC-USD", "a quote currency follows the ="),
      ("=", "a quote currency follows the ="), ("*:top20", "write *-USD:top20"),
      ("1000*-*-PERP:top7", "write 1000*-USD-PERP:top7"),
      ("*-" + String(repeating: "A", count: 80), "at most 71 letters"),
    ])
  func wrong(_ text: String, _ advice: String) throws {
    let error = #expect(throws: MarketSelectionError.self) { try MarketSelection(text) }
    #expect(error?.description.contains(advice) == true, "\(String(describing: error))")
  }

  @Test("without a rank it is all that is traded and can be carried, by name")
  func all() throws {
    let list = [
      market("ETH-USD"), market("BTC-USD"), market("ZEC-USD", nil, .halted), market("BTC-EUR"),
      market("XRP-USD", contract: nil),
    ]
    #expect(try MarketSelection("*-USD").choose(from: list).map(\.symbol.text) == ["BTC-USD", "ETH-USD"])
  }

  @Test("a rank takes the largest volumes, exactly, then by name; without volumes last")
  func ranks() throws {
    var list = [
      market("A-USD", 100), market("C-USD", 300), market("D-USD"), market("B-USD", 300), market("E-USD", 200),
    ]
    // 3.000…1 is more than 3.00, which binary fractions could not tell.
    list.append(
      ListedMarket(
        venueSymbol: "F-USD", symbol: symbol("F-USD"),
        quoteVolume: Decimal64(mantissa: 3_000_000_000_000_000_001, scale: 18)))
    let names = try MarketSelection("*-USD:top9").choose(from: list).map(\.symbol.base)
    #expect(names == ["F", "B", "C", "E", "A", "D"])
    #expect(try MarketSelection("USD:top2").choose(from: list).map(\.symbol.base) == ["F", "B"])
  }

  @Test("a market in contracts is listed with its step in base units; an inverse one cannot be carried")
  func contracts() {
    let market = ListedMarket(
      venueSymbol: "BTC-USDT-SWAP", symbol: symbol("BTC-USDT-PERP"), priceIncrement: Decimal64(mantissa: 10, scale: 2),
      sizeIncrement: Decimal64(mantissa: 1, scale: 2), contractSize: Decimal64(mantissa: 10, scale: 3))
    #expect(market.contractSize == Decimal64(mantissa: 1, scale: 2))
    #expect(market.sizeIncrement == Decimal64(mantissa: 1, scale: 4))
    #expect(market.priceIncrement == Decimal64(mantissa: 1, scale: 1))
    let inverse = ListedMarket(
      venueSymbol: "BTC-USD-SWAP", symbol: symbol("BTC-USD-PERP"), sizeIncrement: Decimal64(mantissa: 1, scale: 0),
      contractSize: nil)
    #expect(inverse.sizeIncrement == nil)
  }

  @Test("numbers are multiplied with the digits that fit")
  func products() {
    let a = Decimal64(mantissa: 123_456_789_012_345_678, scale: 8)
    let b = Decimal64(mantissa: 97_250_12, scale: 2)
    let product = a.product(with: b)
    // 1234567890.12345678 × 97250.12 = 120061875462652.…
    #expect(product.map { $0.mantissa / Int64(DecimalText.power($0.scale)) } == 120_061_875_462_652)
    #expect(Decimal64(mantissa: .max, scale: 0).product(with: Decimal64(mantissa: 2, scale: 0)) == nil)
    #expect(Decimal64(mantissa: 1, scale: 2).product(with: Decimal64(mantissa: 10, scale: 1))?.mantissa == 1)
  }

  @Test("a selection reaches each connection that may hold it")
  func parts() {
    let venue = Binance.venue
    func labels(_ symbols: String...) -> [String] {
      venue.connections(for: FeedConfiguration(symbols: symbols)).map(\.venue.label)
    }
    #expect(labels("*-USDT:top20") == ["binance"])
    #expect(labels("*-USDT-PERP") == ["binance-usdm"])
    #expect(labels("*") == ["binance", "binance-usdm"])
    #expect(labels("BTC-USDT", "*-USDT-PERP:top5") == ["binance", "binance-usdm"])
    let listing = venue.connections(for: FeedConfiguration(symbols: [], listing: .markets))
    #expect(listing.map(\.venue.label) == ["binance", "binance-usdm"])
    #expect(listing.allSatisfy { $0.configuration.listing == .markets })
  }
}
