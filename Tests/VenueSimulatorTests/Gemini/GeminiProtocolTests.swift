import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Gemini")
struct GeminiProtocolTests {
  private static let whole = [(name: "snapshot", value: "-1")]

  static func request(_ id: Int, _ method: String, _ streams: [String]) -> String {
    let list = streams.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"id":\#(id),"method":"\#(method)","params":[\#(list)]}"#
  }

  @Test("books follow from a first message with U = u and links that overlap by one", arguments: testSeeds(3))
  func books(seed: UInt64) throws {
    let venue = try makeVenue("gemini", seed: seed, rate: 60)
    let client = try TestClient(venue, query: Self.whole)
    venue.run(0.333, client)
    client.send(Self.request(1, "SUBSCRIBE", ["btcusd@depth@100ms", "dogegusdperp@depth@100ms"]))
    #expect(client.texts.count == 3 && client.texts[2] == #"{"id":1,"status":200}"#, "the acknowledgement comes last")
    venue.run(4, client)
    venue.advance(to: venue.now + 67_000)
    #expect((venue.now - testStart) % 100_000 == 0)
    var sides: [String: TestSide] = [:]
    var last: [String: Int] = [:]
    var links = 0
    for message in try client.take().map(parse) where message.string("e") == "depthUpdate" {
      let name = message.string("s")!
      let instrument = venue.market.instruments.first { $0.instrument.venueSymbol == name }!.instrument
      let (first, end) = (message.int("U")!, message.int("u")!)
      if let previous = last[name] {
        #expect(first == previous && end > first)
        links += 1
      } else {
        #expect(first == end)
        sides[name + "b"] = [:]
        sides[name + "a"] = [:]
      }
      last[name] = end
      #expect(String(message.int("E")!).count == 19)
      for side in ["b", "a"] {
        for level in message.pairs(side) {
          let price = exact(level[0], digits: Int(instrument.priceScale) + 3)! / 1_000
          let size = exact(level[1], digits: Int(instrument.sizeScale) + 3)! / 1_000
          sides[name + side]![price] = size == 0 ? nil : size
        }
      }
    }
    #expect(links > 40)
    for name in ["btcusd", "dogegusdperp"] {
      let book = venue.market.instruments.first { $0.instrument.venueSymbol == name }!.book
      #expect(levels(sides[name + "b"]!) { $0 < $1 } == book.bids, "seed \(seed) \(name)")
      #expect(levels(sides[name + "a"]!) { $0 > $1 } == book.asks, "seed \(seed) \(name)")
    }
  }

  @Test("how much of a book comes first is what the URL asks for; a newcomer's book costs nobody a link")
  func snapshots() throws {
    let venue = try makeVenue("gemini", rate: 60)
    let none = try TestClient(venue)
    let top = try TestClient(venue, query: [(name: "snapshot", value: "5")])
    let all = try TestClient(venue, query: Self.whole)
    for client in [none, top] { client.send(Self.request(1, "subscribe", ["ethusd@depth@100ms"])) }
    #expect(none.take() == [#"{"id":1,"status":200}"#])
    #expect(try parse(top.take()[0]).pairs("b").count == 5)
    venue.run(1.04, none, top)
    all.send(Self.request(1, "subscribe", ["ethusd@depth@100ms"]))
    #expect(try parse(all.take()[0]).pairs("b").count > 300)
    venue.run(1, none, top, all)
    for client in [none, top, all] {
      let messages = try client.texts.map(parse).filter { $0.string("e") == "depthUpdate" }
      #expect(messages.count > 5 && zip(messages, messages.dropFirst()).allSatisfy { $1.int("U") == $0.int("u") })
    }
    #expect(throws: SimulatedRefusal.self) { try TestClient(venue, query: [(name: "snapshot", value: "x")]) }
  }

