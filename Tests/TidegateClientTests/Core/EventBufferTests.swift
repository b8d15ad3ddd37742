import TestSupport
import Testing

@testable import TidegateClient

@Suite("Event buffer")
struct EventBufferTests {
  static func info(_ stream: Int64, _ channel: TidegateChannel = .quote) -> TidegateEvent.StreamInfo {
    .init(channel: channel, symbol: "kraken:S\(stream)-USD", stream: stream, reason: "")
  }
  static func quote(_ stream: Int64, _ bid: Int) -> TidegateEvent {
    .update(info(stream), .quote(Quote(bid: ExactDecimal("\(bid)"))))
  }
  static func trade(_ id: Int) -> TidegateEvent {
    .update(
      info(9, .trades),
      .trades([Trade(id: "\(id)", price: ExactDecimal("1")!, size: ExactDecimal("1")!, side: .sell, time: nil)]))
  }
  static func level(_ price: String, _ size: String) -> BookLevel {
    BookLevel(price: ExactDecimal(price)!, size: ExactDecimal(size)!)
  }
  static func drain(_ buffer: inout EventBuffer) -> [TidegateEvent] {
    var events: [TidegateEvent] = []
    while let event = buffer.next() { events.append(event) }
    return events
  }

  @Test("unread state of a stream is replaced in its place")
  func merges() {
    var buffer = EventBuffer(limit: 10)
    for value in 0..<1_000 {
      buffer.append(Self.quote(1, value))
      buffer.append(Self.quote(2, -value))
    }
    #expect(buffer.count == 2)
    #expect(Self.drain(&buffer) == [Self.quote(1, 999), Self.quote(2, -999)])
  }

  @Test("trades beyond the limit are dropped, oldest first, and counted")
  func drops() {
    var buffer = EventBuffer(limit: 3)
    for id in 0..<10 { buffer.append(Self.trade(id)) }
    #expect(Self.drain(&buffer) == [.dropped(count: 7), Self.trade(7), Self.trade(8), Self.trade(9)])
    #expect(buffer.isEmpty)
  }

  @Test("nothing is merged backwards over a disconnection")
  func breaks() {
    var buffer = EventBuffer(limit: 10)
    let gone = TidegateEvent.disconnected(reason: .noHeartbeat, retryIn: .zero)
    buffer.append(Self.quote(1, 1))
    buffer.append(Self.quote(2, 1))
    buffer.append(gone)
    buffer.append(Self.quote(1, 2))
    #expect(Self.drain(&buffer) == [Self.quote(2, 1), gone, Self.quote(1, 2)])
  }

  @Test("a merged book is what applying every message would have made", arguments: testSeeds(20))
  func books(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var buffer = EventBuffer(limit: 10)
    var all = BookView()
    var read = BookView()
    for step in 0..<300 {
      let count = Int.random(in: 0...4, using: &random)
      let levels = BookLevels(
        bids: (0..<count).map { _ in
          Self.level("\(Int.random(in: 90...99, using: &random))", "\(Int.random(in: 0...2, using: &random))")
        },
        asks: (0..<count).map { _ in
          Self.level("\(Int.random(in: 100...110, using: &random)).5", "\(Int.random(in: 0...2, using: &random))")
        })
      // The same price twice in a snapshot is no book.
      let isSnapshot = step == 0
      let event: TidegateEvent =
        isSnapshot
        ? .snapshot(Self.info(1, .book), .book(BookLevels(bids: [], asks: [])))
        : .update(Self.info(1, .book), .book(levels))
      all.apply(event)
      buffer.append(event)
      if Int.random(in: 0..<5, using: &random) == 0 {
        while let event = buffer.next() { read.apply(event) }
        #expect(read.bids == all.bids && read.asks == all.asks, "seed \(seed), step \(step)")
      }
    }
  }

  @Test("memory follows what is queued, whatever the mix", arguments: testSeeds(10))
  func bounded(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var buffer = EventBuffer(limit: 50)
    for _ in 0..<20_000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0: buffer.append(.disconnected(reason: .noAnswer, retryIn: .zero))
      case 1...3: buffer.append(Self.trade(1))
      case 4: _ = buffer.next()
      default: buffer.append(Self.quote(Int64.random(in: 0..<20, using: &random), 1))
      }
      #expect(buffer.count <= 50 + 20 + 1, "seed \(seed)")
    }
    #expect(Self.drain(&buffer).count <= 71, "seed \(seed)")
  }
}
