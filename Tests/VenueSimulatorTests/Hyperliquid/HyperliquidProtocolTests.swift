import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Hyperliquid")
struct HyperliquidProtocolTests {
  private static func message(_ method: String, _ type: String, _ coin: String, _ more: String = "") -> String {
    #"{"method":"\#(method)","subscription":{"type":"\#(type)","coin":"\#(coin)"\#(more)}}"#
  }

  @Test("every book is whole, to its depth, in the digits of the market", arguments: testSeeds(3))
  func books(seed: UInt64) throws {
    let venue = try makeVenue("hyperliquid", seed: seed, rate: 60)
    let (fast, slow) = (try TestClient(venue), try TestClient(venue))
    fast.send(Self.message("subscribe", "l2Book", "BTC", #","fast":true"#))
    slow.send(Self.message("subscribe", "l2Book", "BTC"))
    let acknowledgement = try parse(fast.take()[0])
    #expect(acknowledgement.string("channel") == "subscriptionResponse")
    venue.run(6, fast, slow)
    let books = try (fast.take()).map(parse).compactMap { $0.object("data") }
    #expect((9...12).contains(books.count) && books.allSatisfy { $0["fast"] as? Bool == true })
    let whole = try slow.take().map(parse).filter { $0.string("channel") == "l2Book" }.compactMap { $0.object("data") }
    #expect(whole.count == 2 && whole.allSatisfy { $0["fast"] == nil })
    for (list, depth) in [(books, 5), (whole, 20)] {
      for book in list {
        let sides = book["levels"] as! [[[String: Any]]]
        #expect(sides.map(\.count) == [depth, depth])
        let prices = sides.map { $0.map { Double($0.string("px")!)! } }
        #expect(prices[0] == prices[0].sorted(by: >) && prices[1] == prices[1].sorted() && prices[0][0] < prices[1][0])
      }
    }
    let times = books.map { $0.int("time")! }
    #expect(times == times.sorted())
  }

  @Test("an unknown name ends the connection a moment later, without a word")
  func unknownName() throws {
    let venue = try makeVenue("hyperliquid", faults: ["refuse=ZEC-USDC-PERP"])
    for name in ["XYZ", "ZEC", "btc"] {
      let client = try TestClient(venue)
      client.send(Self.message("subscribe", "l2Book", "BTC"))
      client.send(Self.message("subscribe", "bbo", name))
      client.send(Self.message("subscribe", "bbo", "ETH"))
      #expect(client.take().allSatisfy { !$0.contains(name) && !$0.contains("ETH") })
      venue.run(0.2, client)
      #expect(client.isAborted && client.closed == nil)
      venue.close(client.session)
    }
  }

  @Test("refusals keep the connection; a subscription may be left and made again")
  func refusals() throws {
    let client = try TestClient(try makeVenue("hyperliquid"))
    func answer(_ text: String) throws -> String? {
      client.send(text)
      let message = try parse(client.take()[0])
      return message.string("channel") == "error" ? message.string("data") : nil
    }
    let subscribe = Self.message("subscribe", "trades", "BTC")
    #expect(try answer(subscribe) == nil)
    #expect(try answer(subscribe) == #"Already subscribed: {"type":"trades","coin":"BTC"}"#)
    #expect(try answer(Self.message("unsubscribe", "trades", "BTC")) == nil)
    #expect(try answer(Self.message("unsubscribe", "trades", "BTC"))?.hasPrefix("Already unsubscribed") == true)
    #expect(try answer("[]")?.hasPrefix("Error parsing JSON") == true)
    #expect(try answer(#"{"method":"ping"}"#) == nil && client.closed == nil)
  }

  @Test("the first message of trades repeats those before it, and no trade comes twice")
  func trades() throws {
    let venue = try makeVenue("hyperliquid", rate: 100)
    let client = try TestClient(venue)
    venue.run(1.02, client)
    client.send(Self.message("subscribe", "trades", "BTC"))
    venue.run(3, client)
    let frames = try client.take().map(parse).filter { $0.string("channel") == "trades" }.map { $0.objects("data") }
    #expect(frames[0].count >= 20)
    let ids = frames.flatMap { $0 }.map { $0.int("tid")! }
    #expect(ids == ids.sorted() && Set(ids).count == ids.count && ids.last! - ids.first! == ids.count - 1)
  }

  @Test("lists and books that are asked for, and what is not known")
  func posts() throws {
    let client = try TestClient(try makeVenue("hyperliquid"))
    func payload(_ text: String) throws -> [String: Any]? {
      client.send(#"{"method":"post","id":4,"request":{"type":"info","payload":\#(text)}}"#)
      let data = try parse(client.take()[0]).object("data")
      #expect(data?.int("id") == 4)
      return data?.object("response")?.object("payload")
    }
    let perpetuals = try payload(#"{"type":"meta"}"#)?.object("data")?.objects("universe")
    #expect(perpetuals?.first?.string("name") == "BTC" && perpetuals?.first?.int("szDecimals") == 5)
    let spots = try payload(#"{"type":"spotMeta"}"#)?.object("data")
    #expect(spots?.objects("universe").count == 4 && spots?.objects("tokens").count == 5)
    let book = try payload(#"{"type":"l2Book","coin":"BTC"}"#)?.object("data")
    #expect((book?["levels"] as? [[Any]])?.map(\.count) == [20, 20])
    #expect(try payload(#"{"type":"l2Book","coin":"XYZ"}"#) == nil)
  }

  @Test("the same by POST, without a frame around it")
  func info() throws {
    let venue = try makeVenue("hyperliquid")
    func post(_ text: String, path: String = "/info") -> SimulatedResponse {
      Array(text.utf8).withUnsafeBytes { venue.respond(path: path, body: RawSpan(_unsafeBytes: $0)) }
    }
    func json(_ text: String) throws -> Any {
      let response = post(text)
      #expect(response.status == 200, "\(text)")
      return try JSONSerialization.jsonObject(with: Data(response.body.utf8))
    }
    for (type, count) in [("meta", 8), ("spotMeta", 4)] {
      let list = try json(#"{"type":"\#(type)"}"#) as? [String: Any]
      #expect(list?.objects("universe").count == count)
      let pair = try json(#"{"type":"\#(type)AndAssetCtxs"}"#) as? [Any]
      #expect((pair?[0] as? [String: Any])?.objects("universe").count == count)
      let contexts = try #require(pair?[1] as? [[String: Any]])
      #expect(contexts.count == count && contexts.allSatisfy { Double($0.string("midPx") ?? "") ?? 0 > 0 })
    }
    let book = try json(#"{"type":"l2Book","coin":"BTC"}"#) as? [String: Any]
    #expect((book?["levels"] as? [[Any]])?.map(\.count) == [20, 20])
    #expect((try json(#"{"type":"allMids"}"#) as? [String: String])?.count == 12)
    #expect((try json(#"{"type":"perpDexs"}"#) as? [Any])?.count == 1)
    for bad in [#"{"type":"l2Book","coin":"XYZ"}"#, #"{"type":"sing"}"#, "", "[]"] { #expect(post(bad).status == 422) }
    #expect(post("{}", path: "/exchange").status == 404)
    try venue.inject(Fault(parsing: "ban=60"))
    #expect(post(#"{"type":"meta"}"#).status == 429)
  }

  @Test("too many messages in a minute end the connection, and so does a minute in which nothing was sent")
  func limits() throws {
    let venue = try makeVenue("hyperliquid")
    let client = try TestClient(venue)
    for _ in 0..<2_000 { client.send(#"{"method":"ping"}"#) }
    #expect(client.closed == nil)
    client.send(#"{"method":"ping"}"#)
    #expect(client.closed == 1008)
    let quiet = try TestClient(venue)
    venue.run(59, quiet)
    #expect(!quiet.isAborted)
    venue.run(2, quiet)
    #expect(quiet.isAborted)
  }
}
