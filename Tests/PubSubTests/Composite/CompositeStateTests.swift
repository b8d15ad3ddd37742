import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("Book, line and candles of composites on the stream") struct CompositeStateTests {
  private static let symbol = "composite:BTC-USD"

  private static func item(_ channel: String, _ parameters: String = "") -> String {
    #"{"channel":"\#(channel)","symbols":["\#(symbol)"]\#(parameters)}"#
  }

  private static func subscribe(_ items: String...) -> String {
    #"{"op":"subscribe","id":1,"streams":[\#(items.joined(separator: ","))]}"#
  }

  private static func object(_ text: String) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) ?? [:]
  }

  private static func state(_ world: World, _ loop: Int, _ state: FeedState) {
    for hub in world.hubs { hub.feeds[loop].state = state }
  }

  // MARK: Models

  /// What a client makes of the messages about one stream, by the rules of the protocol.
  private final class Replica {
    var bids: [Decimal: String] = [:]
    var asks: [Decimal: String] = [:]
    var state = ""
    var venues: [String]?
    var candles: [Int: NSDictionary] = [:]
    var points: [String] = []
    var from = 0
    var step = 0
    var change: [String: String] = [:]
    var snapshots = 0
    var updates = 0

    private let client: ModelClient
    private let stream: Int
    private var read = 0

    init(_ client: ModelClient, _ stream: Int) {
      (self.client, self.stream) = (client, stream)
      follow()
    }

    /// Reads the messages that came since.
    func follow() {
      let new = client.texts[read...]
      read = client.texts.count
      for message in new.map(CompositeStateTests.object) where message["stream"] as? Int == stream {
        guard let data = message["data"] as? [String: Any], let channel = message["channel"] as? String else {
          continue
        }
        let isSnapshot = message["type"] as? String == "snapshot"
        if isSnapshot { snapshots += 1 } else { updates += 1 }
        switch channel {
        case "book": book(data, isSnapshot)
        case "candles":
          if isSnapshot { candles = [:] }
          for candle in data["candles"] as? [NSDictionary] ?? [] { candles[candle["time"] as? Int ?? 0] = candle }
        default: line(data, isSnapshot)
        }
      }
    }

    private func book(_ data: [String: Any], _ isSnapshot: Bool) {
      state = data["state"] as? String ?? state
      venues = data["venues"] as? [String] ?? venues
      if isSnapshot || state != "live" { (bids, asks) = ([:], [:]) }
      for (name, path) in [("bids", \Replica.bids), ("asks", \.asks)] {
        for level in data[name] as? [[String]] ?? [] {
          self[keyPath: path][Decimal(string: level[0]) ?? 0] = level[1] == "0" ? nil : level[1]
        }
      }
    }

    private func line(_ data: [String: Any], _ isSnapshot: Bool) {
      change = data.compactMapValues { $0 as? String }.filter { $0.key != "price" && $0.key != "range" }
      if isSnapshot {
        points = data["points"] as? [String] ?? []
        from = data["from"] as? Int ?? 0
        step = (data["step_s"] as? Int ?? 0) * 1_000_000
        return
      }
      let (index, price) = (data["index"] as? Int ?? 0, data["price"] as? String ?? "")
      let moved = Int((Double((data["from"] as? Int ?? 0) - from) / Double(step)).rounded())
      from = data["from"] as? Int ?? 0
      let last = points.last
      points.removeFirst(min(moved, points.count))
      if points.isEmpty, let last { points = [last] }
      while points.count < index { points.append(points.last ?? price) }
      points.removeLast(max(0, points.count - index - 1))
      if points.count == index { points.append(price) } else { points[index] = price }
    }
  }

  /// The number of the client's stream with these words in its item.
  private static func stream(_ client: ModelClient, _ channel: String, _ words: [String: Int] = [:]) -> Int {
    let items = client.texts.flatMap { text -> [[String: Any]] in
      let message = object(text)
      return (message["ok"] as? [[String: Any]] ?? []) + (message["streams"] as? [[String: Any]] ?? [])
    }
    let item = items.last { item in
      item["channel"] as? String == channel && words.allSatisfy { item[$0.key] as? Int == $0.value }
    }
    return item?["stream"] as? Int ?? 0
  }

  /// A venue's book as it is.
  private struct Book {
    var bids: [Int64: Int64] = [:]
    var asks: [Int64: Int64] = [:]
    var isSynced = false
    var isLive = true
  }

  /// The books summed level by level, the best `depth` of each side.
  private static func sum(_ books: [Book], _ depth: Int) -> (bids: [Decimal: String], asks: [Decimal: String]) {
    func side(_ path: KeyPath<Book, [Int64: Int64]>, _ isBetter: (Int64, Int64) -> Bool) -> [Decimal: String] {
      var sums: [Int64: Int64] = [:]
      for book in books where book.isSynced && book.isLive {
        for (price, size) in book[keyPath: path] { sums[price, default: 0] += size }
      }
      let best = sums.keys.sorted(by: isBetter).prefix(depth == 0 ? 100 : depth)
      return Dictionary(
        uniqueKeysWithValues: best.map { price in
          var size = ByteBuffer()
          size.append(decimal: sums[price] ?? 0, scale: 8)
          return (Decimal(price) / 10, String(decoding: size.takeBytes(), as: UTF8.self))
        })
    }
    return (side(\.bids) { $0 > $1 }, side(\.asks) { $0 < $1 })
  }

  // MARK: Books

  @Test(
    "under seeds, each client's merged book is the sum of the venues' books that are live", arguments: testSeeds(24))
  func books(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let world = World(loops: 3, quotesFromBook: true)
    let composites = CompositeWorld(world)
    var books = [Book](repeating: Book(), count: 3)
    let depths: [(Int, Int)] = [(10, 0), (25, 250), (100, 0), (0, 100)]
    let clients = depths.enumerated().map { index, item in
      let client = world.client(on: index % 3)
      let depth = item.0 == 0 ? "\"full\"" : "\(item.0)"
      client.send(Self.subscribe(Self.item("book", #","depth":\#(depth),"interval_ms":\#(item.1)"#)))
      return client
    }
    world.settle()
    var late: Replica?
    let replicas = clients.map { Replica($0, Self.stream($0, "book")) }
    for step in 0..<120 {
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        let loop = Int.random(in: 0..<3, using: &random)
        Self.change(&books[loop], loop, world, composites, &random)
      }
      if step == 60 {
        let client = world.client(on: 1)
        _ = client.ask(Self.subscribe(Self.item("book", #","depth":10"#)))
        late = Replica(client, Self.stream(client, "book"))
      }
      // A client that is stuck catches up with one message.
      clients[2].isStuck = step % 40 > 30
      world.run(milliseconds: 100)
      composites.tick()
      guard step % 5 == 4 else { continue }
      clients[2].isStuck = false
      world.run(milliseconds: 300)
      composites.tick()
      world.settle()
      let isLive = books.contains { $0.isSynced && $0.isLive }
      for (replica, depth) in zip(replicas, depths.map(\.0)) + (late.map { [($0, 10)] } ?? []) {
        replica.follow()
        let expected = Self.sum(books, depth)
        #expect(replica.bids == expected.bids, "seed \(seed) step \(step) depth \(depth)")
        #expect(replica.asks == expected.asks, "seed \(seed) step \(step) depth \(depth)")
        let wasLive = replica.snapshots > 0
        if wasLive { #expect((replica.state == "live") == isLive, "seed \(seed) step \(step)") }
      }
    }
    for client in world.clients { #expect(client.faults.isEmpty, "seed \(seed): \(client.faults.prefix(3))") }
    #expect(replicas.allSatisfy { $0.updates > 10 })
  }

  private static func change(
    _ book: inout Book, _ loop: Int, _ world: World, _ composites: CompositeWorld, _ random: inout SeededGenerator
  ) {
    func levels(_ prices: ClosedRange<Int64>, _ count: Int) -> [(Int64, Int64)] {
      (0..<count).map { _ in (Int64.random(in: prices, using: &random), Int64.random(in: 1...9, using: &random)) }
    }
    // Those of different venues may cross.
    let middle = 10_000 + Int64(loop) * 5
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1:
      let count = Int.random(in: 0...150, using: &random)
      book.bids = Dictionary(levels(middle - 200...middle - 1, count)) { $1 }
      book.asks = Dictionary(levels(middle...middle + 200, count)) { $1 }
      book.isSynced = true
      world.book(loop, .snapshot, bids: book.bids.map { ($0, $1) }, asks: book.asks.map { ($0, $1) })
    case 2:
      book.isLive.toggle()
      state(world, loop, book.isLive ? .live : .stale)
      composites.board.feedsChanged()
      composites.show()
    case 3:
      world.apply(loop) { $0.events.append(.bookReset(InstrumentID(0), .gap)) }
      book.isSynced = false
    default:
      guard book.isSynced else { return }
      let bids = levels(middle - 200...middle - 1, 4).map { ($0.0, $0.1 > 6 ? 0 : $0.1) }
      let asks = levels(middle...middle + 200, 4).map { ($0.0, $0.1 > 6 ? 0 : $0.1) }
      for (price, size) in bids { book.bids[price] = size == 0 ? nil : size }
      for (price, size) in asks { book.asks[price] = size == 0 ? nil : size }
      world.book(loop, .delta, bids: bids, asks: asks)
    }
  }

  @Test("thousands of changes a second are at most one message each tick, and a venue that is lost leaves at once")
  func coalescing() throws {
    let world = World(loops: 2, quotesFromBook: true)
    let composites = CompositeWorld(world)
    for loop in 0..<2 { world.book(loop, .snapshot, bids: [(10_000, 1)], asks: [(10_010, 1)]) }
    let client = world.client()
    client.send(Self.subscribe(Self.item("book", #","interval_ms":0"#)))
    world.settle()
    composites.tick()
    let stream = Self.stream(client, "book")
    #expect(Replica(client, stream).snapshots == 1)
    for tick in 0..<10 {
      for change in 0..<500 {
        world.book(change % 2, .delta, bids: [(9_990 - Int64(change % 7), Int64(tick * 500 + change + 1))], asks: [])
      }
      world.run(milliseconds: 100)
      composites.tick()
    }
    #expect(Replica(client, stream).updates == 10)
    // Between two ticks nothing but a change of state is told, and that at once.
    Self.state(world, 1, .reconnecting)
    composites.board.feedsChanged()
    composites.show()
    let lost = Self.object(try #require(client.texts.last))["data"] as? [String: Any] ?? [:]
    #expect(lost["venues"] as? [String] == ["kraken"], "\(lost)")
    #expect(lost["absent"] as? [[String: String]] == [["venue": "coinbase", "reason": "reconnecting"]])
    #expect((lost["bids"] as? [[String]])?.first == ["1000.0", "0.00000001"], "\(lost)")
    Self.state(world, 0, .stale)
    composites.board.feedsChanged()
    composites.show()
    let last = Self.object(try #require(client.texts.last))
    let data = last["data"] as? [String: Any] ?? [:]
    #expect(last["type"] as? String == "update" && data["state"] as? String == "syncing", "\(last)")
    #expect(data["reason"] as? String == "no data" && data["venues"] as? [String] == [])
    // One that subscribes now is told so, and gets the snapshot when a venue is back.
    let late = world.client(on: 1)
    let reply = late.ask(Self.subscribe(Self.item("book"))).of("subscribed").last ?? ""
    #expect(reply.contains(#""state":"syncing""#), "\(reply)")
    Self.state(world, 0, .live)
    composites.board.feedsChanged()
    composites.show()
    for watcher in [client, late] {
      let replica = Replica(watcher, Self.stream(watcher, "book"))
      #expect(replica.state == "live" && replica.venues == ["kraken"] && !replica.bids.isEmpty)
    }
    #expect(client.faults.isEmpty && late.faults.isEmpty, "\(client.faults)")
  }

  @Test("a client that comes back continues its book; one that configures another rate keeps a whole one")
  func resume() {
    let world = World(loops: 2, quotesFromBook: true)
    let composites = CompositeWorld(world)
    for loop in 0..<2 {
      world.book(loop, .snapshot, bids: (1...60).map { (10_000 - $0, 7) }, asks: (1...60).map { (10_000 + $0, 7) })
    }
    let client = world.client()
    let other = world.client(on: 1)
    for one in [client, other] { one.send(Self.subscribe(Self.item("book", #","depth":100,"interval_ms":0"#))) }
    world.settle()
    composites.tick()
    client.leave()
    for size in 1...3 {
      world.book(1, .delta, bids: [(9_999, Int64(size))], asks: [])
      world.run(milliseconds: 100)
      composites.tick()
    }
    let back = client.comeBack()
    let replica = Replica(back, Self.stream(back, "book"))
    #expect(replica.snapshots == 0 && replica.updates == 3, "\(back.texts.map { $0.prefix(200) })")
    _ = other.ask(#"{"op":"configure","id":2,"interval_ms":1000}"#)
    world.book(0, .delta, bids: [(9_999, 1)], asks: [])
    world.run(milliseconds: 1_100)
    composites.tick()
    world.run(milliseconds: 1_100)
    let slow = Replica(other, Self.stream(other, "book"))
    #expect(slow.bids.count == 60 && slow.bids[Decimal(9_999) / 10] == "0.00000004")
    #expect(back.faults.isEmpty && other.faults.isEmpty, "\(back.faults) \(other.faults)")
  }

  @Test("what nobody watches any more is kept for two seconds, and then forgotten")
  func release() {
    let world = World(loops: 2, quotesFromBook: true)
    let composites = CompositeWorld(world)
    let client = world.client()
    client.send(Self.subscribe(Self.item("book"), Self.item("candles"), Self.item("sparkline")))
    world.settle()
    composites.tick()
    #expect(composites.board.wants(of: Self.symbol).hasBook)
    client.leave()
    world.run(milliseconds: 1_900)
    composites.tick()
    #expect(!composites.board.isEmpty)
    for _ in 0..<3 {
      world.run(milliseconds: 1_000)
      composites.tick()
    }
    #expect(composites.board.isEmpty)
  }

  // MARK: Candles and lines

  /// A line or candles as an answer over HTTP has them.
  private static func data(_ fields: (inout ByteBuffer) -> Void) -> [String: Any] {
    var out = ByteBuffer()
    out.append("{")
    fields(&out)
    out.append("}")
    return object(String(decoding: out.takeBytes(), as: UTF8.self))
  }

  private static let intervals: [CandleInterval] = [.minute, .fiveMinutes, .hour]
  private static let lines: [(range: ChartRange, points: Int)] = [(.hour, 60), (.day, 96), (.day, 24), (.week, 50)]

  @Test(
    "under seeds, candles and lines on the stream are those of an answer of the same moment", arguments: testSeeds(12))
  func charts(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let world = World(loops: 3)
    let composites = CompositeWorld(world)
    let client = world.client(on: 1)
    client.send(
      Self.subscribe(
        Self.item("candles", #","interval":"1m","interval_ms":0"#),
        Self.item("candles", #","interval":"5m","interval_ms":0"#),
        Self.item("candles", #","interval":"1h","interval_ms":0"#),
        Self.item("sparkline", #","range":"1h","points":60,"interval_ms":0"#),
        Self.item("sparkline", #","points":96,"interval_ms":0"#),
        Self.item("sparkline", #","points":24,"interval_ms":0"#),
        Self.item("sparkline", #","range":"7d","points":50,"interval_ms":0"#)))
    world.settle()
    let replicas = Self.numbers(client).map { Replica(client, $0) }
    var price: Int64 = 640_000
    var id: UInt64 = 1
    for step in 0..<80 {
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        let loop = Int.random(in: 0..<3, using: &random)
        price += Int64.random(in: -400...400, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
          Self.state(world, loop, world.hubs[0].feeds[loop].state == .live ? .stale : .live)
          composites.board.feedsChanged()
        case 1:
          // A late trade changes a candle that has closed.
          world.apply(loop) {
            var trade = Trade(
              instrument: InstrumentID(0), id: TradeID(id), price: price, size: 3_000_000, side: .buy,
              time: world.now + -Microseconds.second * Int64.random(in: 1...4, using: &random))
            trade.isLate = true
            $0.events.append(.trade(trade))
          }
        case 2 where step % 20 == 7: Self.restore(loop, price, world, &random)
        default: world.trade(loop, id: id, price: price, size: Int64.random(in: 1...9, using: &random) * 1_000_000)
        }
        id += 1
      }
      let pause = [100, 1_000, 5_000, 61_000, 400_000].randomElement(using: &random)!
      for _ in 0..<max(1, pause / 10_000) {
        world.run(milliseconds: pause / max(1, pause / 10_000), step: min(pause, 1_000))
        composites.tick()
      }
      world.run(milliseconds: 1_000)
      composites.tick()
      world.run(milliseconds: 7_000, step: 1_000)
      composites.tick()
      composites.tick()
      Self.compare(composites, replicas, "seed \(seed) step \(step)")
    }
    #expect(client.faults.isEmpty, "seed \(seed): \(client.faults.prefix(3))")
  }

  /// The streams in the order of the subscription.
  private static func numbers(_ client: ModelClient) -> [Int] {
    let reply = client.texts.map(object).first { $0["type"] as? String == "subscribed" } ?? [:]
    return (reply["ok"] as? [[String: Any]] ?? []).compactMap { $0["stream"] as? Int }
  }

  /// A venue's own candles of the past come, as after a start.
  private static func restore(_ loop: Int, _ price: Int64, _ world: World, _ random: inout SeededGenerator) {
    let first = CandleInterval.minute.start(of: world.now) + -30 * Microseconds.minute
    let candles = (0..<Int64(28)).map { minute in
      let close = price + Int64.random(in: -400...400, using: &random)
      return Candle(
        instrument: InstrumentID(0), interval: .minute, time: first + minute * Microseconds.minute, open: close,
        high: close + 9, low: close - 9, close: close, volume: 5, quoteVolume: nil, trades: nil, source: .venue,
        isClosed: true)
    }
    world.changes.removeAll()
    _ = world.markets[loop].restore(candles, of: InstrumentID(0), now: world.now, into: &world.changes)
    world.publish(loop)
  }

  private static func compare(_ composites: CompositeWorld, _ replicas: [Replica], _ step: String) {
    let world = composites.world
    for replica in replicas { replica.follow() }
    for (interval, replica) in zip(intervals, replicas) {
      let merged = CompositeCandles(symbol, composites.pages(symbol, interval, 100 + CompositeCandles.lead))
      let expected = data {
        CandlesChannel.appendFields(merged.candles.suffix(100), interval, of: merged.instrument, to: &$0)
      }
      let shown = replica.candles
      for candle in expected["candles"] as? [NSDictionary] ?? [] {
        let own = shown[candle["time"] as? Int ?? 0]
        #expect(own == candle, "\(step) \(interval): \(own ?? [:]) is not \(candle)")
      }
    }
    let parts = world.hubs[0].members(ofComposite: symbol).compactMap { entry -> QuotePart? in
      var part = world.publishers[entry.loop].quotePart(
        at: MarketRoute(market: 0, instrument: InstrumentID(0)), depth: 0, hasFigures: true, now: world.now)
      if part != nil { world.hubs[0].judge(&part!) }
      return part
    }
    let quote = CompositeQuote(parts.map(\.market))
    for ((range, points), replica) in zip(lines, replicas.dropFirst(intervals.count)) {
      let merged = CompositeCandles(symbol, composites.pages(symbol, range.candles.interval, range.candles.count))
      let line = merged.line(range, points: points, price: quote.last?.price, now: world.now).line
      let expected = data { SparklineChannel.appendSnapshot(line, of: merged.instrument, to: &$0) }
      #expect(replica.points == expected["points"] as? [String] ?? [], "\(step) \(range.name)")
      for field in ["open", "trend", "change", "change_pct"] where !replica.points.isEmpty {
        #expect(replica.change[field] == expected[field] as? String, "\(step) \(range.name) \(field)")
      }
    }
  }
}
