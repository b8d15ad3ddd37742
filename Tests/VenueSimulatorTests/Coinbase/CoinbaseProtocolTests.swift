import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Coinbase Exchange")
struct CoinbaseProtocolTests {
  static func subscribe(_ products: [String], _ channels: [String]) -> String {
    func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ",") }
    return #"{"type":"subscribe","product_ids":[\#(list(products))],"channels":[\#(list(channels))]}"#
  }

  @Test("books follow from snapshot and batches, in the digits of the increments", arguments: testSeeds(3))
  func books(seed: UInt64) throws {
    let venue = try makeVenue("coinbase", seed: seed, rate: 100)
    let client = try TestClient(venue)
    venue.run(0.333, client)
    client.send(Self.subscribe(["BTC-USD", "DOGE-USD"], ["level2_batch"]))
    var bids: [String: TestSide] = [:]
    var asks: [String: TestSide] = [:]
    var updates = 0
    for _ in 0..<40 {
      venue.run(0.1, client)
      for message in try client.take().map(parse) {
        guard let product = message.string("product_id") else { continue }
        let state = venue.market.instruments.first { $0.instrument.venueSymbol == product }!
        let (p, s) = (Int(state.instrument.priceScale), Int(state.instrument.sizeScale))
        if message.string("type") == "snapshot" {
          #expect(message.pairs("asks").count > 200)
          bids[product] = Dictionary(
            uniqueKeysWithValues: message.pairs("bids").map { (exact($0[0], digits: p)!, exact($0[1], digits: s)!) })
          asks[product] = Dictionary(
            uniqueKeysWithValues: message.pairs("asks").map { (exact($0[0], digits: p)!, exact($0[1], digits: s)!) })
        } else if message.string("type") == "l2update" {
          updates += 1
          for change in message.pairs("changes") {
            let (price, size) = (exact(change[1], digits: p)!, exact(change[2], digits: s)!)
            if change[0] == "buy" {
              bids[product]![price] = size == 0 ? nil : size
            } else {
              asks[product]![price] = size == 0 ? nil : size
            }
          }
        }
      }
    }
    #expect(updates > 60)
    // Up to the last batch: let it be sent, with nothing after it.
    let end = venue.now
    #expect((end - testStart) % 50_000 != 0)
    venue.advance(to: end + 17_000)
    for message in try client.take().map(parse) where message.string("type") == "l2update" {
      let product = message.string("product_id")!
      let instrument = venue.market.instruments.first { $0.instrument.venueSymbol == product }!.instrument
      for change in message.pairs("changes") {
        let price = exact(change[1], digits: Int(instrument.priceScale))!
        let size = exact(change[2], digits: Int(instrument.sizeScale))!
        if change[0] == "buy" {
          bids[product]![price] = size == 0 ? nil : size
        } else {
          asks[product]![price] = size == 0 ? nil : size
        }
      }
    }
    #expect((venue.now - testStart) % 50_000 == 0)
    for (product, side) in bids {
      let state = venue.market.instruments.first { $0.instrument.venueSymbol == product }!
      #expect(levels(side) { $0 < $1 } == state.book.bids, "seed \(seed) \(product)")
      #expect(levels(asks[product]!) { $0 > $1 } == state.book.asks, "seed \(seed) \(product)")
    }
  }

  @Test("the acknowledgement calls level2_batch level2_50 and lists everything; the products of a channel add up")
  func acknowledgement() throws {
    let client = try TestClient(try makeVenue("coinbase"))
    client.send(
      #"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["level2_batch","heartbeat",{"name":"ticker","product_ids":["ETH-USD"]}]}"#
    )
    let ack = client.take()[0]
    #expect(
      ack == #"{"type":"subscriptions","channels":[{"name":"level2_50","product_ids":["BTC-USD"],"account_ids":null},"#
        + #"{"name":"ticker","product_ids":["BTC-USD","ETH-USD"],"account_ids":null},"#
        + #"{"name":"heartbeat","product_ids":["BTC-USD"],"account_ids":null}]}"#)
    client.send(#"{"type":"unsubscribe","product_ids":["BTC-USD"],"channels":["ticker","level2_50"]}"#)
    let rest = try parse(client.take().last!).objects("channels")
    #expect(rest.map { $0.string("name") } == ["ticker", "heartbeat"])
    #expect(rest[0]["product_ids"] as? [String] == ["ETH-USD"])
  }

  @Test("refusals, in the venue's words")
  func refusals() throws {
    let client = try TestClient(try makeVenue("coinbase"))
    func answer(_ text: String) throws -> String? {
      client.send(text)
      let message = try parse(client.take().last!)
      #expect(message.string("type") == "error")
      return message.string("reason") ?? message.string("message")
    }
    #expect(try answer(Self.subscribe(["BTC-USD"], ["level2"]))?.contains("require authentication") == true)
    #expect(try answer(Self.subscribe(["BTC-USD"], ["books"])) == "books is not a valid channel")
    #expect(try answer(Self.subscribe(["BTC-USD", "ETH-XYZ"], ["matches"])) == "ETH-XYZ is not a valid product")
    #expect(try answer("[]") == "Malformed JSON")
  }

  @Test("a connection that does not subscribe within five seconds is closed; one that has is not")
  func deadline() throws {
    let venue = try makeVenue("coinbase")
    let (idle, busy) = (try TestClient(venue), try TestClient(venue))
    busy.send(Self.subscribe(["BTC-USD"], ["heartbeat"]))
    venue.run(4.9, idle, busy)
    #expect(idle.closed == nil)
    venue.run(0.2, idle, busy)
    #expect(idle.closed == 1008 && busy.closed == nil)
  }

  @Test("matches: the last one first, dense ids, the maker's side")
  func matches() throws {
    let venue = try makeVenue("coinbase", rate: 100)
    let client = try TestClient(venue)
    client.send(Self.subscribe(["SOL-USD"], ["matches"]))
    // The true trades, side for side.
    var truth: [Int64: SimulatedTrade] = [:]
    for _ in 0..<300 {
      venue.run(0.01, client)
      for trade in venue.market.instruments[2].recentTrades { truth[trade.id] = trade }
    }
    let messages = try client.take().dropFirst().map(parse)
    #expect(messages[messages.startIndex].string("type") == "last_match")
    #expect(messages.dropFirst().allSatisfy { $0.string("type") == "match" } && messages.count > 10)
    let ids = messages.map { $0.int("trade_id")! }
    #expect(zip(ids, ids.dropFirst()).allSatisfy { $1 == $0 + 1 })
    let sequences = messages.map { $0.int("sequence")! }
    #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
    for message in messages {
      let trade = try #require(truth[Int64(message.int("trade_id")!)])
      #expect(message.string("side") == (trade.side == .buy ? "sell" : "buy"))
      #expect(exact(message.string("price")!, digits: 2) == trade.price)
      #expect(exact(message.string("size")!, digits: 8) == trade.size)
      #expect(
        message.string("maker_order_id")?.wholeMatch(
          of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
  }

  @Test("heartbeats each second and product; tickers with trades")
  func heartbeatsAndTickers() throws {
    let venue = try makeVenue("coinbase", rate: 60)
    let client = try TestClient(venue)
    client.send(Self.subscribe(["BTC-USD", "ETH-USD"], ["heartbeat", "ticker"]))
    venue.run(3, client)
    let messages = try client.take().map(parse)
    #expect(messages.count { $0.string("type") == "heartbeat" } == 6)
    let tickers = messages.filter { $0.string("type") == "ticker" && $0.string("product_id") == "BTC-USD" }
    #expect(tickers.count > 5)
    #expect(tickers.last!.int("trade_id").map(Int64.init) == venue.market.instruments[0].tradeID)
    #expect(exact(tickers.last!.string("open_24h")!, digits: 2) == venue.market.instruments[0].day.open)
  }

  @Test("products by REST")
  func products() throws {
    let venue = try makeVenue("coinbase")
    let body = venue.respond(path: "/products", query: []).body
    let list = try JSONSerialization.jsonObject(with: Data(body.utf8)) as! [[String: Any]]
    #expect(list.map { $0.string("id") }.contains("ZEC-USD") && list.count == 8)
    #expect(list[6].string("quote_increment") == "0.00001" && list[6].string("base_increment") == "0.1")
    #expect(venue.respond(path: "/products/NO-PE", query: []).status == 404)
  }
}
