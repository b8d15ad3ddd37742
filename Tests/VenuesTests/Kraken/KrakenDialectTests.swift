import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Kraken's feed")
struct KrakenDialectTests {
  static let pairs =
    #"{"channel":"instrument","type":"snapshot","data":{"assets":[{"id":"USD"}],"pairs":[{"symbol":"BTC/USD","base":"BTC","quote":"USD","status":"online","qty_precision":8,"qty_increment":0.00000001,"price_precision":1,"price_increment":0.1,"tick_size":0.1},{"symbol":"ETH/USD","base":"ETH","quote":"USD","qty_precision":8,"qty_increment":0.00000001,"price_precision":2,"price_increment":0.01},{"symbol":"ETH/BTC","base":"ETH","quote":"BTC","qty_precision":8,"price_precision":6}]}}"#

  static let ethSnapshot =
    #"{"channel":"book","type":"snapshot","data":[{"symbol":"ETH/USD","bids":[{"price":1797.24,"qty":0.43393711},{"price":1797.18,"qty":139.10616255},{"price":1797.13,"qty":139.10995927},{"price":1797.12,"qty":0.80386470},{"price":1797.07,"qty":139.11517673},{"price":1796.98,"qty":5.22282896},{"price":1796.97,"qty":12.17138476},{"price":1796.95,"qty":139.69390939},{"price":1796.88,"qty":4.21870000},{"price":1796.85,"qty":1.22932317}],"asks":[{"price":1797.25,"qty":1.40355852},{"price":1797.28,"qty":10.82400000},{"price":1797.29,"qty":139.09899871},{"price":1797.30,"qty":139.09783403},{"price":1797.37,"qty":139.09216827},{"price":1797.41,"qty":5.24638952},{"price":1797.42,"qty":0.01780330},{"price":1797.46,"qty":33.05700000},{"price":1797.48,"qty":3.11556555},{"price":1797.49,"qty":139.49306646}],"checksum":2606672715}]}"#
  static let ethUpdate =
    #"{"channel":"book","type":"update","data":[{"symbol":"ETH/USD","bids":[],"asks":[{"price":1797.29,"qty":0.00000000},{"price":1797.52,"qty":1.56601318}],"checksum":3329440863,"timestamp":"2025-05-06T09:17:26.208075Z"}]}"#

  private func connected(_ symbols: [String] = ["ETH-USD", "ETH-BTC"]) -> EngineHarness {
    let feed = EngineHarness(Kraken.venue, symbols)
    feed.prepare()
    feed.connect()
    return feed
  }

  private func live() -> EngineHarness {
    let feed = connected()
    feed.receive(Self.pairs)
    feed.receive(Self.ethSnapshot)
    return feed
  }

