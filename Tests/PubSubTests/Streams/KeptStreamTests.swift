import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import PubSub

@Suite("Streams that go on in another run")
struct KeptStreamTests {
  private static let trades =
    "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}"

  private func subscribed(
    _ world: World, on loop: Int = 0, _ request: String = trades, isBinary: Bool = false
  ) -> ModelClient {
    let client = world.client(on: loop, isBinary: isBinary)
    _ = client.ask("{\"op\":\"hello\"}")
    _ = client.ask(request)
    return client
  }

  private func trade(_ world: World, _ ids: ClosedRange<Int>) {
    for id in ids {
      world.trade(id: UInt64(id), price: Int64(id))
      world.settle()
    }
  }

  /// The world after `world`, which has ended.
  private func restart(_ world: World, loops: Int = 1, seconds: Int64 = 3, gap: Bool = false) -> World {
    var past = world.end()
    past.now = past.now + seconds * Microseconds.second
    if gap { past.trades = past.trades.map { _ in [] } }
    return World(loops: loops, past: past)
  }

  /// The same client at another gateway.
  private func comeBack(_ client: ModelClient, to world: World, on loop: Int = 0) -> ModelClient {
    let twin = ModelClient(world: world, loop: loop, id: client.id, isBinary: client.isBinary)
    (twin.session, twin.streams) = (client.session, client.streams)
    return twin.comeBack(on: loop)
  }

  /// The venue begins with the last trades of the run before, and with what nobody has been told.
  private func show(_ world: World, after before: World, _ ids: [Int] = []) {
    let known = before.publishers[0].lastTrades(of: InstrumentID(0), market: 0).trades
    world.apply { batch in
      for var trade in known.suffix(5) {
        trade.isBacklog = true
        batch.events.append(.trade(trade))
      }
      for id in ids {
        batch.events.append(
          .trade(
            Trade(
              instrument: InstrumentID(0), id: TradeID(UInt64(id)), price: 1, size: 1, side: .buy, time: before.now,
              isBacklog: true)))
      }
    }
    world.settle()
  }

  @Test(
    "a client gets what it missed before the end and after it, under the same epoch, and its session is there",
    arguments: [false, true])
  func goesOn(isBinary: Bool) {
    let world = World()
    let client = subscribed(world, isBinary: isBinary)
    trade(world, 1...4)
    client.isStuck = true
    trade(world, 5...7)
    let next = restart(world)
    show(next, after: world, [8])
    let back = comeBack(client, to: next)
    #expect(back.texts[0].contains("\"resumed\":true"))
    #expect(back.texts[0].contains("\"recovered\":true"), "\(back.texts[0])")
    trade(next, 9...9)
    #expect(back.tradeIDs[1] == [5, 6, 7, 8, 9])
    #expect(back.texts.of("snapshot").isEmpty)
    #expect(back.faults.isEmpty, "\(back.faults)")
  }

  @Test("where trades may be missing the stream says so with a snapshot, to those who came back and those who will")
  func gap() {
    let world = World()
    let client = subscribed(world)
    let other = subscribed(world)
    trade(world, 1...7)
    let next = restart(world)
    let back = comeBack(client, to: next)
    #expect(back.texts[0].contains("\"recovered\":true"))
    trade(next, 9...9)
    #expect(back.snapshotReasons == ["resync"])
    #expect(back.tradeIDs[1] == [9])
    // The trades from before stay, and the first after them is marked.
    #expect(back.texts.of("snapshot")[0].contains("\"id\":\"7\""))
    #expect(!back.texts.of("snapshot")[0].contains("\"gap\""))
    #expect(back.texts.of("update").count == 1 && back.texts.of("update")[0].contains("\"gap\":true}]"))
    let late = comeBack(other, to: next)
    #expect(late.texts[0].contains("\"recovered\":false"))
    #expect(late.snapshotReasons == ["resume"])
    let shown = late.texts.of("snapshot")[0]
    #expect((1...7).allSatisfy { shown.contains("\"id\":\"\($0)\"") } && shown.contains("\"gap\":true}]"))
    #expect(shown.components(separatedBy: "\"gap\"").count == 2)
    #expect(back.faults.isEmpty && late.faults.isEmpty)
  }

