import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Crypto.com")
struct CryptoComProtocolTests {
  private static func request(_ channels: String..., method: String = "subscribe", more: String = books) -> String {
    let list = channels.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"id":7,"method":"\#(method)","params":{"channels":[\#(list)]\#(more)},"nonce":1}"#
  }
  /// What came on channels, without answers and heartbeats.
  private static func results(_ client: TestClient) throws -> [[String: Any]] {
    try client.take().compactMap { try parse($0).object("result") }
  }
  private static let books = #","book_subscription_type":"SNAPSHOT_AND_UPDATE","book_update_frequency":10"#

  @Test("an acknowledgement, a second later the book, then changes that name the number before theirs")
  func books() throws {
    let venue = try makeVenue("crypto-com", rate: 100)
    let client = try TestClient(venue)
    client.send(Self.request("book.ETHUSD-PERP.50"))
    #expect(client.take() == [#"{"id":7,"method":"subscribe","code":0,"channel":"book.ETHUSD-PERP.50"}"#])
    venue.run(0.9, client)
    #expect(client.take().isEmpty)
    venue.run(5, client)
    var last = 0
    var (bids, asks) = ([String: String](), [String: String]())
    let messages = try Self.results(client)
    #expect(messages.first?.string("channel") == "book" && messages.count > 50)
    for message in messages {
      let data = try #require(message.objects("data").first)
      let sides = message.string("channel") == "book" ? data : try #require(data.object("update"))
      if last > 0 { #expect(data.int("pu") == last) } else { #expect(data["pu"] == nil) }
      last = try #require(data.int("u"))
      for level in sides.pairs("bids") { bids[level[0]] = level[1] == "0" ? nil : level[1] }
      for level in sides.pairs("asks") { asks[level[0]] = level[1] == "0" ? nil : level[1] }
      #expect(bids.count == 50 && asks.count == 50)
    }
    client.send(Self.request("book.ETHUSD-PERP.50", method: "unsubscribe"))
    _ = client.take()
    venue.run(2, client)
    #expect(client.take().allSatisfy { $0.contains("public/heartbeat") })
  }

  @Test("a quiet book says so each 5 s")
  func idle() throws {
    let venue = try makeVenue("crypto-com", rate: 0.0001)
    let client = try TestClient(venue)
    client.send(Self.request("book.ETHUSD-PERP.50"))
    venue.run(17, client)
    let data = try Self.results(client).dropFirst().map { try #require($0.objects("data").first) }
    #expect(data.count == 3 && data.allSatisfy { $0.int("u") == $0.int("pu") })
    #expect(data.allSatisfy { $0.object("update")?.pairs("bids").isEmpty == true })
  }

  @Test("how trades and tickers begin: with an answer, or with the request's number")
  func beginnings() throws {
    let venue = try makeVenue("crypto-com", rate: 100)
    let client = try TestClient(venue)
    client.send(Self.request("trade.BTC_USD", "trade.BTCUSD-PERP", "ticker.BTC_USD", more: ""))
    let first = try client.take().map(parse)
    #expect(first.map { $0.int("id") } == [7, 7, 7] && first[0].string("channel") == "trade.BTC_USD")
    #expect(first[1].object("result")?.objects("data").count == 3)
    #expect(first[2].object("result")?.string("channel") == "ticker")
    venue.run(5, client)
    let later = try client.take().filter { !$0.contains("public/heartbeat") }.map(parse)
    #expect(later.allSatisfy { $0.int("id") == -1 } && later.count > 20)
    for data in later.compactMap({ $0.object("result")?.objects("data") }) where data.count > 1 {
      let ids = data.compactMap { $0.string("d") }
      #expect(ids == ids.sorted(by: >), "the newest first")
    }
  }

  @Test("a heartbeat every 30 s; the third one that is not answered ends the connection")
  func heartbeats() throws {
    let venue = try makeVenue("crypto-com")
    let (good, bad) = (try TestClient(venue), try TestClient(venue))
    var beats = 0
    for _ in 0..<1_200 {
      venue.run(0.1, good, bad)
      for text in good.take() where text.contains("public/heartbeat") {
        beats += 1
        good.send(#"{"id":\#(try parse(text).int("id")!),"method":"public/respond-heartbeat"}"#)
      }
    }
    #expect(good.closed == nil && bad.closed == 1000 && beats == 4)
  }

  @Test("what is refused, and with which words")
  func refusals() throws {
    let venue = try makeVenue("crypto-com", faults: ["refuse=ETH-USD"])
    let client = try TestClient(venue)
    func message(_ text: String) throws -> String? {
      client.send(text)
      return try client.take().last.flatMap { try parse($0).string("message") }
    }
    #expect(try message(Self.request("book.ETH_USD.50")) == "Unknown symbol")
    #expect(try message(Self.request("trade.NOPE_USD")) == "Unknown symbol")
    #expect(try message(Self.request("nope.BTC_USD")) == "Unrecognized channel")
    #expect(try message(Self.request("book.BTC_USD.20")) == "Invalid depth")
    #expect(try message(Self.request("book.BTC_USD.150")) == "Unsupported depth/interval combination")
    #expect(try message(Self.request("book.BTC_USD.50", more: "")) == "Invalid book_subscription_type")
    #expect(try message(Self.request(method: "public/nope")) == "No such method")
    #expect(try message("not json") == nil)
    #expect(throws: SimulatedRefusal.self) { try TestClient(venue, path: "/") }
  }

  @Test("more than 100 requests a second end it")
  func limits() throws {
    let client = try TestClient(try makeVenue("crypto-com"))
    for _ in 0..<101 { client.send(Self.request("ticker.BTC_USD")) }
    #expect(client.take().last?.contains("TOO_MANY_REQUESTS") == true && client.closed == 1008)
  }
}
