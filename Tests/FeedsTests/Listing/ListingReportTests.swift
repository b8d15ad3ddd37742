import Bytes
import Foundation
import MarketData
import Testing
import Venues

@testable import Feeds

@Suite("Listings for people and programs")
struct ListingReportTests {
  private let kraken = VenueRegistry.venue(named: "kraken")!
  private let okx = VenueRegistry.venue(named: "okx")!

  private func market(
    _ symbol: String, _ name: String, price: Decimal64? = nil, size: Decimal64? = nil,
    contract: Decimal64? = Decimal64(mantissa: 1, scale: 0), state: ListedMarket.State = .trading,
    volume: Decimal64? = nil
  ) -> ListedMarket {
    ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(symbol)!, priceIncrement: price, sizeIncrement: size,
      contractSize: contract, state: state, quoteVolume: volume)
  }

  private var list: [ListedMarket] {
    [
      market(
        "BTC-USD", "BTC/USD", price: Decimal64(mantissa: 1, scale: 1), size: Decimal64(mantissa: 1, scale: 8),
        volume: Decimal64(mantissa: 12_345_678_90, scale: 2)),
      market("ETH-USD", "ETH/USD", volume: Decimal64(mantissa: 999, scale: 0)),
      market("ZEC-USD", "ZEC/USD", state: .halted),
    ]
  }

  @Test("a table whose columns stand under each other")
  func table() {
    #expect(
      ListingReport.text(list, of: kraken) == """
        SYMBOL   AT KRAKEN  PRICE STEP  SIZE STEP   STATE       24 H VOLUME
        BTC-USD  BTC/USD    0.1         0.00000001  trading  12,345,678 USD
        ETH-USD  ETH/USD    –           –           trading         999 USD
        ZEC-USD  ZEC/USD    –           –           halted                –
        3 markets
        """)
  }

  @Test("contracts show their size, and what cannot be carried says so")
  func contracts() {
    let list = [
      market(
        "BTC-USDT-PERP", "BTC-USDT-SWAP", size: Decimal64(mantissa: 1, scale: 0), contract: .init(mantissa: 1, scale: 2)
      ),
      market("BTC-USD-PERP", "BTC-USD-SWAP", contract: nil),
    ]
    let text = ListingReport.text(list, of: okx)
    #expect(text.contains("BTC-USDT-PERP  BTC-USDT-SWAP  –           0.01       0.01 BTC  trading\n"))
    #expect(text.contains("inverse   not supported"))
    let json = ListingReport.json(list, of: okx)
    #expect(json.contains(#""contract_size":"0.01","state":"trading","carried":true"#))
    #expect(json.contains(#""state":"trading","carried":false"#))
  }

  @Test("JSON that others read")
  func json() throws {
    let value =
      try JSONSerialization.jsonObject(with: Data(ListingReport.json(list, of: kraken).utf8)) as? [String: Any]
    #expect(value?["venue"] as? String == "kraken")
    let markets = try #require(value?["markets"] as? [[String: Any]])
    #expect(markets.count == 3)
    #expect(markets[0]["symbol"] as? String == "kraken:BTC-USD" && markets[0]["venue_symbol"] as? String == "BTC/USD")
    #expect(
      markets[0]["price_increment"] as? String == "0.1" && markets[0]["quote_volume_24h"] as? String == "12345678.90")
    #expect(markets[2]["state"] as? String == "halted" && markets[2]["quote_volume_24h"] == nil)
  }

  @Test("a query is part of a name, the venue's or the gateway's, or a selection")
  func queries() throws {
    func names(_ query: String?) throws -> [String] { try MarketQuery(query).choose(from: list).map(\.symbol.text) }
    #expect(try names(nil) == ["BTC-USD", "ETH-USD", "ZEC-USD"])
    #expect(try names("btc/") == ["BTC-USD"])
    #expect(try names("c-us") == ["BTC-USD", "ZEC-USD"])
    #expect(try names("*-USD") == ["BTC-USD", "ETH-USD", "ZEC-USD"])
    #expect(try names("*-USD:top1") == ["BTC-USD"])
    #expect(try MarketQuery("USD:top1").isRanked && !MarketQuery("*-USD").isRanked)
    #expect(throws: MarketSelectionError.self) { try MarketQuery("*:top3") }
  }

  @Test("a query that finds nothing is told what is near, in the gateway's words")
  func near() throws {
    #expect(
      try MarketQuery("BTC-UDS").nothingFound(among: list, venue: kraken)
        == "Kraken lists no market like BTC-UDS (did you mean BTC-USD?)")
    #expect(
      try MarketQuery("ZEC/UDS").nothingFound(among: list, venue: kraken)
        == "Kraken lists no market like ZEC/UDS (did you mean ZEC-USD?)")
    #expect(
      try MarketQuery("NOTHING-LIKE-IT").nothingFound(among: list, venue: kraken)
        == "Kraken lists no market like NOTHING-LIKE-IT")
  }

  @Test("by volume within each quote currency")
  func volumes() {
    let markets = list + [market("BTC-EUR", "BTC/EUR", volume: Decimal64(mantissa: 1, scale: 0))]
    #expect(
      ListingReport.byVolume(markets.reversed()).map(\.symbol.text) == ["BTC-EUR", "BTC-USD", "ETH-USD", "ZEC-USD"])
  }

  @Test("venues: a paragraph and an object for each connection")
  func venues() throws {
    let text = VenueReport.text(VenueRegistry.venues)
    for venue in VenueRegistry.connections {
      #expect(text.contains("\(venue.endpoint)\n"), "\(venue.label)")
      for line in text.split(separator: "\n") { #expect(!line.hasSuffix(" ") && line.count <= 200) }
    }
    let json = VenueReport.json(VenueRegistry.venues)
    let value = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    let venues = try #require(value?["venues"] as? [[String: Any]])
    #expect(venues.map { $0["name"] as? String } == VenueRegistry.venues.map(\.name))
    let binance = try #require(venues.first { $0["name"] as? String == "binance" }?["connections"] as? [[String: Any]])
    #expect(binance.map { $0["label"] as? String } == ["binance", "binance-usdm"])
    #expect((binance[0]["channels"] as? [[String: Any]])?.count == 4 && binance[0]["book_depth"] as? Int == 1000)
    #expect(binance[1]["kinds"] as? [String] == ["perpetual", "future"])
    #expect(binance[0]["rest_requests"] as? [String] == ["instruments", "snapshots", "volumes"])
  }
}