  @Test("a stream goes on for those who are not back yet, for two minutes")
  func held() {
    for (seconds, isThere) in [(100, true), (125, false)] {
      let world = World()
      let client = subscribed(world)
      trade(world, 1...3)
      let next = restart(world, seconds: 0)
      show(next, after: world)
      trade(next, 4...5)
      next.run(milliseconds: seconds * 1000, step: 1000)
      next.publishers[0].releaseHeld(now: next.now)
      trade(next, 6...6)
      let back = comeBack(client, to: next)
      #expect(back.texts[0].contains("\"recovered\":\(isThere)"))
      #expect(back.tradeIDs[1] == (isThere ? [4, 5, 6] : nil))
      #expect(back.faults.isEmpty)
    }
  }

  @Test("other streams begin above every number that was told: no position of theirs is taken for another's")
  func otherStreams() throws {
    let world = World()
    let request =
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"quote\",\"symbols\":[\"kraken:BTC-USD\"]},{\"channel\":\"pulse\",\"symbols\":[\"kraken:BTC-USD\"]}]}"
    let client = subscribed(world, request)
    for index in 0..<9 { world.quote(990 + Int64(index), 1000) }
    world.settle()
    let before = client.streams.values.compactMap(\.seq).max() ?? 0
    #expect(before > 0)
    let next = restart(world)
    next.quote(990, 1000)
    let back = comeBack(client, to: next)
    #expect(!back.texts[0].contains("\"recovered\":true"))
    #expect(Set(back.snapshotReasons).isSubset(of: ["resume"]) && !back.snapshotReasons.isEmpty)
    next.quote(991, 1000)
    next.settle()
    #expect(back.streams.values.compactMap(\.seq).allSatisfy { $0 > before })
    #expect(back.streams.values.allSatisfy { $0.epoch == "k7" })
    #expect(back.faults.isEmpty, "\(back.faults)")
  }

  @Test("who comes back before the markets are there is answered when they are, at the latest after five seconds")
  func waits() {
    for seconds in [2, 6] {
      let world = World()
      let client = subscribed(world)
      trade(world, 1...3)
      client.leave()
      let next = restart(world, seconds: 1)
      show(next, after: world)
      next.tick()
      let directory = next.hubs[0].directory
      next.hubs[0].directory.entries = [:]
      next.hubs[0].expect(["kraken:BTC-USD"], now: next.now)
      let back = comeBack(client, to: next)
      _ = back.ask("{\"op\":\"ping\",\"id\":9}")
      #expect(back.texts.of("welcome").isEmpty && back.texts.of("pong").isEmpty)
      next.run(milliseconds: seconds * 1000)
      #expect(back.texts.of("welcome").isEmpty == (seconds == 2))
      next.hubs[0].directory = directory
      next.run(milliseconds: 200)
      let welcome = back.texts.of("welcome").first ?? ""
      #expect(welcome.contains("\"resumed\":true") && back.texts.of("pong").count == 1)
      #expect(welcome.contains(seconds == 2 ? "\"recovered\":true" : "\"code\":\"not_ready\""), "\(welcome)")
      #expect(back.faults.isEmpty, "\(back.faults)")
    }
  }

  @Test("a new stream does not get the number of one that may still come back")
  func numbers() {
    let world = World(instruments: 2)
    _ = subscribed(world, "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"status\"}]}")
    let client = subscribed(world)
    #expect(client.streams.keys.sorted() == [2])
    let numbering = world.end().numbering
    let publisher = StreamPublisher(loop: 0, loops: 1, numbering: numbering)
    var out: [Delivery] = []
    for channel in [ChannelName.status, .alerts] {
      var key = StreamKey(channel: channel, symbol: "")
      if channel == .alerts { key.owner = "alice" }
      publisher.perform(
        .join(
          JoinRequest(
            key: key, market: 0, instrument: InstrumentID(0), loop: 0, client: ClientID(slot: 0, generation: 0),
            request: 0, item: 0, reason: .subscribe)), now: world.now, into: &out)
    }
    let numbers = out.compactMap { if case .joined(let result, _, _) = $0 { result.stream.rawValue } else { nil } }
    #expect(numbers == [1, 3])
  }

