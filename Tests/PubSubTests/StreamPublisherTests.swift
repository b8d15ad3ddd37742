import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("The publisher")
struct StreamPublisherTests {
  private func join(_ world: World, _ key: StreamKey, loop: Int = 0, publisher: Int = 0) -> JoinResult {
    var out: [Delivery] = []
    let client = ClientID(slot: 0, generation: 1)
    world.publishers[publisher].perform(
      .join(
        JoinRequest(
          key: key, market: 0, instrument: InstrumentID(0), loop: loop, client: client, request: 1, item: 0,
          reason: .subscribe)), now: world.now, into: &out)
    guard case .joined(let result, loop, client)? = out.last else { fatalError("no answer") }
    return result
  }

  @Test("numbers streams so that number % loops is its loop, never 0")
  func striped() {
    let world = World(loops: 3)
    for loop in 0..<3 {
      for points in 2..<6 {
        let key = StreamKey(channel: .sparkline, symbol: "x:A-B", points: UInt16(points))
        let result = join(world, key, publisher: loop)
        #expect(Int(result.stream.rawValue) % 3 == loop)
        #expect(result.stream.rawValue > 0)
      }
    }
  }

  @Test("encodes a snapshot once for all who join at the same seq")
  func shared() {
    let world = World()
    let key = StreamKey(channel: .trades, symbol: "kraken:BTC-USD")
    let first = join(world, key).snapshot
    let second = join(world, key, loop: 0).snapshot
    #expect(first?.bytes === second?.bytes)
    #expect(first != nil)
  }

  @Test("does not encode a stream that nobody subscribes to")
  func unsubscribed() {
    let world = World()
    let result = join(world, StreamKey(channel: .trades, symbol: "kraken:BTC-USD"))
    var out: [Delivery] = []
    world.publishers[0].perform(.leave(result.stream, loop: 0), now: world.now, into: &out)
    world.trade(price: 1)
    #expect(world.mail[0].isEmpty)
  }

  @Test("an instrument has subscribers whatever their channel, until the last one leaves")
  func watched() {
    let world = World()
    let publisher = world.publishers[0]
    var out: [Delivery] = []
    for channel in ChannelName.allCases where channel.isOfMarket {
      #expect(!publisher.hasSubscribers(of: InstrumentID(0), market: 0), "\(channel)")
      let stream = join(world, StreamKey(channel: channel, symbol: "kraken:BTC-USD")).stream
      #expect(publisher.hasSubscribers(of: InstrumentID(0), market: 0), "\(channel)")
      publisher.perform(.leave(stream, loop: 0), now: world.now, into: &out)
    }
  }

  @Test("what is noted of streams that come and go is bounded, and the one that is idle longest still goes first")
  func comingAndGoing() {
    let world = World()
    let publisher = world.publishers[0]
    var out: [Delivery] = []
    func use(_ key: StreamKey) -> StreamID {
      let stream = join(world, key).stream
      publisher.perform(.leave(stream, loop: 0), now: world.now, into: &out)
      return stream
    }
    // One is left alone at the front of the queue while others are used again and again.
    let quiet = use(StreamKey(channel: .sparkline, symbol: "x:A-B", points: 2))
    var most = 0
    for round in 0..<10_000 {
      _ = use(StreamKey(channel: .trades, symbol: "kraken:BTC-USD"))
      if round % 3 == 0 { _ = use(StreamKey(channel: .quote, symbol: "kraken:BTC-USD")) }
      most = max(most, publisher.table.idleCount)
    }
    #expect(most <= 2 * publisher.table.streams.count)
    var numbers: Set<StreamID> = [quiet]
    var reused: [StreamID] = []
    for points in 3..<UInt16(StreamTable.idleLimit + 100) {
      let number = use(StreamKey(channel: .sparkline, symbol: "x:A-B", points: points))
      if !numbers.insert(number).inserted { reused.append(number) }
    }
    #expect(reused.first == quiet)
    #expect(publisher.table.idleCount <= 2 * publisher.table.streams.count)
  }

