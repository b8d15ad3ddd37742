import Bytes
import Foundation
import MarketData
import PubSub
import TestSupport
import Testing

@testable import Compatibility

@Suite("Binance spot")
struct BinanceTests {
  private static let names = [
    "btcusdt@depth@100ms", "btcusdt@depth5", "btcusdt@trade", "btcusdt@aggTrade", "btcusdt@bookTicker",
    "btcusdt@miniTicker", "btcusdt@ticker", "btcusdt@kline_1m",
  ]

  private static func world() -> DialectWorld { DialectWorld(venue: "binance", quote: "USDT") }

  private static func request(_ method: String, _ names: [String], id: Int = 1) -> String {
    let list = names.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"method":"\#(method)","params":[\#(list)],"id":\#(id)}"#
  }

  @Test("every message, as a client gets it")
  func golden() throws {
    var golden = Golden()
    for path in ["/compat/binance/ws", "/compat/binance/stream", "/compat/binance/stream?timeUnit=MICROSECOND"] {
      let world = Self.world()
      world.open()
      let client = world.connect(path)
      for name in Self.names {
        client.send(Self.request("SUBSCRIBE", [name]))
        world.run(milliseconds: 1_000)
        world.book(.delta, bids: [(640_000, 0), (639_990, 70_000_000)], asks: [(640_001, 130_000_000)])
        world.trade(TradeID(18), 640_006, 500_000, .sell)
        world.run(milliseconds: 1_000)
        golden.note("\(path) \(name)", Array(client.news().suffix(2)))
        client.send(Self.request("UNSUBSCRIBE", [name]))
        world.book(.delta, bids: [(640_000, 50_000_000), (639_990, 0)], asks: [(640_001, 120_000_000)])
      }
      _ = client.news()
      golden.note("list", client.send(Self.request("LIST_SUBSCRIPTIONS", [])))
      golden.note("all markets", client.send(Self.request("SUBSCRIBE", ["!miniTicker@arr"])))
      golden.note("an unknown market", client.send(Self.request("SUBSCRIBE", ["xxxusdt@trade"])))
      golden.note("an unknown interval", client.send(Self.request("SUBSCRIBE", ["btcusdt@kline_3m"])))
      golden.note("no JSON", client.send("hello"))
      golden.note("another method", client.send(#"{"method":"order.index","id":"x"}"#))
    }
    try golden.check("binance")
  }

  @Test("a book that a client builds by Binance's rule is the market's, or is read again", arguments: testSeeds(6))
  func sequence(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let world = Self.world()
    world.open()
    let client = world.connect("/compat/binance/ws/btcusdt@depth@100ms")
    var book = BinanceBookClient()
    for _ in 0..<600 {
      switch Int.random(in: 0..<60, using: &random) {
      case 0: world.loseSync()
      case 1: world.open()
      case 2..<14: world.run(milliseconds: 100)
      default:
        let bids = (0..<Int.random(in: 0..<4, using: &random)).map { _ in
          (639_900 + Int64.random(in: 0...100, using: &random), Int64.random(in: 0...3, using: &random) * 1_000_000)
        }
        world.book(.delta, bids: bids, asks: [(640_050, Int64.random(in: 1...9, using: &random))])
      }
      world.settle()
      for message in client.news() where message.contains("depthUpdate") { try book.take(message) }
      // What a client does when it has no book, at any moment between two events.
      if book.isWaiting, world.state.bookState == .live { book.read(world.state) }
    }
    world.open()
    world.run(milliseconds: 300)
    for _ in 0..<3 {
      world.book(.delta, bids: [(639_999, Int64.random(in: 1...9, using: &random))], asks: [])
      world.run(milliseconds: 200)
      for message in client.news() where message.contains("depthUpdate") { try book.take(message) }
      if book.isWaiting { book.read(world.state) }
    }
    #expect(book.applied > 10)
    #expect(book.bids == Dictionary(uniqueKeysWithValues: world.state.book.bids.map { ($0.price, $0.size) }))
    #expect(book.asks == Dictionary(uniqueKeysWithValues: world.state.book.asks.map { ($0.price, $0.size) }))
  }

  @Test("a loss of sync shows as a gap in the numbers, so that every client reads its book again")
  func gap() throws {
    let world = Self.world()
    world.open()
    let client = world.connect("/compat/binance/ws/btcusdt@depth@100ms")
    func nextEvent(_ size: Int64) throws -> (first: UInt64, last: UInt64) {
      world.book(.delta, bids: [(639_999, size)], asks: [])
      world.run(milliseconds: 200)
      let event = try json(try #require(client.news().last { $0.contains("depthUpdate") }))
      return (try #require(event["U"] as? UInt64), try #require(event["u"] as? UInt64))
    }
    let one = try nextEvent(1)
    let two = try nextEvent(2)
    #expect(two.first == one.last + 1)
    world.loseSync()
    world.open()
    world.run(milliseconds: 200)
    _ = client.news()
    world.book(.delta, bids: [(639_998, 1)], asks: [])
    world.run(milliseconds: 200)
    let three = try nextEvent(3)
    #expect(three.first > two.last + 1)
  }

  @Test("a stream in the address begins at once; one that does not exist ends the connection by its name")
  func addresses() throws {
    let world = Self.world()
    world.open()
    let two = world.connect("/compat/binance/stream?streams=btcusdt@depth5/btcusdt@bookTicker")
    #expect(two.news().allSatisfy { $0.hasPrefix(#"{"stream":"btcusdt@"#) })
    let none = world.connect("/compat/binance/ws/0")
    #expect(none.news() == [])
    #expect(none.end == nil)
    let wrong = world.connect("/compat/binance/ws/btcusdt@nothing")
    #expect(wrong.end?.code == 1008)
    #expect(wrong.end?.reason.contains("btcusdt@nothing") == true)
  }

  @Test("one bad name of a request leaves all as it was")
  func atomic() {
    let world = Self.world()
    world.open()
    let client = world.connect("/compat/binance/ws")
    let answer = client.send(Self.request("SUBSCRIBE", ["btcusdt@trade", "btcusdt@nothing"]))
    #expect(answer.count == 1)
    #expect(answer.first?.contains(#""code":2"#) == true)
    #expect(client.send(Self.request("LIST_SUBSCRIPTIONS", [])) == [#"{"result":[],"id":1}"#])
  }

  @Test("a connection may change to combined messages")
  func property() {
    let world = Self.world()
    world.open()
    let client = world.connect("/compat/binance/ws/btcusdt@depth5")
    _ = client.news()
    let answers = client.send(#"{"method":"SET_PROPERTY","params":["combined",true],"id":5}"#)
    #expect(answers.first == #"{"result":null,"id":5}"#)
    #expect(answers.last?.hasPrefix(#"{"stream":"btcusdt@depth5","data":{"#) == true)
  }

  @Test("a name divides into the assets that are listed", arguments: ["BTCUSDT", "ETHUSDT"])
  func names(name: String) {
    let world = Self.world()
    let markets = DialectMarkets(venue: "binance", allowsSimulated: true)
    let entry = markets.entry(joined: name, in: world.hub.directory)
    #expect(entry.map { $0.instrument.base + $0.instrument.quote } == name)
    for wrong in ["", "B", "BTC", "USDT", "BTCUSD", String(repeating: "A", count: 99)] {
      #expect(markets.entry(joined: wrong, in: world.hub.directory) == nil)
    }
  }
}

/// A client's book by Binance's rule ("How to manage a local order book correctly"): read by REST; drop events up to
/// its number; the first event covers the number after it; each further event begins after the one before.
struct BinanceBookClient {
  private(set) var bids: [Int64: Int64] = [:]
  private(set) var asks: [Int64: Int64] = [:]
  private(set) var isWaiting = true
  private(set) var applied = 0
  private var last: UInt64 = 0
  private var isFirst = true

  mutating func read(_ state: InstrumentState) {
    bids = Dictionary(uniqueKeysWithValues: state.book.bids.map { ($0.price, $0.size) })
    asks = Dictionary(uniqueKeysWithValues: state.book.asks.map { ($0.price, $0.size) })
    last = state.updateID
    (isWaiting, isFirst) = (false, true)
  }

  mutating func take(_ message: String) throws {
    let event = try json(message)
    let (first, end) = (try #require(event["U"] as? UInt64), try #require(event["u"] as? UInt64))
    guard !isWaiting, end > last else { return }
    guard isFirst ? first <= last + 1 : first == last + 1 else {
      isWaiting = true
      return
    }
    try Self.apply(event["b"], to: &bids)
    try Self.apply(event["a"], to: &asks)
    (last, isFirst) = (end, false)
    applied += 1
  }

  private static func apply(_ levels: Any?, to side: inout [Int64: Int64]) throws {
    for level in try #require(levels as? [[String]]) {
      let numbers = level.compactMap { Int64($0.filter { $0 != "." }) }
      try #require(numbers.count == 2)
      side[numbers[0]] = numbers[1] == 0 ? nil : numbers[1]
    }
  }
}
