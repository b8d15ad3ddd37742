import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

/// A Binance book by the venue's procedure: buffer, snapshot, bridge, links.
private struct BinanceBook {
  var bids: TestSide = [:]
  var asks: TestSide = [:]
  var last: Int?
  var buffered: [[String: Any]] = []
  var gaps = 0
  var linked = 0

  mutating func snapshot(_ message: [String: Any]) {
    bids = Dictionary(
      uniqueKeysWithValues: message.pairs("bids").map { (exact($0[0], digits: 8)!, exact($0[1], digits: 8)!) })
    asks = Dictionary(
      uniqueKeysWithValues: message.pairs("asks").map { (exact($0[0], digits: 8)!, exact($0[1], digits: 8)!) })
    last = message.int("lastUpdateId")!
    let events = buffered
    buffered = []
    for event in events { apply(event) }
  }

  mutating func apply(_ event: [String: Any]) {
    guard let last else {
      buffered.append(event)
      return
    }
    let (first, final) = (event.int("U")!, event.int("u")!)
    if final <= last { return }
    if first > last + 1 { gaps += 1 }
    linked += 1
    for pair in event.pairs("b") { bids[exact(pair[0], digits: 8)!] = exact(pair[1], digits: 8)! }
    for pair in event.pairs("a") { asks[exact(pair[0], digits: 8)!] = exact(pair[1], digits: 8)! }
    bids = bids.filter { $0.value != 0 }
    asks = asks.filter { $0.value != 0 }
    self.last = final
  }
}

