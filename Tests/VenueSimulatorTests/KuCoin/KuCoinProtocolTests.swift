import Foundation
import MarketData
import Testing

@testable import VenueSimulator

@Suite("KuCoin, simulated")
struct KuCoinProtocolTests {
  private static func request(
    _ channel: String, _ symbol: String, depth: String? = nil, action: String = "subscribe", type: String = "SPOT"
  ) -> String {
    let tail = depth.map { #","depth":"\#($0)""# } ?? ""
    return
      #"{"id":"7","action":"\#(action)","channel":"\#(channel)","tradeType":"\#(type)","symbol":"\#(symbol)"\#(tail)}"#
  }

  @Test("a welcome, an acknowledgement, a while, a snapshot, and changes that link")
  func book() throws {
    let venue = try makeVenue("kucoin")
    #expect(venue.venueProtocol.sendsBinary)
    let client = try TestClient(venue)
    #expect(try parse(client.take()[0]).string("message") == "welcome")
    client.send(Self.request("obu", "ETH-USDT", depth: "increment@10ms"))
    #expect(client.take() == [#"{"id":"7","result":true}"#])
    venue.run(30, client)
    let messages = try client.take().map(parse)
    let first = try #require(messages.first)
    #expect(first.string("t") == "snapshot" && first.string("T") == "obu.SPOT")
    let whole = try #require(first.object("d"))
    #expect(whole.pairs("a").count == 500 && whole.int("O") == whole.int("C"))
    var last = try #require(whole.int("C"))
    // The first number of the message before: one that overlaps tells all of that again.
    var before = last
    var overlaps = 0
    #expect(messages.count > 100)
    for message in messages.dropFirst() {
      let data = try #require(message.object("d"))
      let start = try #require(data.int("O"))
      #expect(message.string("t") == "delta" && (start == last + 1 || start == before))
      #expect(!data.pairs("a").isEmpty || !data.pairs("b").isEmpty, "no empty change")
      if start == before { overlaps += 1 }
      before = start
      last = try #require(data.int("C"))
    }
    #expect(overlaps > 0)
    client.send(Self.request("obu", "ETH-USDT", depth: "increment@10ms", action: "unsubscribe"))
    _ = client.take()
    venue.run(2, client)
    #expect(client.take().isEmpty)
  }

  @Test(
    "what falls out of the 500 levels goes a message late, of one market and not of the other",
    arguments: ["BTC", "ETH"])
  func fallsOut(base: String) throws {
    let venue = try makeVenue("kucoin")
    let client = try TestClient(venue)
    client.send(Self.request("obu", "\(base)-USDT", depth: "increment@10ms"))
    venue.run(30, client)
    var asks: Set<String> = []
    var most = 0
    for message in try client.take().map(parse) {
      guard let data = message.object("d") else { continue }
      for level in data.pairs("a") {
        if level[1] == "0" { asks.remove(level[0]) } else { asks.insert(level[0]) }
      }
      most = max(most, asks.count)
    }
    #expect(base == "BTC" ? (501...510).contains(most) : most == 500)
  }

  @Test("what is refused, what is acknowledged and silent, and what is not answered")
  func refusals() throws {
    let venue = try makeVenue("kucoin", faults: ["refuse=BTC-USDT"])
    let client = try TestClient(venue)
    _ = client.take()
    func answer(_ text: String) throws -> [String: Any]? {
      client.send(text)
      return try client.take().first.map(parse)
    }
    let depth = "increment@10ms"
    #expect(try answer(Self.request("obu", "BTC-USDT", depth: "20"))?.string("message") == "invalid request data")
    #expect(try answer(Self.request("nope", "BTC-USDT"))?.string("message") == "invalid request data")
    #expect(
      try answer(Self.request("obu", "BTC-USDT", depth: depth, type: "FUTURES"))?.string("reason")?.contains(
        "not allowed")
        == true)
    #expect(
      try answer(
        #"{"id":"1","action":"SUBSCRIBE","channel":"obu","tradeType":"SPOT","symbols":["BTC-USDT"],"depth":"increment@10ms"}"#
      )?.string("reason") == "symbols are not supported for topic obu")
    for symbol in ["NOPE-USDT", "BTC-USDT"] {
      #expect(try answer(Self.request("obu", symbol, depth: depth))?["result"] as? Bool == true)
    }
    #expect(try answer("not json") == nil)
    venue.run(5, client)
    #expect(client.take().isEmpty && client.closed == nil)
  }

  @Test(
    "more than a hundred messages in ten seconds, or two pings in one, end it; without a word it is cut after a minute")
  func limits() throws {
    let venue = try makeVenue("kucoin")
    let flooding = try TestClient(venue)
    for _ in 0..<101 { flooding.send(Self.request("trade", "NOPE-USDT")) }
    #expect(flooding.closed == 1008)
    let pinging = try TestClient(venue)
    pinging.send(#"{"id":"1","type":"ping"}"#)
    #expect(pinging.take().last?.hasPrefix(#"{"type":"pong","id":"1","ts":"#) == true)
    pinging.send(#"{"id":"2","type":"ping"}"#)
    #expect(pinging.closed == 1008)
    let silent = try TestClient(venue)
    venue.run(59, silent)
    #expect(!silent.isAborted)
    venue.run(2, silent)
    #expect(silent.isAborted)
    var statuses: Set<Int> = []
    for _ in 0..<600 { statuses.insert(venue.respond(path: "/api/v2/symbols", query: []).status) }
    #expect(statuses == [200, 429])
  }
}
