import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Kraken Futures")
struct KrakenFuturesProtocolTests {
  private static func request(_ feed: String, _ products: String..., event: String = "subscribe") -> String {
    let list = products.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"event":"\#(event)","feed":"\#(feed)","product_ids":[\#(list)]}"#
  }

  @Test("each product is acknowledged, small letters are taken; a whole book, then a level a message, numbered by one")
  func books() throws {
    let venue = try makeVenue("kraken-futures", rate: 100)
    let client = try TestClient(venue)
    #expect(client.take() == [#"{"event":"info","version":1}"#])
    venue.run(0.333, client)
    client.send(Self.request("book", "pf_xbtusd", "PF_ETHUSD"))
    let first = try client.take().map(parse)
    #expect(
      first.map { $0.string("event") ?? $0.string("feed") } == [
        "subscribed", "book_snapshot", "subscribed", "book_snapshot",
      ])
    #expect(
      first.map { ($0["product_ids"] as? [String])?.first ?? $0.string("product_id") } == [
        "PF_XBTUSD", "PF_XBTUSD", "PF_ETHUSD", "PF_ETHUSD",
      ])
    var last = try #require(first[1].int("seq"))
    var sides: [String: [Double: Double]] = [:]
    for (key, side) in [("bids", "buy"), ("asks", "sell")] {
      for level in first[1].objects(key) where level["qty"] as! Double > 0 {
        sides[side, default: [:]][level["price"] as! Double] = level["qty"] as? Double
      }
    }
    venue.run(5, client)
    let changes = try client.take().map(parse).filter { $0.string("product_id") == "PF_XBTUSD" }
    #expect(changes.count > 100)
    for change in changes {
      #expect(change.int("seq") == last + 1)
      last = try #require(change.int("seq"))
      let (side, price, size) = (change.string("side")!, change["price"] as! Double, change["qty"] as! Double)
      sides[side]![price] = size == 0 ? nil : size
      #expect(sides["buy"]!.keys.max()! < sides["sell"]!.keys.min()!, "crossed")
    }
    let book = venue.market.instruments[0].book
    #expect(book.bids.count == sides["buy"]!.count && book.asks.count == sides["sell"]!.count)
    client.send(Self.request("book", "PF_XBTUSD", "PF_ETHUSD", event: "unsubscribe"))
    #expect(client.take().count == 2)
    venue.run(2, client)
    #expect(client.take().isEmpty)
  }

  @Test("old trades come first, the newest of them first; then each by itself, numbered by one")
  func trades() throws {
    let venue = try makeVenue("kraken-futures", rate: 100)
    let client = try TestClient(venue)
    client.send(Self.request("trade", "PF_XBTUSD"))
    let old = try parse(client.take()[2]).objects("trades").map { $0.int("seq")! }
    #expect(old.count == 50 && zip(old, old.dropFirst()).allSatisfy { $0 == $1 + 1 })
    venue.run(10, client)
    var last = old[0]
    var types: Set<String> = []
    for trade in try client.take().map(parse) {
      #expect(trade.int("seq") == last + 1 && trade.string("uid")?.count == 36)
      last += 1
      types.insert(trade.string("type")!)
    }
    #expect(types == ["fill", "liquidation"])
  }

  @Test("a ticker once a second, heartbeats for those who ask for them")
  func tickers() throws {
    let venue = try makeVenue("kraken-futures")
    let client = try TestClient(venue)
    client.send(Self.request("ticker", "PF_XBTUSD"))
    client.send(#"{"event":"subscribe","feed":"heartbeat"}"#)
    _ = client.take()
    venue.run(5, client)
    let feeds = try client.take().map { try parse($0).string("feed") }
    #expect(feeds.count { $0 == "ticker" } == 5 && feeds.count { $0 == "heartbeat" } == 5)
  }

  @Test("what is refused, and with which words")
  func refusals() throws {
    let venue = try makeVenue("kraken-futures", faults: ["refuse=BTC-USD-PERP", "refuse=ETH-USD-PERP"])
    let client = try TestClient(venue)
    _ = client.take()
    func answer(_ text: String) throws -> [String: Any] {
      client.send(text)
      return try parse(client.take()[0])
    }
    let named = try answer(Self.request("book", "PF_XBTUSD"))
    #expect(named.string("event") == "subscribed_failed" && named["product_ids"] as? [String] == ["PF_XBTUSD"])
    let unnamed = try answer(Self.request("book", "PF_ETHUSD"))
    #expect(unnamed.string("event") == "error" && unnamed.string("message") == "Invalid product id")
    #expect(try answer(Self.request("book", "PF_NOPEUSD")).string("event") == "subscribed_failed")
    #expect(try answer(Self.request("nope", "PF_SOLUSD")).string("message") == "Invalid feed")
    for text in ["not json", #"{"event":"nope"}"#] { #expect(try answer(text).string("event") == "alert") }
    #expect(throws: SimulatedRefusal.self) { try TestClient(venue, path: "/") }
  }

  @Test("more than a hundred requests a second end it; without a subscription, a message or a ping it is cut")
  func limits() throws {
    let venue = try makeVenue("kraken-futures")
    let flooding = try TestClient(venue)
    for _ in 0..<101 { flooding.send(Self.request("ticker", "PF_XBTUSD")) }
    #expect(flooding.closed == 1008)
    let (silent, pinging) = (try TestClient(venue), try TestClient(venue))
    for _ in 0..<7 {
      venue.run(10, silent, pinging)
      venue.venueProtocol.receivedPing(from: pinging.session)
    }
    #expect(silent.isAborted && !pinging.isAborted)
  }

  @Test("the list has markets that are no linear contracts, and steps above one")
  func list() throws {
    let venue = try makeVenue("kraken-futures")
    let rows = try parse(venue.respond(path: "/derivatives/api/v3/instruments", query: []).body).objects("instruments")
    #expect(rows.count == venue.market.instruments.count + 2)
    #expect(rows.contains { $0.int("contractValueTradePrecision") == -1 } && rows.contains { $0["base"] == nil })
    #expect(venue.respond(path: "/derivatives/api/v3/nope", query: []).status == 404)
  }
}