  @Test("the instrument list comes first, then one subscription per channel for all symbols")
  func subscribes() {
    let feed = connected(["BTC-USD", "ETH-USD"])
    #expect(feed.engine.isPrepared)
    #expect(feed.sent == [#"{"method":"subscribe","params":{"channel":"instrument","snapshot":true},"req_id":1}"#])
    feed.receive(Self.pairs)
    #expect(
      feed.sent == [
        #"{"method":"subscribe","params":{"channel":"book","symbol":["BTC/USD","ETH/USD"],"depth":100,"snapshot":true},"req_id":2}"#,
        #"{"method":"subscribe","params":{"channel":"trade","symbol":["BTC/USD","ETH/USD"],"snapshot":true},"req_id":3}"#,
        #"{"method":"subscribe","params":{"channel":"ticker","symbol":["BTC/USD","ETH/USD"],"event_trigger":"trades","snapshot":true},"req_id":4}"#,
      ])
    let bitcoin = feed.market.instruments[0].instrument
    #expect(bitcoin.symbol == "kraken:BTC-USD")
    #expect(bitcoin.priceScale == 1)
    #expect(bitcoin.sizeScale == 8)
    #expect(bitcoin.priceIncrement?.mantissa == 1)
  }

  @Test("unknown pairs, the names of the old API and things that are no symbols are refused, the others unharmed")
  func unknownPairs() {
    let feed = connected(["XBT-USD", "ETH-UDS", "ETHUSD", "ETH-USD"])
    feed.receive(Self.pairs)
    #expect(feed.failures["XBT-USD"]?.contains("BTC-USD") == true)
    #expect(feed.failures["ETH-UDS"]?.contains("did you mean ETH-USD") == true)
    #expect(feed.failures["ETHUSD"]?.contains("BTC-USD") == true)
    #expect(feed.market.instruments.map(\.instrument.symbol) == ["kraken:ETH-USD"])
    // Told once, not at every connection.
    feed.disconnect()
    feed.connect()
    feed.receive(Self.pairs)
    #expect(feed.failures.isEmpty)
  }

  @Test("a captured book verifies after its snapshot and after its update")
  func checksums() throws {
    let feed = live()
    #expect(feed.state(0) == .live)
    feed.receive(Self.ethUpdate)
    let event = try #require(feed.books.first)
    #expect(event.checksum == 3_329_440_863)
    #expect(event.time == Timestamp(microseconds: 1_746_523_046_208_075))
    #expect(feed.asks == [PriceLevel(price: 179_729, size: 0), PriceLevel(price: 179_752, size: 156_601_318)])
    #expect(feed.state(0) == .live)
    #expect(feed.engine.symbolCounts[0].deltas == 1)
  }

  private static let tenLevels =
    #"{"method":"subscribe","result":{"channel":"book","depth":10,"snapshot":true,"symbol":"ETH/USD"},"success":true,"time_in":"2026-08-01T02:53:53.184174Z","time_out":"2026-08-01T02:53:53.184216Z"}"#

  @Test("the book is cut to the depth that was acknowledged, not to the one that was asked for")
  func acknowledgedDepth() {
    for (acknowledgement, levels) in [
      (Self.tenLevels, 10), (Self.tenLevels.replacing("10", with: "11"), 11),
      (Self.tenLevels.replacing("10", with: "0"), 11),
      (Self.tenLevels.replacing("10", with: "9223372036854775807"), 11),
      (Self.tenLevels.replacing("\"depth\":10,", with: ""), 11),
      (Self.tenLevels.replacing("ETH/USD", with: "NOT/HERE"), 11),
      (Self.tenLevels.replacing(#""channel":"book""#, with: #""channel":"trade""#), 11),
    ] {
      let feed = connected()
      feed.receive(Self.pairs)
      feed.receive(acknowledgement)
      #expect(feed.error == nil)
      feed.receive(Self.ethSnapshot)
      #expect(feed.market.instruments[0].book.asks.count == 10)
      feed.receive(
        #"{"channel":"book","type":"update","data":[{"symbol":"ETH/USD","bids":[],"asks":[{"price":1797.27,"qty":1.00000000}],"checksum":4065764450}]}"#
      )
      #expect(feed.market.instruments[0].book.asks.count == levels, "\(acknowledgement)")
    }
  }

  @Test("leading zeros in prices verify too")
  func leadingZeros() {
    let feed = live()
    feed.receive(
      #"{"channel":"book","type":"snapshot","data":[{"symbol":"ETH/BTC","bids":[{"price":0.031348,"qty":0.03740000},{"price":0.031347,"qty":2.87288049},{"price":0.031345,"qty":8.57986833},{"price":0.031344,"qty":14.40276069},{"price":0.031340,"qty":12.96065840},{"price":0.031339,"qty":13.19606540},{"price":0.031338,"qty":20.41389313},{"price":0.031336,"qty":0.03740000},{"price":0.031334,"qty":14.37158163},{"price":0.031332,"qty":14.40695990}],"asks":[{"price":0.031357,"qty":0.03740000},{"price":0.031358,"qty":2.87194815},{"price":0.031361,"qty":0.00767324},{"price":0.031362,"qty":4.27140781},{"price":0.031363,"qty":4.34586052},{"price":0.031364,"qty":27.28097668},{"price":0.031365,"qty":12.92325840},{"price":0.031366,"qty":4.14290322},{"price":0.031368,"qty":0.00738649},{"price":0.031370,"qty":0.03740000}],"checksum":3619791617,"timestamp":"2026-08-26T15:16:16.637831Z"}]}"#
    )
    #expect(feed.state(1) == .live)
    feed.receive(
      #"{"channel":"book","type":"update","data":[{"symbol":"ETH/BTC","bids":[{"price":0.031347,"qty":0.00000000},{"price":0.031329,"qty":19.07893401}],"asks":[],"checksum":2505869009,"timestamp":"2026-08-26T15:16:16.730423Z"}]}"#
    )
    #expect(feed.state(1) == .live)
  }

  @Test("a failed checksum rebuilds that one book, ignores updates until the new snapshot, and makes no storm")
  func resync() {
    let feed = live()
    let wrong = Self.ethUpdate.replacing("3329440863", with: "1")
    feed.receive(wrong)
    #expect(feed.state(0) == .syncing(.checksum))
    #expect(
      feed.sent == [
        #"{"method":"unsubscribe","params":{"channel":"book","symbol":["ETH/USD"],"depth":100},"req_id":5}"#,
        #"{"method":"subscribe","params":{"channel":"book","symbol":["ETH/USD"],"depth":100,"snapshot":true},"req_id":6}"#,
      ])
    // On its way when the book was unsubscribed: nothing comes of it.
    feed.receive(wrong)
    #expect(feed.sent.isEmpty)
    #expect(feed.books.isEmpty)
    feed.resync(0)
    #expect(feed.sent.isEmpty)
    feed.receive(Self.ethSnapshot)
    #expect(feed.state(0) == .live)
    // Wrong again at once: the next rebuild waits.
    feed.receive(wrong)
    #expect(feed.state(0) == .syncing(.checksum))
    #expect(feed.sent.isEmpty)
    feed.wait(1.25)
    #expect(feed.sent.count == 2)
  }

  @Test("the refused end of a subscription that the venue never had is no refusal of the one that follows it")
  func refusedEnd() throws {
    let feed = connected(["ETH-USD"])
    feed.receive(Self.pairs)
    feed.wait(10.5)
    let end = try #require(feed.sent.first { $0.contains("\"unsubscribe\"") })
    let number = try #require(end.split(separator: "\"req_id\":").last?.dropLast())
    feed.receive(
      #"{"error":"Subscription Not Found","method":"unsubscribe","req_id":\#(number),"success":false,"symbol":"ETH/USD"}"#
    )
    #expect(feed.failures.isEmpty)
    feed.receive(Self.ethSnapshot)
    #expect(feed.state(0) == .live)
    feed.receive(Self.ethUpdate.replacing("3329440863", with: "1"))
    feed.wait(60)
    #expect(feed.state(0) == .syncing(.checksum))
    #expect(feed.sent.contains { $0.contains("\"subscribe\"") }, "the book is not asked for again")
  }

  @Test("an unreadable book message costs its book, other messages cost nothing")
  func malformed() {
    let feed = live()
    feed.receive(Self.ethUpdate.replacing("1797.52", with: "17x7.52"))
    #expect(feed.error?.kind == .json)
    #expect(feed.error?.detail.contains("offset") == true)
    #expect(feed.state(0) == .syncing(.malformed))
    #expect(feed.engine.counts.rejected == 1)
    feed.receive(Self.ethSnapshot)
    feed.receive(#"{"channel":"trade","type":"update","data":[{"symbol":"ETH/USD","side":"buy"}]}"#)
    #expect(feed.error?.kind == .shape)
    #expect(feed.state(0) == .live)
  }

  @Test("live trades and the fifty before the subscription")
  func trades() throws {
    let feed = live()
    feed.receive(
      #"{"channel":"trade","type":"snapshot","data":[{"symbol":"ETH/USD","side":"sell","price":1797.10,"qty":0.5,"ord_type":"limit","trade_id":7,"timestamp":"2023-10-06T17:35:50Z"}]}"#
    )
    #expect(feed.trades.map(\.isBacklog) == [true])
    feed.receive(
      #"{"channel":"trade","type":"update","data":[{"symbol":"ETH/USD","side":"buy","price":1797.20,"qty":0.00027625,"ord_type":"limit","trade_id":8,"timestamp":"2023-10-06T17:35:55.440295Z"},{"symbol":"ETH/USD","side":"sell","price":1797.1,"qty":2,"ord_type":"market","trade_id":11,"timestamp":"2023-10-06T17:35:55.440295123Z"}]}"#
    )
    let trades = feed.trades
    #expect(trades.map(\.price) == [179_720, 179_710])
    #expect(trades.map(\.size) == [27_625, 200_000_000])
    #expect(trades.map(\.side) == [.buy, .sell])
    #expect(trades.map(\.id.text) == ["8", "11"])
    #expect(trades.map(\.time) == Array(repeating: Timestamp(microseconds: 1_696_613_755_440_295), count: 2))
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.trades == 2)
    #expect(counts.backlogTrades == 1)
    #expect(counts.missedTrades == 2)
    feed.receive(#"{"channel":"trade","type":"snapshot","data":[]}"#)
    #expect(feed.error == nil)
  }

  @Test("24 h figures, with and without the newer fields")
  func ticker() throws {
    let feed = live()
    feed.receive(
      #"{"channel":"ticker","type":"snapshot","data":[{"symbol":"ETH/USD","bid":1797.24,"bid_qty":2.5,"ask":1797.25,"ask_qty":3.2,"last":1797.25,"volume":163.28908096,"vwap":1790.39279,"low":1700.0,"high":1800.5,"change":-25.00,"change_pct":-1.38,"trades":38144,"timestamp":"2022-12-25T09:30:59.123456Z"}]}"#
    )
    let ticker = try #require(feed.tickers.first)
    #expect(ticker.last == 179_725)
    #expect(ticker.high == 180_050)
    #expect(ticker.low == 170_000)
    #expect(ticker.vwap?.mantissa == 179_039_279)
    #expect(ticker.change?.mantissa == -25)
    #expect(ticker.changePercent?.mantissa == -138)
    #expect(ticker.trades == 38_144)
    #expect(ticker.open == nil)
    feed.receive(#"{"channel":"ticker","type":"update","data":[{"symbol":"ETH/USD","last":1797.3}]}"#)
    #expect(feed.tickers.first?.last == 179_730)
    #expect(feed.tickers.first?.time == feed.now)
  }

  @Test("status: an id beyond Int64 is no matter; maintenance and its end are told once")
  func status() {
    let feed = connected()
    func status(_ system: String) -> [Bool] {
      feed.receive(
        #"{"channel":"status","type":"update","data":[{"version":"2.0.10","system":"\#(system)","api_version":"v2","connection_id":12072546403441331453}]}"#
      )
      #expect(feed.error == nil)
      return feed.actions.compactMap { if case .maintenance(let on) = $0 { on } else { nil } }
    }
    #expect(status("online") == [])
    #expect(status("maintenance") == [true])
    #expect(status("maintenance") == [])
    #expect(status("post_only") == [false])
  }

  @Test("acknowledgements, refusals, pongs, heartbeats and channels that are not used")
  func replies() {
    let feed = live()
    feed.receive(
      #"{"method":"subscribe","result":{"channel":"book","depth":100,"snapshot":true,"symbol":"ETH/BTC","warnings":["x"]},"success":true,"time_in":"a","time_out":"b","req_id":7}"#
    )
    #expect(feed.error == nil)
    feed.receive(
      #"{"error":"Currency pair not supported ETH/BTC","method":"subscribe","success":false,"symbol":"ETH/BTC","time_in":"a","time_out":"b"}"#
    )
    #expect(feed.failures == ["ETH-BTC": "Currency pair not supported ETH/BTC"])
    feed.receive(#"{"method":"pong","req_id":101,"time_in":"a","time_out":"b"}"#)
    #expect(feed.error == nil)
    feed.receive(#"{"channel":"heartbeat"}"#)
    #expect(feed.isHeartbeat)
    feed.receive(#"{"channel":"ohlc","type":"update","data":[{"symbol":"ETH/USD"}]}"#)
    #expect(feed.error == nil)
    #expect(feed.engine.counts.ignored == 1)
    feed.receive(#"{"error":"Exceeded msg rate","method":"subscribe","success":false}"#)
    #expect(feed.error?.kind == .refused)
    feed.receive(#"{"method":"unsubscribe","error":"Subscription Not Found","success":false,"symbol":"ETH/USD"}"#)
    #expect(feed.error?.kind == .refused)
    #expect(feed.failures.isEmpty)
    #expect(feed.state(0) == .live)
  }

  @Test("a quiet connection is pinged")
  func pings() {
    let feed = live()
    feed.wait(9)
    #expect(feed.sent.filter { $0.contains("ping") }.isEmpty)
    for _ in 0..<4 { feed.wait(10) }
    feed.wait(30)
    #expect(feed.sent.contains { $0.contains(#""method":"ping""#) })
  }

  @Test("a value with more digits widens the scale: the instrument comes first, the message is read at the new scale")
  func widening() throws {
    let feed = live()
    feed.receive(
      #"{"channel":"trade","type":"update","data":[{"symbol":"ETH/USD","side":"buy","price":1797.2005,"qty":0.0002762512,"trade_id":8,"timestamp":"2023-10-06T17:35:55Z"}]}"#
    )
    #expect(feed.error == nil)
    #expect(feed.trades.map(\.price) == [17_972_005])
    #expect(feed.trades.map(\.size) == [2_762_512])
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.priceScale == 4)
    #expect(instrument.sizeScale == 10)
    #expect(feed.market.instruments[0].book.bestBid == PriceLevel(price: 17_972_400, size: 4_339_371_100))
    guard case .instrument = feed.events.first else {
      Issue.record("the instrument must come before the values at its new scale")
      return
    }
    // A price that would leave no room for the others is refused, and changes nothing.
    feed.receive(
      #"{"channel":"trade","type":"update","data":[{"symbol":"ETH/USD","side":"buy","price":0.000000000000000001,"qty":1,"trade_id":9,"timestamp":"2023-10-06T17:35:55Z"}]}"#
    )
    #expect(feed.error?.kind == .decimal)
    #expect(feed.market.instruments[0].instrument.priceScale == 4)
  }

  @Test("keys in any order, white space, and both sides in one message")
  func anyOrder() {
    let feed = live()
    feed.receive(
      "{ \"type\" : \"update\" , \"data\" : [ { \"checksum\":3329440863, \"asks\":[{\"qty\":0.00000000,\"price\":1797.29},\n"
        + "{\"qty\":1.56601318,\"price\":1797.52}], \"bids\":[], \"symbol\":\"ETH\\/USD\" } ], \"channel\":\"book\" }")
    // An escaped symbol is not one that was subscribed; the same text without the escape is.
    #expect(feed.error?.kind == .unknownSymbol)
    feed.receive(
      "{ \"type\" : \"update\" , \"data\" : [ { \"checksum\":3329440863, \"asks\":[{\"qty\":0.00000000,\"price\":1797.29},\n"
        + "{\"qty\":1.56601318,\"price\":1797.52}], \"bids\":[], \"symbol\":\"ETH/USD\" } ], \"channel\":\"book\" }")
    #expect(feed.error == nil)
    #expect(feed.state(0) == .live)
  }
}