  @Test("shows nothing of a book that is out of sync, and a snapshot to all once it is back")
  func resync() {
    let world = World()
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    let client = world.client()
    _ = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"],\"interval_ms\":1000}]}"
    )
    world.apply { $0.events.append(.bookReset(InstrumentID(0), .checksum)) }
    world.book(0, .delta, bids: [(11, 1)], asks: [])
    world.run(milliseconds: 2000)
    let late = world.client()
    #expect(
      late.ask(
        "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"],\"interval_ms\":1000}]}"
      )[0]
      .contains("\"state\":\"syncing\""))
    let updates = client.texts.of("update")
    #expect(updates.count == 1 && updates[0].contains(#""state":"syncing""#))
    world.book(0, .snapshot, bids: [(12, 1)], asks: [(20, 1)])
    world.run(milliseconds: 1000)
    #expect(client.snapshotReasons == ["subscribe", "resync"])
    #expect(late.snapshotReasons == ["resync"])
    #expect(client.streams[1]?.bids == ["1.2": "0.00000001"])
    #expect(client.faults.isEmpty && late.faults.isEmpty)
  }

  @Test(
    "a quote that went with its book is shown anew to all when it is back: who joins or resumes meanwhile gets no update before it"
  )
  func quoteWithoutBook() {
    let world = World(quotesFromBook: true)
    let key = #"{"channel":"quote","symbols":["kraken:BTC-USD"]}"#
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    let early = world.client()
    _ = early.ask(#"{"op":"subscribe","streams":[\#(key)]}"#)
    let paused = world.client()
    _ = paused.ask(#"{"op":"pause"}"#)
    _ = paused.ask(#"{"op":"subscribe","streams":[\#(key)]}"#)
    world.apply { $0.events.append(.bookReset(InstrumentID(0), .checksum)) }
    _ = paused.ask(#"{"op":"resume"}"#)
    let late = world.client()
    _ = late.ask(#"{"op":"subscribe","streams":[\#(key)]}"#)
    #expect(paused.snapshotReasons == ["resume"] && late.snapshotReasons.isEmpty)
    #expect(paused.texts.last?.contains(#""data":{"state":"syncing","reason":"checksum mismatch""#) == true)
    world.book(0, .snapshot, bids: [(12, 1)], asks: [(20, 1)])
    world.book(0, .delta, bids: [(13, 1)], asks: [])
    world.settle()
    #expect(early.snapshotReasons == ["subscribe", "resync"])
    #expect(paused.snapshotReasons == ["resume", "resync"])
    #expect(late.snapshotReasons == ["resync"])
    for client in [early, paused, late] {
      #expect(client.faults.isEmpty, "\(client.faults)")
      #expect(client.texts.last?.contains(#""type":"update""#) == true)
      #expect(client.texts.last?.contains(#""bid":"1.3""#) == true)
    }
  }

  @Test("a full book with more changes than it remembers is sent anew")
  func overflow() {
    let world = World()
    world.book(0, .snapshot, bids: [(100_000, 1)], asks: [(200_000, 1)])
    let client = world.client()
    _ = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"],\"depth\":0,\"interval_ms\":1000}]}"
    )
    for part in 0..<3 {
      world.book(0, .delta, bids: (0..<1000).map { (Int64(part * 1000 + $0 + 1), 1) }, asks: [])
    }
    world.run(milliseconds: 1000)
    #expect(client.snapshotReasons == ["subscribe", "resync"])
    #expect(client.streams[1]?.bids.count == 3001)
    #expect(client.faults.isEmpty)
  }

  @Test("a slower class publishes once a tick, on the grid of its interval, and says when")
  func ticks() {
    let world = World()
    world.quote(1, 2)
    let client = world.client()
    _ = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"quote\",\"symbols\":[\"kraken:BTC-USD\"],\"interval_ms\":200}]}"
    )
    #expect(world.publishers[0].nextDeadline == .distantFuture)
    world.now = world.now + 10_000
    for price in 2...6 { world.quote(Int64(price), 10) }
    #expect(world.publishers[0].nextDeadline.microseconds == 1_790_000_004_250_000)
    world.settle()
    #expect(client.texts.of("update").isEmpty)
    world.now = Timestamp(microseconds: 1_790_000_004_250_000)
    world.tick()
    world.settle()
    #expect(client.texts.of("update").count == 1)
    #expect(client.texts.last?.contains("\"bid\":\"0.6\"") == true)
    #expect(world.publishers[0].nextDeadline == .distantFuture)
  }

  @Test("gives idle slots to new streams, whose seq starts above every one given up")
  func recycled() {
    let world = World()
    var top: UInt64 = 0
    var numbers: Set<UInt32> = []
    for index in 0..<(StreamTable.idleLimit + 50) {
      let key = StreamKey(channel: .sparkline, symbol: "x:\(index)", points: 96)
      let result = join(world, key)
      if numbers.contains(result.stream.rawValue) { #expect(result.seq > top) }
      numbers.insert(result.stream.rawValue)
      if index < 20 { top = max(top, result.seq) }
      var out: [Delivery] = []
      world.publishers[0].perform(.leave(result.stream, loop: 0), now: world.now, into: &out)
    }
    #expect(numbers.count == StreamTable.idleLimit + 1)
  }

  @Test("after wider scales everything is shown anew in the new text")
  func rescaled() {
    let world = World()
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    world.trade(id: 1, price: 15)
    let client = world.client()
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    var instrument = world.markets[0][InstrumentID(0)].instrument
    instrument.priceScale = 2
    world.apply { $0.append(instrument: instrument) }
    world.settle()
    #expect(client.snapshotReasons == ["subscribe", "resync"])
    #expect(client.streams[1]?.bids == ["1.00": "0.00000001"])
    let texts = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    #expect(texts.last?.contains("\"price\":\"1.50\"") == true)
    #expect(client.faults.isEmpty)
  }
}
