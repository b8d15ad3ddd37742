import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator

/// A Bitfinex book kept from the raw text by the venue's rules, and its checksum, without the house's own means.
private struct BitfinexBook {
  /// Price and amount as printed.
  var bids: [(price: String, amount: String)] = []
  var asks: [(price: String, amount: String)] = []

  mutating func apply(_ price: String, _ count: String, _ amount: String) {
    let isBid = !amount.hasPrefix("-")
    func change(_ side: inout [(price: String, amount: String)], _ isBetter: (Double, Double) -> Bool) {
      side.removeAll { Double($0.price)! == Double(price)! }
      if count != "0" { side.append((price, amount)) }
      side.sort { isBetter(Double($0.price)!, Double($1.price)!) }
    }
    if isBid { change(&bids) { $0 > $1 } } else { change(&asks) { $0 < $1 } }
  }

  /// CRC-32 bit by bit.
  var checksum: Int32 {
    var parts: [String] = []
    for rank in 0..<25 {
      if rank < bids.count { parts += [bids[rank].price, bids[rank].amount] }
      if rank < asks.count { parts += [asks[rank].price, asks[rank].amount] }
    }
    var crc: UInt32 = ~0
    for byte in parts.joined(separator: ":").utf8 {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
    }
    return Int32(bitPattern: ~crc)
  }
}

@Suite("Simulated Bitfinex", .longComputation)
struct BitfinexProtocolTests {
  private static func subscribe(_ channel: String, _ symbol: String, length: Int = 100) -> String {
    let book = channel == "book" ? #","prec":"P0","freq":"F0","len":"\#(length)""# : ""
    return #"{"event":"subscribe","channel":"\#(channel)","symbol":"\#(symbol)"\#(book)}"#
  }

