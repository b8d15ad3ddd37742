import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("A book that leaves sync")
struct SyncTests {
  private static func subscribe(_ channel: String, interval: Int = 0) -> String {
    #"{"op":"subscribe","streams":[{"channel":"\#(channel)","symbols":["kraken:BTC-USD"],"interval_ms":\#(interval)}]}"#
  }

  private func lose(_ world: World, _ reason: ResyncReason = .checksum) {
    world.apply { $0.events.append(.bookReset(InstrumentID(0), reason)) }
    world.settle()
  }

  private func restore(_ world: World) {
    world.book(0, .snapshot, bids: [(641_234, 50_000_000)], asks: [(641_236, 120_000_000)])
    world.settle()
  }

  @Test(
    "says so to its subscribers at once, whatever their rate, and says when it is back", arguments: [0, 1000, 5000])
  func book(interval: Int) throws {
    let world = World()
    restore(world)
    let client = world.client()
    _ = client.ask(Self.subscribe("book", interval: interval))
    let moment = world.now
    lose(world)
    #expect(
      client.texts.last
        == #"{"type":"update","channel":"book","symbol":"kraken:BTC-USD","stream":1,"prev":1,"seq":2,"time":\#(moment.microseconds),"data":{"state":"syncing","reason":"checksum mismatch","bids":[],"asks":[],"time":\#(moment.microseconds)}}"#
    )
    let count = client.texts.count
    // Another reason is no other state.
    lose(world, .gap)
    #expect(client.texts.count == count)
    restore(world)
    let back = try #require(client.texts.last)
    #expect(client.texts.count == count + 1)
    #expect(
      back.contains(#""seq":3,"reason":"resync""#) && back.contains(#""data":{"state":"live","bids":[["64123.4""#))
    #expect(client.faults.isEmpty)
  }

  @Test("who comes while it is out of sync learns it from the reply, and gets the book when it is back")
  func late() {
    let world = World()
    restore(world)
    _ = world.client().ask(Self.subscribe("book"))
    lose(world)
    let late = world.client()
    let texts = late.ask(Self.subscribe("book"))
    #expect(texts.count == 1 && texts[0].contains(#""state":"syncing""#))
    restore(world)
    #expect(late.texts.last?.contains(#""reason":"resync""#) == true && late.faults.isEmpty)
  }

  @Test("a client that was paused meanwhile is told when it resumes, and not shown what it was before")
  func paused() {
    let world = World()
    restore(world)
    let client = world.client()
    _ = client.ask(Self.subscribe("book"))
    _ = client.ask(#"{"op":"pause"}"#)
    lose(world, .gap)
    let texts = client.ask(#"{"op":"resume"}"#)
    #expect(texts.count == 2)
    #expect(
      texts.last?.contains(#""type":"snapshot","channel":"book""#) == true
        && texts.last?.contains(#""reason":"resume""#) == true
        && texts.last?.contains(#""data":{"state":"syncing","reason":"sequence gap","bids":[],"asks":[]"#) == true,
      "\(texts)")
    restore(world)
    #expect(client.texts.last?.contains(#""data":{"state":"live","bids":[["64123.4""#) == true)
    #expect(client.faults.isEmpty)
  }

  @Test("a client that took nothing meanwhile is told when it does")
  func slow() {
    let world = World()
    restore(world)
    let client = world.client()
    _ = client.ask(Self.subscribe("book"))
    client.isStuck = true
    for step in 0..<20 {
      world.book(0, .delta, bids: [(641_235, Int64(step + 1))], asks: [])
      world.settle()
    }
    lose(world)
    client.isStuck = false
    world.settle()
    world.run(milliseconds: 500)
    #expect(client.texts.last { $0.contains("book") }?.contains(#""state":"syncing""#) == true, "\(client.texts)")
    restore(world)
    #expect(client.texts.last { $0.contains("book") }?.contains(#""state":"live""#) == true)
    #expect(client.faults.isEmpty)
  }

  @Test("a quote that is read from the book goes with it; one of the venue's own does not", arguments: [true, false])
  func quote(isFromBook: Bool) {
    let world = World(quotesFromBook: isFromBook)
    restore(world)
    if !isFromBook {
      world.quote(641_234, 641_236)
      world.settle()
    }
    let client = world.client()
    _ = client.ask(Self.subscribe("quote"))
    let count = client.texts.count
    lose(world)
    guard isFromBook else { return #expect(client.texts.count == count) }
    #expect(
      client.texts.last?.contains(#""data":{"state":"syncing","reason":"checksum mismatch","time":"#) == true)
    restore(world)
    #expect(client.texts.last?.contains(#""bid":"64123.4""#) == true && client.faults.isEmpty)
  }

  @Test("the ages in a status are those of the moment at which it is sent")
  func ages() throws {
    let world = World()
    var feed = FeedStatus(venue: "kraken", state: .live, since: world.now)
    let first = world.client()
    var out: [Delivery] = []
    for _ in 0..<6_000 {
      world.now = world.now + 100 * Microseconds.millisecond
      feed.lastMessage = world.now + -2 * Microseconds.millisecond
      world.publishers[0].publish(status: [feed], now: world.now, into: &out)
      if first.texts.isEmpty { _ = first.ask(#"{"op":"subscribe","streams":[{"channel":"status"}]}"#) }
    }
    let texts = world.client().ask(#"{"op":"subscribe","streams":[{"channel":"status"}]}"#)
    #expect(texts.last?.contains(#""age_ms":2}"#) == true, "\(texts)")
  }
}
