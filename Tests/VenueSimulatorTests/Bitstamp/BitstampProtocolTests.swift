import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Bitstamp")
struct BitstampProtocolTests {
  private static func subscribe(_ channel: String, _ event: String = "bts:subscribe") -> String {
    #"{"event":"\#(event)","data":{"channel":"\#(channel)"}}"#
  }

  @Test("acknowledgements, heartbeats and errors in the venue's words; no channel begins with a snapshot")
  func requests() throws {
    let venue = try makeVenue("bitstamp", faults: ["refuse=ZEC-USD"])
    let client = try TestClient(venue)
    #expect(client.take().isEmpty)
    func answer(_ text: String) -> [String] {
      client.send(text)
      return client.take()
    }
    #expect(
      answer(Self.subscribe("diff_order_book_btcusd"))
        == [#"{"event":"bts:subscription_succeeded","channel":"diff_order_book_btcusd","data":{}}"#])
    #expect(
      answer(Self.subscribe("diff_order_book_btcusd", "bts:unsubscribe"))
        == [#"{"event":"bts:unsubscription_succeeded","channel":"diff_order_book_btcusd","data":{}}"#])
    #expect(
      answer(#"{"event":"bts:heartbeat"}"#)
        == [#"{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}"#])
    let invalid = #"{"event":"bts:error","channel":"","data":{"code":null,"message":"Invalid channel provided."}}"#
    #expect(answer(Self.subscribe("level2_btcusd")) == [invalid])
    #expect(answer(Self.subscribe("live_trades_BTC/USD"))[0].contains("Bad subscription string."))
    #expect(answer("{")[0].contains("Incorrect JSON format."))
    // What is not there is acknowledged, and silent for ever.
    #expect(answer(Self.subscribe("diff_order_book_nopusd"))[0].contains("bts:subscription_succeeded"))
    #expect(answer(Self.subscribe("diff_order_book_zecusd"))[0].contains("bts:subscription_succeeded"))
    venue.run(5, client)
    #expect(client.take().isEmpty)
  }

  @Test("limits: 512 bytes a message, 1,024 channels a connection; the server pings")
  func limits() throws {
    let venue = try makeVenue("bitstamp")
    let client = try TestClient(venue)
    client.send(Self.subscribe(String(repeating: "x", count: 500)))
    #expect(client.closed == 1009)
    let many = try TestClient(venue)
    for index in 0..<1_024 { many.send(Self.subscribe("live_trades_c\(index)usd")) }
    #expect(many.texts.count == 1_024 && !many.isAborted)
    many.send(Self.subscribe("live_trades_onemore"))
    #expect(many.isAborted && many.closed == nil)
    let quiet = try TestClient(venue)
    venue.run(55, quiet)
    #expect(quiet.pings.count == 1)
  }

  @Test("a book from REST and its differences is the market's; the answers are up to a second old")
  func books() throws {
    let venue = try makeVenue("bitstamp", rate: 60)
    let client = try TestClient(venue)
    client.send(Self.subscribe("diff_order_book_btcusd"))
    client.send(Self.subscribe("order_book_btcusd"))
    venue.run(2, client)
    let response = venue.respond(path: "/api/v2/order_book/btcusd/", query: [("group", "1")])
    venue.run(0.5, client)
    let cached = venue.respond(path: "/api/v2/order_book/btcusd", query: [])
    #expect(cached.body == response.body)
    venue.run(10, client)
    // To the moment of an update.
    repeat {
      _ = client.take()
      venue.run(0.05, client)
    } while !client.texts.last!.contains("diff_order_book_btcusd") || client.take().isEmpty
    let market = venue.market.instruments[0]
    #expect(market.instrument.venueSymbol == "btcusd" && market.instrument.priceScale == 0)
    let snapshot = try parse(response.body)
    let moment = try #require(snapshot.string("microtimestamp").flatMap { Int64($0) })
    var sides: [TestSide] = [[:], [:]]
    func apply(_ object: [String: Any]) throws {
      for (side, key) in ["bids", "asks"].enumerated() {
        for pair in object.pairs(key) {
          let price = try #require(exact(pair[0], digits: 0))
          let size = try #require(exact(pair[1], digits: 8))
          sides[side][price] = size == 0 ? nil : size
        }
      }
    }
    try apply(snapshot)
    var last: Int64 = 0
    var applied = 0
    for text in client.texts where text.contains(#""channel":"diff_order_book_btcusd","event":"data""#) {
      let data = try #require(try parse(text).object("data"))
      let time = try #require(data.string("microtimestamp").flatMap { Int64($0) })
      #expect(time > last && data.string("timestamp") == "\(time / 1_000_000)")
      last = time
      guard time > moment else { continue }
      applied += 1
      try apply(data)
    }
    #expect(applied > 20)
    #expect(levels(sides[0]) { $0 > $1 } == market.book.top(.bid, .max / 2))
    #expect(levels(sides[1]) { $0 < $1 } == market.book.top(.ask, .max / 2))
    let whole = try #require(client.texts.last { $0.contains(#""channel":"order_book_btcusd""#) })
    #expect(try parse(whole).object("data")?.pairs("bids").count == 100)
  }

  @Test("trades: the taker's side, texts beside numbers, an id of 19 digits")
  func trades() throws {
    let venue = try makeVenue("bitstamp", rate: 60)
    let client = try TestClient(venue)
    client.send(Self.subscribe("live_trades_ethusd"))
    venue.run(20, client)
    let texts = client.take().filter { $0.contains(#""event":"trade""#) }
    let trades = try texts.map { try #require(try parse($0).object("data")) }
    #expect(trades.count > 5)
    #expect(trades.last?.string("id_str") == "\(2_001_939_000_000_000_000 + venue.market.instruments[1].tradeID)")
    let last = venue.market.instruments[1].recentTrades.last
    #expect(trades.last?.int("type") == (last?.side == .buy ? 0 : 1))
    #expect(exact(trades.last?.string("price_str") ?? "", digits: 1) == last?.price)
    #expect(exact(trades.last?.string("amount_str") ?? "", digits: 8) == last?.size)
    #expect(trades.last?.string("microtimestamp")?.hasSuffix("000") == true)
  }

  @Test("REST: both lists, a ticker, what is not there, too many requests")
  func rest() throws {
    let venue = try makeVenue("bitstamp", faults: ["refuse=ZEC-USD"])
    func get(_ path: String) -> SimulatedResponse { venue.respond(path: path, query: []) }
    let markets = try JSONSerialization.jsonObject(with: Data(get("/api/v2/markets/").body.utf8)) as! [[String: Any]]
    #expect(markets.map { $0.string("market_symbol") }.contains("btcusd"))
    #expect(!markets.map { $0.string("market_symbol") }.contains("zecusd"))
    #expect(markets.last?.string("market_type") == "PERPETUAL")
    let pairs =
      try JSONSerialization.jsonObject(with: Data(get("/api/v2/trading-pairs-info/").body.utf8)) as! [[String: Any]]
    #expect(pairs[0].string("url_symbol") == "btcusd" && pairs[0].int("base_decimals") == 8)
    #expect(try parse(get("/api/v2/ticker/btcusd/").body).string("open_24") != nil)
    #expect(get("/api/v2/order_book/zecusd/").status == 404 && get("/api/v2/order_book/nopusd/").status == 404)
    #expect(get("/api/v1/markets/").status == 404)
    for _ in 0..<1_000 { _ = get("/api/v2/nothing/") }
    #expect(get("/api/v2/markets/").status == 429)
    venue.run(60)
    #expect(get("/api/v2/markets/").status == 200)
  }

  @Test("a planned reconnect, a snapshot from the moment of a fault; no checksum to be wrong")
  func faults() throws {
    let venue = try makeVenue("bitstamp", rate: 60)
    let client = try TestClient(venue)
    func moment() throws -> Int64? {
      try parse(venue.respond(path: "/api/v2/order_book/btcusd/", query: []).body).string("microtimestamp")
        .flatMap { Int64($0) }
    }
    try venue.inject(Fault(.staleSnapshot, symbol: "BTC-USD"))
    venue.run(4, client)
    #expect(try moment() == testStart.rawValue)
    #expect(try moment() == testStart.rawValue + 4_000_000)
    try venue.inject(Fault(.plannedShutdown))
    #expect(client.take() == [#"{"event":"bts:request_reconnect","channel":"","data":null}"#])
    venue.run(1.1, client)
    #expect(client.closed == 1001)
    #expect(throws: FaultError.self) { try venue.inject(Fault(.checksum)) }
  }
}
