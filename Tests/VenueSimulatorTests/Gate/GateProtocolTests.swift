import Foundation
import MarketData
import Testing

@testable import VenueSimulator

@Suite("Gate, simulated")
struct GateProtocolTests {
  private static func request(
    _ channel: String, _ payload: [String], event: String = "subscribe", id: Int = 7, at venue: SimulatedVenue
  ) -> String {
    let list = payload.map { "\"\($0)\"" }.joined(separator: ",")
    return
      #"{"time":\#(venue.now.rawValue / 1_000_000),"id":\#(id),"channel":"\#(channel)","event":"\#(event)","payload":[\#(list)]}"#
  }

  @Test(
    "a whole book on subscribing, then changes that link by one, some of them without a level, and a whole book now and then instead"
  )
  func stream() throws {
    let venue = try makeVenue("gate")
    let client = try TestClient(venue)
    client.send(Self.request("spot.obu", ["ob.BTC_USDT.50"], at: venue))
    let first = client.take()
    #expect(first.count == 2)
    #expect(try parse(first[0]).object("result")?.string("status") == "success")
    #expect(try parse(first[0]).int("id") == 7)
    let whole = try #require(try parse(first[1]).object("result"))
    #expect(whole["full"] as? Bool == true && whole.pairs("b").count == 50 && whole.string("s") == "ob.BTC_USDT.50")
    #expect(whole.pairs("b").allSatisfy { !$0[0].hasSuffix("0") || !$0[0].contains(".") }, "no zeros at the end")
    var last = try #require(whole.int("u"))
    venue.run(10, client)
    var empty = 0
    var books = 0
    let changes = try client.take().map { try #require(try parse($0).object("result")) }
    #expect(changes.count > 50)
    for change in changes {
      let isWhole = change["full"] as? Bool == true
      #expect(isWhole ? change["U"] == nil && change.pairs("b").count == 50 : change.int("U") == last + 1)
      #expect(try #require(change.int("u")) >= last)
      books += isWhole ? 1 : 0
      last = try #require(change.int("u"))
      if change["b"] == nil { empty += 1 }
    }
    #expect(empty > 0 && books > 0)
  }

  @Test("what is refused, and with which words")
  func refusals() throws {
    let venue = try makeVenue("gate", faults: ["refuse=ETH-USDT"])
    let client = try TestClient(venue)
    func error(_ text: String) throws -> String? {
      client.send(text)
      return try parse(client.take()[0]).object("error")?.string("message")
    }
    for channel in ["spot.trades", "spot.book_ticker", "spot.tickers"] {
      #expect(
        try error(Self.request(channel, ["ETH_USDT"], at: venue)) == "unknown currency pair ETH_USDT")
    }
    #expect(
      try error(Self.request("spot.order_book_update", ["ETH_USDT", "100ms"], at: venue))
        == "unknown currency pair ETH_USDT")
    #expect(try error(Self.request("spot.obu", ["ob.ETH_USDT.400"], at: venue)) == nil, "acknowledged, and silent")
    #expect(try error(Self.request("spot.obu", ["ob.BTC_USDT.400"], at: venue)) == nil)
    #expect(try error(Self.request("spot.obu", ["ob.BTC_USDT.400"], at: venue)) == "Alert sub ob.BTC_USDT.400")
    #expect(try error(Self.request("spot.nope", [], at: venue)) == "Unknown channel spot.nope")
    #expect(try error("not json") == "request message need json scheme")
    #expect(try error(#"{"time":5,"channel":"spot.trades","event":"subscribe","payload":["BTC_USDT"]}"#) != nil)
    #expect(throws: SimulatedRefusal.self) { try TestClient(venue, path: "/ws/v4") }
  }

  @Test("a connection that says and wants nothing is cut; one that pings is not")
  func idle() throws {
    let venue = try makeVenue("gate")
    let silent = try TestClient(venue)
    let talking = try TestClient(venue)
    for _ in 0..<4 {
      venue.run(10, silent, talking)
      talking.send(#"{"time":1,"channel":"spot.ping"}"#)
    }
    #expect(silent.isAborted && !talking.isAborted)
    #expect(talking.take().allSatisfy { $0.contains("spot.pong") })
  }

  @Test("updates of the other book are what the REST snapshot at their number was missing")
  func updates() throws {
    let venue = try makeVenue("gate")
    let client = try TestClient(venue)
    client.send(Self.request("spot.order_book_update", ["ZEC_USDT", "100ms"], at: venue))
    func snapshot() throws -> (id: Int, bids: [String: String]) {
      let response = venue.respond(
        path: "/api/v4/spot/order_book",
        query: [("currency_pair", "ZEC_USDT"), ("limit", "1000"), ("with_id", "true")])
      let body = try parse(response.body)
      return (try #require(body.int("id")), Dictionary(uniqueKeysWithValues: body.pairs("bids").map { ($0[0], $0[1]) }))
    }
    var (id, bids) = try snapshot()
    _ = client.take()
    venue.run(3, client)
    for text in client.take() {
      let update = try #require(try parse(text).object("result"))
      #expect(update.int("U") == id + 1)
      id = try #require(update.int("u"))
      for pair in update.pairs("b") { bids[pair[0]] = pair[1] == "0" ? nil : pair[1] }
    }
    let after = try snapshot()
    #expect(after.id >= id)
    if after.id == id { #expect(after.bids == bids) }
    #expect(
      try parse(venue.respond(path: "/api/v4/spot/order_book", query: [("currency_pair", "X")]).body)["label"] != nil)
    #expect(venue.respond(path: "/api/v4/margin/currency_pairs", query: []).body == "[]")
    var statuses: Set<Int> = []
    for _ in 0..<250 { statuses.insert(venue.respond(path: "/api/v4/spot/currency_pairs", query: []).status) }
    #expect(statuses == [200, 429])
  }
}
