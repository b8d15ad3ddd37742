import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Coinbase Advanced Trade")
struct CoinbaseAdvancedProtocolTests {
  static func subscribe(_ channel: String, _ products: [String], type: String = "subscribe") -> String {
    let list = products.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"type":"\#(type)","product_ids":[\#(list)],"channel":"\#(channel)"}"#
  }

  @Test(
    "books follow from snapshot and updates, and each message has the connection's next number", arguments: testSeeds(3)
  )
  func books(seed: UInt64) throws {
    let venue = try makeVenue("coinbase-advanced", seed: seed, rate: 100)
    let client = try TestClient(venue)
    venue.run(0.333, client)
    client.send(#"{"type":"subscribe","channel":"heartbeats"}"#)
    client.send(Self.subscribe("level2", ["BTC-USD", "DOGE-USD"]))
    client.send(Self.subscribe("market_trades", ["BTC-USD"]))
    venue.run(4, client)
    // Up to the last batch.
    venue.advance(to: venue.now + 17_000)
    #expect((venue.now - testStart) % 50_000 == 0)
    var sides: [String: TestSide] = [:]
    var updates = 0
    for (number, message) in try client.take().map(parse).enumerated() {
      #expect(message.int("sequence_num") == number)
      guard message.string("channel") == "l2_data" else { continue }
      for event in message.objects("events") {
        let product = event.string("product_id")!
        let instrument = venue.market.instruments.first { $0.instrument.venueSymbol == product }!.instrument
        if event.string("type") == "snapshot" {
          #expect(event.objects("updates").allSatisfy { $0.string("event_time") == "1970-01-01T00:00:00Z" })
          sides[product + "bid"] = [:]
          sides[product + "offer"] = [:]
        } else {
          updates += 1
        }
        for level in event.objects("updates") {
          let price = exact(level.string("price_level")!, digits: Int(instrument.priceScale))!
          let size = exact(level.string("new_quantity")!, digits: Int(instrument.sizeScale))!
          sides[product + level.string("side")!]![price] = size == 0 ? nil : size
        }
      }
    }
    #expect(updates > 60)
    for product in ["BTC-USD", "DOGE-USD"] {
      let book = venue.market.instruments.first { $0.instrument.venueSymbol == product }!.book
      #expect(levels(sides[product + "bid"]!) { $0 < $1 } == book.bids, "seed \(seed) \(product)")
      #expect(levels(sides[product + "offer"]!) { $0 > $1 } == book.asks, "seed \(seed) \(product)")
    }
  }

  @Test("the acknowledgement lists everything; a name in USDC is the book in USD")
  func acknowledgement() throws {
    let client = try TestClient(try makeVenue("coinbase-advanced"))
    client.send(#"{"type":"subscribe","channel":"heartbeats"}"#)
    client.send(Self.subscribe("ticker", ["ETH-USDC"]))
    let texts = client.take()
    #expect(texts[1].hasSuffix(#""events":[{"subscriptions":{"heartbeats":["heartbeats"],"ticker":["ETH-USDC"]}}]}"#))
    #expect(try parse(texts[2]).objects("events")[0].objects("tickers")[0].string("product_id") == "ETH-USD")
    client.send(Self.subscribe("ticker", ["ETH-USD"], type: "unsubscribe"))
    #expect(client.take()[0].hasSuffix(#""events":[{"subscriptions":{"heartbeats":["heartbeats"]}}]}"#))
    client.venue.run(3, client)
    #expect(try client.take().map(parse).allSatisfy { $0.string("channel") == "heartbeats" })
  }

  @Test("refusals, in the venue's words where they are known; a bad product refuses the whole request")
  func refusals() throws {
    let venue = try makeVenue("coinbase-advanced", faults: ["refuse=ZEC-USD"])
    let client = try TestClient(venue)
    func answer(_ text: String) throws -> String? {
      venue.run(0.2, client)
      _ = client.take()
      client.send(text)
      return try parse(client.take().last!).string("message")
    }
    #expect(try answer(Self.subscribe("user", ["BTC-USD"])) == "authentication failure")
    #expect(try answer(Self.subscribe("level2", ["BTC-USD", "ZEC-USD"])) == "invalid product_ids")
    #expect(try answer(Self.subscribe("level2", ["NO-PE"])) == "invalid product_ids")
    #expect(try answer("[]") == "malformed JSON")
    venue.run(0.5, client)
    #expect(client.take().isEmpty, "nothing of it was subscribed")
  }

  @Test("the limits: a subscription within five seconds, eight messages a second, so many books")
  func limits() throws {
    let venue = try makeVenue("coinbase-advanced")
    let idle = try TestClient(venue)
    venue.run(5.1, idle)
    #expect(idle.closed == 1008)
    let busy = try TestClient(venue)
    for _ in 0..<8 { busy.send(#"{"type":"subscribe","channel":"heartbeats"}"#) }
    #expect(busy.closed == nil)
    busy.send(#"{"type":"subscribe","channel":"heartbeats"}"#)
    #expect(busy.closed == 1008)

    let faults = FaultInjector(now: testStart)
    let market = SimulatedMarket(instruments: CoinbaseProtocol.listing, seed: 1, rate: 10, start: testStart)
    let small = CoinbaseAdvancedProtocol(market: market, faults: faults, bookLimit: 2)
    let session = try small.open(id: 1, SimulatedRequest(path: "/", query: []))
    func texts(_ products: [String]) -> [String] {
      Array(Self.subscribe("level2", products).utf8).withUnsafeBytes {
        small.receive(RawSpan(_unsafeBytes: $0), from: session)
      }
      return session.takeOutput().compactMap {
        if case .text(let bytes) = $0 { String(decoding: bytes.unsafeBytes, as: UTF8.self) } else { nil }
      }
    }
    #expect(texts(["BTC-USD", "ETH-USD"]).count == 3)
    #expect(texts(["SOL-USD"]) == [#"{"type":"error","message":"too many L2 streams requested in a single session"}"#])
    // All of them are silent from then on.
    _ = market.step(to: testStart + 2 * Microseconds.second)
    small.tick(testStart + 2 * Microseconds.second, sessions: [session])
    #expect(session.takeOutput().isEmpty)
  }

  @Test("trades: those before as a snapshot, then batches, newest first, the maker's side")
  func trades() throws {
    let venue = try makeVenue("coinbase-advanced", rate: 100)
    let client = try TestClient(venue)
    client.send(Self.subscribe("market_trades", ["SOL-USD"]))
    var truth: [Int64: SimulatedTrade] = [:]
    for trade in venue.market.instruments[2].recentTrades { truth[trade.id] = trade }
    for _ in 0..<300 {
      venue.run(0.01, client)
      for trade in venue.market.instruments[2].recentTrades { truth[trade.id] = trade }
    }
    let events = try client.take().dropFirst().map(parse).flatMap { $0.objects("events") }
    #expect(events[0].string("type") == "snapshot" && events[0].objects("trades").count == 50)
    #expect(events.count > 5 && events.dropFirst().allSatisfy { $0.string("type") == "update" })
    var next = Int64(events[0].objects("trades")[0].string("trade_id")!)! - 49
    for event in events {
      for trade in event.objects("trades").reversed() {
        let id = Int64(trade.string("trade_id")!)!
        #expect(id == next)
        next += 1
        let known = try #require(truth[id])
        #expect(trade.string("side") == (known.side == .buy ? "SELL" : "BUY"))
        #expect(exact(trade.string("price")!, digits: 2) == known.price)
      }
    }
  }

  @Test("a gap leaves a hole in the connection's numbers, and in no other's")
  func gap() throws {
    let venue = try makeVenue("coinbase-advanced", rate: 60)
    let clients = [try TestClient(venue), try TestClient(venue)]
    clients[0].send(Self.subscribe("level2", ["BTC-USD"]))
    clients[1].send(Self.subscribe("ticker", ["BTC-USD"]))
    try venue.inject(Fault(.gap, at: 1))
    venue.run(2, clients[0], clients[1])
    func holes(_ client: TestClient) throws -> Int {
      let numbers = try client.texts.map { try parse($0).int("sequence_num")! }
      return zip(numbers, numbers.dropFirst()).count { $1 != $0 + 1 }
    }
    #expect(try holes(clients[0]) == 1)
    #expect(try holes(clients[1]) == 0)
  }

  @Test("products by REST: spot with their aliases, futures only if they are asked for")
  func products() throws {
    let venue = try makeVenue("coinbase-advanced")
    let path = CoinbaseAdvancedProtocol.productsPath
    func list(_ type: String?) throws -> [[String: Any]] {
      try parse(venue.respond(path: path, query: type.map { [("product_type", $0)] } ?? []).body).objects("products")
    }
    let spot = try list("SPOT")
    #expect(spot.count == 16)
    #expect(try list(nil).count == 17)
    #expect(try list("FUTURE").count == 1)
    #expect(spot[1].string("product_id") == "BTC-USDC" && spot[1].string("alias") == "BTC-USD")
    #expect(spot[12].string("price_increment") == "0.00001" && spot[12].string("base_increment") == "0.1")
    #expect(venue.respond(path: "/products", query: []).status == 404)
  }
}
