import Bytes
import Foundation
import MarketData
import PubSub
import TestSupport
import Testing

@testable import Compatibility

@Suite("Kraken v2")
struct KrakenTests {
  private static func subscribe(_ channel: String, _ more: String = "", _ symbol: String = "BTC/USD") -> String {
    #"{"method":"subscribe","params":{"channel":"\#(channel)","symbol":["\#(symbol)"]\#(more)},"req_id":7}"#
  }

  @Test("every message, as a client gets it")
  func golden() throws {
    let world = DialectWorld()
    world.open()
    let client = world.connect("/compat/kraken/v2")
    var golden = Golden()
    golden.note("connected", client.news())
    golden.note("ping", client.send(#"{"method":"ping","req_id":1}"#))
    golden.note("ping without id", client.send(#"{"method":"ping"}"#))
    golden.note("book", client.send(Self.subscribe("book", #","depth":10"#)))
    world.book(.delta, bids: [(640_000, 0), (639_990, 70_000_000)], asks: [(640_001, 130_000_000)])
    world.settle()
    golden.note("book, a level goes and another comes into view", Array(client.news().suffix(1)))
    golden.note("trade", client.send(Self.subscribe("trade")))
    _ = client.news()
    world.trade(TradeID(18), 640_006, 500_000, .sell)
    world.settle()
    golden.note("a trade", client.news())
    golden.note("ticker", client.send(Self.subscribe("ticker", #","event_trigger":"bbo""#)))
    golden.note("ohlc", client.send(Self.subscribe("ohlc", #","interval":1"#)))
    _ = client.news()
    world.trade(TradeID(19), 640_011, 500_000, .sell)
    world.run(milliseconds: 200)
    golden.note("ticker and ohlc after a trade", client.news().filter { !$0.contains(#""trade","#) })
    golden.note("instrument", client.send(#"{"method":"subscribe","params":{"channel":"instrument"}}"#))
    golden.note("unsubscribe", client.send(Self.subscribe("book").replacing("subscribe", with: "unsubscribe")))
    golden.note("unknown pair", client.send(Self.subscribe("book", "", "NONE/USD")))
    golden.note("unknown channel", client.send(Self.subscribe("level3")))
    golden.note("unknown depth", client.send(Self.subscribe("book", #","depth":11"#)))
    golden.note("unknown interval", client.send(Self.subscribe("ohlc", #","interval":30"#)))
    golden.note("unknown method", client.send(#"{"method":"add_order","req_id":3}"#))
    golden.note("no JSON", client.send("hello"))
    _ = client.news()
    world.run(milliseconds: 3_000)
    golden.note("a quiet time", Array(client.news().filter { $0.contains("heartbeat") }.prefix(1)))
    try golden.check("kraken")
  }

  @Test(
    "the checksum of each update is that of the book that a client builds, whatever happens", arguments: testSeeds(6))
  func checksums(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let world = DialectWorld()
    world.open()
    let depth = [10, 25, 100].randomElement(using: &random) ?? 10
    let client = world.connect("/compat/kraken/v2")
    client.send(Self.subscribe("book", #","depth":\#(depth)"#))
    var book = KrakenBookClient(depth: depth)
    for _ in 0..<400 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: world.loseSync()
      case 1: world.open()
      default:
        let bids = (0..<Int.random(in: 0..<6, using: &random)).map { _ in
          (639_900 + Int64.random(in: 0...100, using: &random), Int64.random(in: 0...3, using: &random) * 1_000_000)
        }
        let asks = (0..<Int.random(in: 0..<6, using: &random)).map { _ in
          (640_001 + Int64.random(in: 0...100, using: &random), Int64.random(in: 0...3, using: &random) * 1_000_000)
        }
        world.book(.delta, bids: bids, asks: asks)
      }
      world.settle()
      for message in client.news() where message.hasPrefix(#"{"channel":"book""#) { try book.take(message) }
      guard world.state.bookState == .live else { continue }
      let digits = { (level: PriceLevel) in "\(level.price):\(level.size)" }
      #expect(book.bids.map(digits) == world.state.book.bids.suffix(depth).reversed().map(digits))
      #expect(book.asks.map(digits) == world.state.book.asks.suffix(depth).reversed().map(digits))
    }
    #expect(book.updates > 100)
    #expect(book.wrongChecksums == 0)
  }

  @Test("a level that is wrong shows in the checksum")
  func wrongLevel() throws {
    let world = DialectWorld()
    world.open()
    let client = world.connect("/compat/kraken/v2")
    client.send(Self.subscribe("book"))
    var book = KrakenBookClient(depth: 10)
    for message in client.news() where message.hasPrefix(#"{"channel":"book""#) { try book.take(message) }
    world.book(.delta, bids: [(640_000, 70_000_000)], asks: [])
    world.settle()
    let update = try #require(client.news().last)
    try book.take(update.replacing("0.70000000", with: "0.70000001"))
    #expect(book.wrongChecksums == 1)
  }

  @Test("a second client gets the state that the first one has, and the same messages from then on")
  func shared() throws {
    let world = DialectWorld()
    world.open()
    let clients = [world.connect("/compat/kraken/v2"), world.connect("/compat/kraken/v2")]
    clients[0].send(Self.subscribe("book"))
    world.book(.delta, bids: [(639_998, 1_000_000)], asks: [])
    clients[1].send(Self.subscribe("book"))
    for client in clients { _ = client.news() }
    world.book(.delta, bids: [(639_997, 1_000_000)], asks: [])
    world.settle()
    let news = clients.map { $0.news() }
    #expect(news[0].count == 1)
    #expect(news[0] == news[1])
  }

  @Test("simulated prices are refused unless they are allowed, by name")
  func simulated() throws {
    let world = DialectWorld(source: .simulated)
    var settings = CompatibilitySettings()
    settings[.kraken] = true
    let client = world.connect("/compat/kraken/v2", settings)
    let answer = try json(try #require(client.send(Self.subscribe("book")).first))
    #expect(answer["success"] as? Bool == false)
    #expect((answer["error"] as? String)?.contains("compat.allow-simulated") == true)
  }

  @Test(
    "a client whose data is not live gets nothing, then the connection ends",
    arguments: [FeedState.stale, .reconnecting])
  func notLive(state: FeedState) throws {
    let world = DialectWorld()
    world.open()
    let client = world.connect("/compat/kraken/v2")
    client.send(Self.subscribe("book"))
    world.run(milliseconds: 2_000)
    _ = client.news()
    world.hub.feeds[0].state = state
    world.run(milliseconds: 9_000)
    #expect(client.news() == [])
    #expect((client.end != nil) == (state == .stale))
    world.run(milliseconds: 3_000)
    #expect(client.end?.code == 1001)
    #expect(client.end?.reason.contains(state.rawValue) == true)
  }

  @Test("a client stays if its data is live again in time")
  func liveAgain() {
    let world = DialectWorld()
    world.open()
    let client = world.connect("/compat/kraken/v2")
    client.send(Self.subscribe("book"))
    for _ in 0..<3 {
      world.hub.feeds[0].state = .reconnecting
      world.run(milliseconds: 8_000)
      world.hub.feeds[0].state = .live
      world.run(milliseconds: 2_000)
    }
    #expect(client.end == nil)
  }

  @Test("a slow client of a book begins again with a snapshot; one of trades reconnects")
  func slow() throws {
    var limits = ClientLimits()
    limits.queuedEvents = 20
    let world = DialectWorld(limits: limits)
    world.open()
    let client = world.connect("/compat/kraken/v2")
    client.send(Self.subscribe("book"))
    let trades = world.connect("/compat/kraken/v2")
    trades.send(Self.subscribe("trade"))
    for client in world.clients {
      _ = client.news()
      client.isStuck = true
    }
    for index in 0..<300 {
      world.book(.delta, bids: [(640_000, 1_000_000 + Int64(index))], asks: [])
      world.trade(TradeID(UInt64(100 + index)), 640_001)
      world.hub.removeDirty()
    }
    for client in world.clients { client.isStuck = false }
    world.settle()
    world.run(milliseconds: 300)
    let books = client.news().filter { $0.hasPrefix(#"{"channel":"book""#) }
    #expect(books.count < 20)
    #expect(books.contains { $0.contains(#""type":"snapshot""#) })
    #expect(client.end == nil)
    #expect(trades.end?.code == 1008)
    #expect(trades.news().allSatisfy { !$0.contains(#""type":"notice""#) })
  }

  @Test("requests of other protocols and of ours are refused, and close nothing")
  func foreign() {
    let world = DialectWorld()
    let client = world.connect("/compat/kraken/v2")
    _ = client.news()
    let answers = client.send(#"{"op":"subscribe","streams":[{"channel":"book","symbols":["kraken:BTC-USD"]}]}"#)
    #expect(answers.count == 1)
    #expect(answers.first?.contains("Missing field: 'method'") == true)
    #expect(client.end == nil)
  }

  @Test("a grant that allows one market gets no other")
  func grant() throws {
    let world = DialectWorld()
    let grant = Grant(subject: "desk", symbols: [try #require(SymbolRules(["kraken:ETH-USD"]))])
    let client = world.connect("/compat/kraken/v2", grant: grant)
    #expect(client.send(Self.subscribe("book")).first?.contains(#""success":false"#) == true)
    #expect(client.send(Self.subscribe("book", "", "ETH/USD")).first?.contains(#""success":true"#) == true)
    let list = client.send(#"{"method":"subscribe","params":{"channel":"instrument"}}"#).last
    #expect(list?.contains("BTC/USD") == false)
  }
}

/// A client's book by Kraken's rules ("Spot WebSockets (v2) – Book Checksum"): it applies each level, cuts to the
/// depth, and checks the sum over the digits as they were printed.
struct KrakenBookClient {
  let depth: Int
  private(set) var bids: [PriceLevel] = []
  private(set) var asks: [PriceLevel] = []
  private(set) var updates = 0
  private(set) var wrongChecksums = 0

  init(depth: Int) { self.depth = depth }

  mutating func take(_ message: String) throws {
    let decoded = try json(message)
    let data = try #require((decoded["data"] as? [[String: Any]])?.first)
    if decoded["type"] as? String == "snapshot" { (bids, asks) = ([], []) }
    Self.apply(Self.levels(in: message, "bids"), to: &bids, isBid: true, depth: depth)
    Self.apply(Self.levels(in: message, "asks"), to: &asks, isBid: false, depth: depth)
    updates += 1
    let text = (asks.prefix(10) + bids.prefix(10)).map { "\($0.price)\($0.size)" }.joined()
    if (data["checksum"] as? NSNumber)?.uint32Value != Self.crc(Array(text.utf8)) { wrongChecksums += 1 }
  }

  private static func apply(_ levels: [PriceLevel], to side: inout [PriceLevel], isBid: Bool, depth: Int) {
    // python-kraken-sdk cuts after each level.
    for level in levels {
      side.removeAll { $0.price == level.price }
      if level.size > 0 { side.append(level) }
      side.sort { isBid ? $0.price > $1.price : $0.price < $1.price }
      side = Array(side.prefix(depth))
    }
  }

  /// The digits of the levels without their points.
  private static func levels(in message: String, _ side: String) -> [PriceLevel] {
    guard let begin = message.range(of: "\"\(side)\":["),
      let end = message[begin.upperBound...].firstIndex(of: "]")
    else { return [] }
    return message[begin.upperBound..<end].split(separator: "}").compactMap { level in
      let numbers = level.split { !$0.isNumber && $0 != "." }.map { $0.filter { $0 != "." } }
      guard numbers.count == 2, let price = Int64(numbers[0]), let size = Int64(numbers[1]) else { return nil }
      return PriceLevel(price: price, size: size)
    }
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }
  }
}