  private static func elements(_ text: String) throws -> [Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [Any])
  }

  private static func code(_ text: String?) throws -> Int? { try text.flatMap { try parse($0).int("code") } }

  @Test("info at once; flags, subscriptions and their first messages, in the venue's words")
  func subscriptions() throws {
    let client = try TestClient(makeVenue("bitfinex"))
    #expect(try parse(client.take()[0]).object("platform")?.int("status") == 1)
    client.send(#"{"event":"conf","flags":229376}"#)
    #expect(client.take() == [#"{"event":"conf","status":"OK","flags":229376}"#])
    client.send(Self.subscribe("book", "tDOGE:USD"))
    let texts = client.take().filter { !$0.contains(#""hb""#) }
    let reply = try parse(texts[0])
    #expect(reply.string("event") == "subscribed" && reply.string("pair") == "DOGE:USD" && reply.string("len") == "100")
    let snapshot = try Self.elements(texts[1])
    #expect(snapshot[0] as? Int == reply.int("chanId") && snapshot.count == 4)
    let levels = try #require(snapshot[1] as? [[Any]])
    #expect(levels.count == 200 && levels.allSatisfy { $0.count == 3 })
    client.send(Self.subscribe("trades", "tBTCUST"))
    let trades = try #require(try Self.elements(client.take().last!)[1] as? [[Any]])
    #expect(trades.count == 30 && (trades[0][0] as? Int ?? 0) > (trades[29][0] as? Int ?? 0), "newest first")
    client.send(Self.subscribe("ticker", "tBTCUSD"))
    #expect((try Self.elements(client.take().last!)[1] as? [Any])?.count == 11)
    client.send(#"{"event":"ping","cid":1234}"#)
    #expect(try parse(client.take()[0]).int("cid") == 1234)
  }

  @Test(
    "a book by the venue's rules is the market's at every message, and so is its checksum; nothing is missing in the count"
  )
  func books() throws {
    let venue = try makeVenue("bitfinex", rate: 60)
    let client = try TestClient(venue)
    client.send(#"{"event":"conf","flags":196608}"#)
    client.send(Self.subscribe("book", "tBTCUSD"))
    client.send(Self.subscribe("book", "tETHUSD"))
    client.send(Self.subscribe("trades", "tBTCUSD"))
    venue.run(30, client)
    var books: [Int: BitfinexBook] = [:]
    var channels: [Int: (channel: String, symbol: String)] = [:]
    var count = 0
    var checksums = 0
    var te: [Int] = []
    var tu: [Int] = []
    for text in client.texts {
      if text.hasPrefix("{") {
        let reply = try parse(text)
        if let number = reply.int("chanId") { channels[number] = (reply.string("channel")!, reply.string("symbol")!) }
        continue
      }
      let elements = try Self.elements(text)
      let number = elements[0] as! Int
      count += 1
      #expect(elements.last as? Int == count, "\(text)")
      switch elements[1] as? String {
      case "te": te.append((elements[2] as! [Any])[0] as! Int)
      case "tu": tu.append((elements[2] as! [Any])[0] as! Int)
      case "cs":
        checksums += 1
        #expect(books[number]!.checksum == Int32(elements[2] as! Int))
      case "hb": break
      default:
        guard channels[number]?.channel == "book" else { continue }
        for level in text.matches(of: /\[([0-9.e-]+),([0-9]+),([0-9.e-]+)\]/) {
          books[number, default: BitfinexBook()].apply(String(level.1), String(level.2), String(level.3))
        }
      }
    }
    #expect(checksums > 10 && te.count > 5 && tu == Array(te.prefix(tu.count)) && te.count - tu.count < 10)
    for (number, book) in books {
      let market = try #require(
        venue.market.instruments.first { $0.instrument.venueSymbol == channels[number]!.symbol })
      #expect(
        book.bids.map { Double($0.price)! * pow(10, Double(market.instrument.priceScale)) }.map { Int64($0.rounded()) }
          == market.book.top(.bid, 100).map(\.price))
      #expect(book.asks.map { Int64((-Double($0.amount)! * 1e8).rounded()) } == market.book.top(.ask, 100).map(\.size))
    }
  }

  @Test("a heartbeat for each channel every 15 s; an idle connection is cut after a minute")
  func heartbeats() throws {
    let venue = try makeVenue("bitfinex")
    let client = try TestClient(venue)
    let idle = try TestClient(venue)
    client.send(Self.subscribe("ticker", "tLTCUSD"))
    _ = client.take()
    venue.run(46, client, idle)
    #expect(client.take().count { $0.contains(#""hb""#) } == 3 && !idle.isAborted)
    venue.run(15, client, idle)
    #expect(idle.isAborted && !client.isAborted)
  }

  @Test("refusals and limits, with what the venue says")
  func refusals() throws {
    let venue = try makeVenue("bitfinex", faults: ["refuse=ZEC-USD"])
    let client = try TestClient(venue)
    _ = client.take()
    client.send(Self.subscribe("book", "tNOPE", length: 25))
    #expect(
      client.take() == [
        #"{"channel":"book","symbol":"tNOPE","prec":"P0","len":"25","event":"error","msg":"symbol: invalid","code":10300,"pair":"NOPE"}"#
      ])
    client.send(Self.subscribe("trades", "tZECUSD"))
    #expect(try Self.code(client.take().last) == 10_300)
    client.send(Self.subscribe("trades", "tBTCUSD"))
    client.send(Self.subscribe("trades", "tBTCUSD"))
    #expect(try Self.code(client.take().last) == 10_301)
    client.send(#"{"event":"unsubscribe","chanId":5}"#)
    #expect(try Self.code(client.take().last) == 10_400)
    client.send(#"{"event":"hello"}"#)
    #expect(try Self.code(client.take().last) == 10_000)
    client.send("no json")
    #expect(client.take().isEmpty)
    for symbol in venue.market.instruments.map(\.instrument.venueSymbol) where symbol != "tZECUSD" {
      for length in [1, 25, 100, 250] { client.send(Self.subscribe("book", symbol, length: length)) }
    }
    client.send(Self.subscribe("ticker", "tBTCUSD"))
    client.send(Self.subscribe("ticker", "tETHUSD"))
    client.send(Self.subscribe("ticker", "tSOLUSD"))
    client.send(Self.subscribe("ticker", "tXRPUSD"))
    #expect(try Self.code(client.take().last) == 10_305)
    for _ in 0..<19 { _ = try TestClient(venue) }
    #expect(throws: SimulatedRefusal(status: 429, reason: "Too Many Requests")) { try TestClient(venue) }
    venue.run(61)
    #expect(try TestClient(venue).texts.count == 1)
  }

  @Test("a number that was left is given again, and the channel behind it is another")
  func numbers() throws {
    let client = try TestClient(makeVenue("bitfinex"))
    var given: [Int] = []
    for symbol in ["tBTCUSD", "tETHUSD", "tSOLUSD"] {
      client.send(Self.subscribe("ticker", symbol))
      let reply = try #require(client.take().last { $0.contains("subscribed") })
      given.append(try #require(try parse(reply).int("chanId")))
      client.send(#"{"event":"unsubscribe","chanId":\#(given.last!)}"#)
      #expect(client.take().last == #"{"event":"unsubscribed","status":"OK","chanId":\#(given.last!)}"#)
    }
    #expect(given[2] == given[1])
  }

  @Test(
    "a restart is announced and comes; the other time maintenance, during which nothing is told and after which the old is wrong"
  )
  func announcements() throws {
    let venue = try makeVenue("bitfinex", rate: 60)
    let first = try TestClient(venue)
    try venue.inject(Fault(.plannedShutdown))
    #expect(try Self.code(first.take().last) == 20_051)
    venue.run(1.1, first)
    #expect(first.closed == 1001)
    venue.close(first.session)
    let second = try TestClient(venue)
    second.send(Self.subscribe("book", "tBTCUSD"))
    try venue.inject(Fault(.plannedShutdown))
    #expect(try Self.code(second.take().last) == 20_060)
    venue.run(0.4, second)
    #expect(second.take().isEmpty)
    #expect(try parse(try TestClient(venue).texts[0]).object("platform")?.int("status") == 0)
    venue.run(0.2, second)
    #expect(try Self.code(second.take().first) == 20_061)
  }

  @Test("a wrong checksum is still a checksum; stale snapshots cannot be had")
  func faults() throws {
    let venue = try makeVenue("bitfinex", rate: 60, faults: ["checksum=BTC-USD"])
    let struck = try TestClient(venue)
    struck.send(#"{"event":"conf","flags":131072}"#)
    struck.send(Self.subscribe("book", "tBTCUSD"))
    venue.run(3, struck)
    let whole = try makeVenue("bitfinex", rate: 60)
    let client = try TestClient(whole)
    client.send(#"{"event":"conf","flags":131072}"#)
    client.send(Self.subscribe("book", "tBTCUSD"))
    whole.run(3, client)
    let wrong = try #require(struck.texts.first { $0.contains(#""cs""#) })
    let right = try #require(client.texts.first { $0.contains(#""cs""#) })
    let value = try #require(try Self.elements(wrong)[2] as? Int)
    #expect(wrong != right && Int32(exactly: value) != nil)
    #expect(throws: FaultError.self) { try venue.inject(Fault(.staleSnapshot)) }
  }

  @Test("REST: pairs, currencies' names and sizes, several in one answer")
  func lists() throws {
    let venue = try makeVenue("bitfinex", faults: ["refuse=ZEC-USD"])
    func get(_ path: String) throws -> [Any] { try Self.elements(venue.respond(path: path, query: []).body) }
    let both = try get("/v2/conf/pub:list:pair:exchange,pub:map:currency:sym")
    #expect((both[0] as? [String])?.contains("BTCUST") == true && (both[0] as? [String])?.contains("ZECUSD") == false)
    #expect((both[1] as? [[String]])?.contains(["UST", "USDt"]) == true)
    #expect((try get("/v2/conf/pub:info:pair")[0] as? [[Any]])?.first?.first as? String == "BTCUSD")
    #expect((try get("/v2/conf/pub:list:currency")[0] as? [String])?.contains("UST") == true)
    #expect(venue.respond(path: "/v2/nothing", query: []).status == 404)
  }
}