  @Test("requests: echoed ids, one bad stream refuses all, methods that there are not")
  func requests() throws {
    let venue = try makeVenue("gemini", faults: ["refuse=ZEC-USD"])
    let client = try TestClient(venue, query: Self.whole)
    func answer(_ text: String) -> String {
      client.send(text)
      return client.take().last!
    }
    #expect(
      answer(Self.request(4, "subscribe", ["btcusd@trade", "zecusd@trade"]))
        == #"{"id":4,"status":400,"error":{"code":-1013,"msg":"Invalid stream name: zecusd@trade"}}"#)
    #expect(answer(#"{"id":"a","method":"list_subscriptions"}"#) == #"{"id":"a","status":200,"result":[]}"#)
    #expect(answer(Self.request(5, "subscribe", ["BTCUSD@bookTicker"])) == #"{"id":5,"status":200}"#)
    #expect(
      answer(#"{"id":6,"method":"list_subscriptions"}"#) == #"{"id":6,"status":200,"result":["btcusd@bookTicker"]}"#)
    #expect(answer(Self.request(7, "unsubscribe", ["btcusd@bookTicker"])) == #"{"id":7,"status":200}"#)
    #expect(answer(#"{"id":100,"method":"ping"}"#) == #"{"id":100,"status":200}"#)
    #expect(answer(#"{"id":11,"method":"sing"}"#).contains(#""code":-1020"#))
    let depth = try parse(answer(#"{"id":12,"method":"depth","params":{"symbol":"btcusd","limit":3}}"#)).object(
      "result")
    #expect(depth?.pairs("bids").count == 3 && depth?.int("lastUpdateId") != nil)
    #expect(answer("{").contains("Malformed"))
    venue.run(1, client)
    #expect(client.take().isEmpty)
  }

  @Test("trades and quotes tell the taker's side and the top of the book; a ping every twenty seconds")
  func tradesAndQuotes() throws {
    let venue = try makeVenue("gemini", rate: 60)
    let client = try TestClient(venue, query: Self.whole)
    client.send(Self.request(1, "subscribe", ["btcusd@trade", "btcusd@bookTicker"]))
    var truth: [Int: SimulatedTrade] = [:]
    for _ in 0..<2_100 {
      venue.run(0.01, client)
      for trade in venue.market.instruments[0].recentTrades { truth[Int(trade.id) * 7] = trade }
    }
    let messages = try client.take().dropFirst().map(parse)
    let trades = messages.filter { $0["t"] != nil }
    #expect(trades.count > 10)
    for message in trades {
      let trade = try #require(truth[message.int("t")!])
      #expect(message["m"] as? Bool == (trade.side == .sell))
      #expect(exact(message.string("p")!, digits: 5) == trade.price * 1_000)
    }
    let quote = try #require(messages.last { $0["B"] != nil })
    #expect(exact(quote.string("b")!, digits: 5) == venue.market.instruments[0].book.bestBid.map { $0.price * 1_000 })
    #expect(client.pings.count == 1)
  }

  @Test("REST: names, steps with exponents, a day, volumes, and no more than 120 a minute")
  func rest() throws {
    let venue = try makeVenue("gemini")
    func get(_ path: String) -> SimulatedResponse { venue.respond(path: path, query: []) }
    #expect(get("/v1/symbols").body.hasPrefix(#"["btcusd","btcgusdperp","ethusd""#))
    let details = get("/v1/symbols/details/btcgusdperp").body
    #expect(
      details.contains(#""tick_size":1E-8,"quote_increment":0.01,"#) && details.contains(#""contract_type":"linear""#))
    let day = try parse(get("/v2/ticker/btcusd").body)
    #expect((day["changes"] as? [String])?.count == 24)
    #expect(exact(day.string("high")!, digits: 2) == venue.market.instruments[0].day.high)
    let volume = try parse(get("/v1/pubticker/btcusd").body).object("volume")
    #expect(exact(volume!.string("BTC")!, digits: 8) == venue.market.instruments[0].day.volume)
    #expect(get("/v1/symbols/details/nope").status == 400)
    for _ in 0..<115 { #expect(get("/v1/symbols").status == 200) }
    #expect(get("/v1/symbols").status == 429)
    venue.run(61)
    #expect(get("/v1/symbols").status == 200)
  }
}