  @Test("a rate class publishes what it had gathered before the run ends")
  func gathered() {
    let world = World()
    let request =
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"],\"interval_ms\":1000}]}"
    let client = subscribed(world, request)
    trade(world, 1...3)
    let next = restart(world)
    let back = comeBack(client, to: next)
    #expect(back.texts[0].contains("\"recovered\":true"))
    #expect((client.tradeIDs[1] ?? []) + (back.tradeIDs[1] ?? []) == [1, 2, 3])
  }

  @Test("a session that was paused goes on paused, and is given to its subject alone")
  func sessions() {
    let world = World()
    let client = subscribed(world)
    client.setSubject("alice")
    client.send("{\"op\":\"pause\"}")
    world.settle()
    client.leave()
    let next = restart(world)
    #expect(next.hubs[0].parkedSessions == 1)
    let thief = comeBack(client, to: next)
    #expect(thief.texts[0].contains("\"resumed\":false"))
    let twin = ModelClient(world: next, loop: 0, id: client.id)
    (twin.session, twin.streams) = (client.session, client.streams)
    let back = twin.comeBack(subject: "alice")
    #expect(back.texts[0].contains("\"resumed\":true"))
    #expect(back.texts[0].contains("\"paused\":true"))
  }

  /// The trades that a client has without one missing, as far as it knows: since the last snapshot.
  private func ids(of client: ModelClient, after before: [UInt64]) -> [UInt64] {
    client.texts.reduce(into: before) { ids, text in
      if text.hasPrefix("{\"type\":\"snapshot\"") { ids = [] }
      guard text.hasPrefix("{\"type\":\"update\"") else { return }
      ids += text.components(separatedBy: "{\"id\":\"").dropFirst().compactMap { UInt64($0.prefix { $0 != "\"" }) }
    }
  }

  @Test(
    "over many runs every trade comes once, or the client is told that some are missing", .longComputation,
    arguments: testSeeds(12))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var world = World(loops: 2)
    /// What one user has got, over all its connections.
    var users: [(client: ModelClient, before: [UInt64])] = (0..<4).map { (subscribed(world, on: $0 % 2), []) }
    var last = 0
    var recovered = 0
    for _ in 0..<12 {
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6:
          last += 1
          world.trade(id: UInt64(last), price: Int64(last))
        case 6: world.settle()
        case 7: world.step(Int.random(in: 0..<2, using: &random), count: 3)
        case 8:
          let index = Int.random(in: 0..<4, using: &random)
          users[index].client.isStuck.toggle()
        default:
          world.now = world.now + Int64.random(in: 1...900, using: &random) * Microseconds.millisecond
          world.tick()
        }
      }
      // What was published is in the streams, whether or not it came to the clients.
      let next = restart(world, loops: 2, seconds: Int64.random(in: 0...4, using: &random))
      let missed = Int.random(in: 0...2, using: &random)
      let isShown = Bool.random(using: &random)
      let old = world
      func begin() {
        if isShown { show(next, after: old, Array((last + 1)..<(last + 1 + missed))) }
        last += missed
      }
      let isEarly = Bool.random(using: &random)
      if isEarly { begin() }
      for index in users.indices {
        let old = users[index].client
        let got = ids(of: old, after: users[index].before)
        let back = comeBack(old, to: next, on: Int.random(in: 0..<2, using: &random))
        let isRecovered = back.texts[0].contains("\"recovered\":true")
        recovered += isRecovered ? 1 : 0
        users[index] = (back, isRecovered ? got : [])
      }
      if !isEarly { begin() }
      last += 1
      next.trade(id: UInt64(last), price: 1)
      next.settle()
      for user in users {
        #expect(user.client.faults.isEmpty, "seed \(seed): \(user.client.faults.first ?? "")")
        let ids = ids(of: user.client, after: user.before)
        guard let first = ids.first else { continue }
        #expect(ids == Array(first...UInt64(last)), "seed \(seed): \(ids)")
      }
      world = next
    }
    #expect(recovered > 0, "seed \(seed): nobody ever went on")
  }
}