@Suite("Simulated Binance")
struct BinanceProtocolTests {
  @Test(
    "the bridge from stream to REST snapshot holds at any moment, and the book is the true one", arguments: testSeeds(4)
  )
  func bridge(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let venue = try makeVenue("binance", seed: seed, rate: 100)
    let client = try TestClient(venue)
    venue.run(Double.random(in: 0...0.5, using: &random), client)
    client.send(#"{"method":"SUBSCRIBE","params":["ethusdt@depth@100ms"],"id":1}"#)
    var book = BinanceBook()
    let wait = Int.random(in: 0...40, using: &random)
    for step in 0..<400 {
      if step == wait {
        let response = venue.respond(path: "/api/v3/depth", query: [("symbol", "ETHUSDT"), ("limit", "5000")])
        book.snapshot(try parse(response.body))
      }
      venue.run(0.0103, client)
      for message in try client.take().map(parse) where message.string("e") == "depthUpdate" { book.apply(message) }
    }
    #expect(book.gaps == 0 && book.linked > 20, "seed \(seed)")
    // To the end of the batch.
    while (venue.now - testStart) % 100_000 != 0 {
      venue.advance(to: venue.now + 100_000 - (venue.now - testStart) % 100_000)
    }
    for message in try client.take().map(parse) { book.apply(message) }
    let state = venue.market.instruments[1]
    #expect(book.last.map(Int64.init) == state.updateID)
    #expect(levels(book.bids) { $0 < $1 } == state.book.bids, "seed \(seed)")
    #expect(levels(book.asks) { $0 > $1 } == state.book.asks, "seed \(seed)")
  }

  @Test("requests: acknowledged, listed, unknown names silent, errors nested")
  func requests() throws {
    let venue = try makeVenue("binance")
    let client = try TestClient(venue)
    func answer(_ text: String) -> String {
      venue.run(1.1, client)
      client.drain()
      client.send(text)
      return client.take().last!
    }
    #expect(
      answer(#"{"method":"SUBSCRIBE","params":["nopeusdt@trade","BTCUSDT@trade"],"id":1}"#)
        == #"{"result":null,"id":1}"#)
    venue.run(2, client)
    #expect(client.take().isEmpty)
    #expect(
      answer(#"{"method":"LIST_SUBSCRIPTIONS","id":"a b"}"#)
        == #"{"result":["nopeusdt@trade","BTCUSDT@trade"],"id":"a b"}"#)
    #expect(answer(#"{"method":"GET_PROPERTY","params":["combined"],"id":2}"#) == #"{"result":false,"id":2}"#)
    #expect(answer(#"{"method":"SUBSCRIBE","id":3}"#).hasPrefix(#"{"error":{"code":2,"msg":"Invalid request"#))
    #expect(answer(#"{"method":"JUMP","id":4}"#).hasSuffix(#""},"id":4}"#))
    #expect(answer("{").hasPrefix(#"{"error":{"code":3,"#))
    #expect(answer(#"{"method":"UNSUBSCRIBE","params":["BTCUSDT@trade"],"id":null}"#) == #"{"result":null,"id":null}"#)
  }

  @Test("combined and raw, milliseconds and microseconds, from path and query")
  func forms() throws {
    let venue = try makeVenue("binance", rate: 60)
    let raw = try TestClient(venue, path: "/ws/btcusdt@trade")
    let combined = try TestClient(
      venue, path: "/stream", query: [("streams", "btcusdt@trade/ethusdt@bookTicker"), ("timeUnit", "MICROSECOND")])
    venue.run(2, raw, combined)
    let first = try #require(raw.take().first)
    let event = try parse(first)
    #expect(event.string("e") == "trade" && event.string("s") == "BTCUSDT" && String(event.int("T")!).count == 13)
    #expect(exact(event.string("p")!, digits: 8) != nil && exact(event.string("q")!, digits: 8) != nil)
    let wrapped = try combined.take().map(parse)
    let trade = try #require(wrapped.first { $0.string("stream") == "btcusdt@trade" }).object("data")!
    #expect(trade.int("t") == event.int("t") && String(trade.int("T")!).count == 16)
    let ticker = try #require(wrapped.first { $0.string("stream") == "ethusdt@bookTicker" }).object("data")!
    #expect(ticker["e"] == nil && ticker.string("s") == "ETHUSDT" && ticker.int("u") != nil)
    #expect(throws: SimulatedRefusal.self) { try TestClient(venue, path: "/nowhere") }
  }

  @Test("best bid and ask agree with the depth stream at the same update id")
  func bookTicker() throws {
    let venue = try makeVenue("binance", rate: 30)
    let client = try TestClient(venue)
    client.send(#"{"method":"SUBSCRIBE","params":["btcusdt@bookTicker"],"id":1}"#)
    venue.run(5, client)
    let last = try parse(client.take().last!)
    let state = venue.market.instruments[0]
    #expect(exact(last.string("b")!, digits: 8) == state.book.bestBid!.price)
    #expect(exact(last.string("B")!, digits: 8) == state.book.bestBid!.size)
    #expect(exact(last.string("a")!, digits: 8) == state.book.bestAsk!.price)
    #expect(exact(last.string("A")!, digits: 8) == state.book.bestAsk!.size)
  }

  @Test("tickers and partial books at their intervals")
  func intervals() throws {
    let venue = try makeVenue("binance", rate: 60)
    let client = try TestClient(venue)
    client.send(#"{"method":"SUBSCRIBE","params":["btcusdt@ticker","ethusdt@depth5@100ms","solusdt@depth"],"id":1}"#)
    venue.run(3, client)
    let messages = try client.take().map(parse)
    let tickers = messages.filter { $0.string("e") == "24hrTicker" }
    #expect(tickers.count == 3)
    #expect(tickers[2].int("n")! == tickers[2].int("L")! - tickers[2].int("F")! + 1)
    let partial = messages.filter { $0["lastUpdateId"] != nil }
    #expect(partial.count == 30 && partial.allSatisfy { $0.pairs("bids").count == 5 && $0["s"] == nil })
    #expect(messages.count { $0.string("e") == "depthUpdate" } == 3)
  }

  @Test("a ping every 20 s; without a pong for 60 s the connection ends, with pongs it lives")
  func pings() throws {
    let venue = try makeVenue("binance", rate: 0.01)
    let (mute, good) = (try TestClient(venue), try TestClient(venue))
    var answered = 0
    for _ in 0..<110 {
      venue.run(1, mute, good)
      if good.pings.count > answered {
        good.pong(good.pings.last!)
        answered = good.pings.count
      }
    }
    #expect(mute.closed == 1008 && mute.pings.count == 3)
    #expect(good.closed == nil && good.pings.count == 5)
  }

  @Test("the sixth message within a second ends the connection, the 1,025th stream too")
  func limits() throws {
    let venue = try makeVenue("binance")
    let flood = try TestClient(venue)
    for id in 1...5 { flood.send(#"{"method":"LIST_SUBSCRIPTIONS","id":\#(id)}"#) }
    #expect(flood.closed == nil)
    flood.send(#"{"method":"LIST_SUBSCRIPTIONS","id":6}"#)
    #expect(flood.closed == 1008 && flood.texts.count == 5)
    let greedy = try TestClient(venue)
    func subscribe(_ range: Range<Int>) -> String {
      #"{"method":"SUBSCRIBE","params":[\#(range.map { "\"s\($0)@trade\"" }.joined(separator: ","))],"id":1}"#
    }
    greedy.send(subscribe(0..<1_024))
    #expect(greedy.closed == nil)
    greedy.send(subscribe(1_024..<1_025))
    #expect(greedy.take().last == #"{"error":{"code":4,"msg":"Too many subscriptions"},"id":1}"#)
    #expect(greedy.closed == 1008)
  }

  @Test("REST: exchange information with filters, depth with limits, errors with the venue's codes")
  func rest() throws {
    let venue = try makeVenue("binance")
    func get(_ path: String, _ query: [(name: String, value: String)] = []) throws -> (Int, [String: Any]) {
      let response = venue.respond(path: path, query: query)
      return (response.status, try parse(response.body))
    }
    let two = try get("/api/v3/exchangeInfo", [("symbols", #"["BTCUSDT","ZECUSDT"]"#)]).1.objects("symbols")
    #expect(two.map { $0.string("symbol") } == ["BTCUSDT", "ZECUSDT"])
    #expect(two[1].objects("filters")[0].string("tickSize") == "0.01000000")
    #expect(two[1].objects("filters")[1].string("stepSize") == "0.00100000")
    #expect(try get("/api/v3/exchangeInfo").1.objects("symbols").count == 8)
    let unknown = try get("/api/v3/exchangeInfo", [("symbol", "NOPE")])
    #expect(unknown.0 == 400 && unknown.1.int("code") == -1121)
    let depth = try get("/api/v3/depth", [("symbol", "BTCUSDT"), ("limit", "10")]).1
    #expect(depth.pairs("bids").count == 10 && depth.pairs("asks").count == 10)
    #expect(try get("/api/v3/depth").1.int("code") == -1102)
    #expect(venue.respond(path: "/api/v3/ping", query: []).fields.contains { $0.name == "X-MBX-USED-WEIGHT-1M" })
  }
}
