import Foundation
import MarketData
import Testing

@testable import PubSub

@Suite("Coming back to a session")
struct ResumeTests {
  private static let trades =
    "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}"

  private func subscribed(_ world: World, on loop: Int = 0, _ request: String = trades) -> ModelClient {
    let client = world.client(on: loop)
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

  @Test(
    "trades that came between are replayed, wherever the connection was cut and on whatever loop the client comes back",
    arguments: 0...12, [0, 1])
  func replay(cut: Int, loop: Int) throws {
    let world = World(loops: 2)
    let client = subscribed(world)
    if cut > 0 { trade(world, 1...cut) }
    client.leave()
    world.settle()
    if cut < 12 { trade(world, (cut + 1)...12) }
    let back = client.comeBack(on: loop)
    let welcome = try #require(back.texts.first)
    #expect(welcome.hasPrefix("{\"type\":\"welcome\""))
    #expect(welcome.contains("\"resumed\":true"))
    #expect(welcome.contains("\"recovered\":true"), "\(welcome)")
    trade(world, 13...14)
    #expect(back.texts.of("snapshot").isEmpty)
    #expect((client.tradeIDs[2] ?? []) + (back.tradeIDs[2] ?? []) == Array(1...14))
    #expect(back.faults.isEmpty, "\(back.faults)")
  }

  @Test("more than 2,000 trades behind, the stream starts with a snapshot and says so: no part of them is replayed")
  func tooFar() {
    for missed in [2_000, 2_001] {
      let world = World()
      let client = subscribed(world)
      trade(world, 1...5)
      client.leave()
      for id in 6...(missed + 5) { world.trade(id: UInt64(id), price: 1) }
      world.carry()
      let back = client.comeBack()
      if missed == 2_000 {
        #expect(back.texts[0].contains("\"recovered\":true"))
        #expect(back.tradeIDs[1] == Array(6...UInt64(missed + 5)))
        #expect(back.notices.isEmpty)
      } else {
        #expect(back.texts[0].contains("\"recovered\":false"))
        #expect(back.snapshotReasons == ["resume"])
        #expect(back.tradeIDs[1] == nil)
      }
      #expect(back.faults.isEmpty)
    }
  }

  @Test("within 120 s; later the session and its streams are gone")
  func expiry() {
    for (milliseconds, isThere) in [(119_000, true), (121_000, false)] {
      let world = World()
      let client = subscribed(world)
      trade(world, 1...3)
      client.leave()
      world.run(milliseconds: milliseconds, step: 1000)
      trade(world, 4...6)
      let back = client.comeBack()
      #expect(back.texts[0].contains("\"resumed\":\(isThere)"))
      #expect(back.texts[0].contains("\"recovered\":\(isThere)"))
      #expect(back.snapshotReasons == (isThere ? [] : ["resume"]))
      #expect(world.hubs[0].parkedSessions == 0)
      #expect(back.faults.isEmpty)
    }
  }

  @Test("a wall clock that is set forward by an hour ends no session")
  func clockStep() {
    let world = World()
    let client = subscribed(world)
    trade(world, 1...3)
    client.leave()
    world.step(by: 3600 * Microseconds.second)
    world.run(milliseconds: 1000)
    trade(world, 4...6)
    let back = client.comeBack()
    #expect(back.texts[0].contains("\"resumed\":true"))
    #expect(back.tradeIDs[1] == [4, 5, 6])
  }

  @Test(
    "a connection that has not noticed its end is closed with 4202, on its loop, and its session goes on",
    arguments: [0, 1])
  func takeOver(loop: Int) {
    let world = World(loops: 2)
    let client = subscribed(world)
    trade(world, 1...3)
    client.isStuck = true
    trade(world, 4...6)
    let back = client.comeBack(on: loop)
    #expect(world.closed.map(\.code) == [4202])
    #expect(world.closed.first?.loop == 0)
    #expect(world.closed.first?.client == client.id)
    #expect(back.texts[0].contains("\"resumed\":true"))
    #expect(back.tradeIDs[2] == [4, 5, 6])
    // The old connection's end comes later, and leaves the new one alone; the token has been used.
    client.leave()
    world.run(milliseconds: 20_000, step: 1000)
    trade(world, 7...7)
    #expect(back.tradeIDs[2] == [4, 5, 6, 7])
    let third = client.comeBack(on: 1 - loop)
    #expect(third.texts[0].contains("\"resumed\":false"))
    #expect(third.texts[0].contains("\"recovered\":false") || third.tradeIDs[2] == [4, 5, 6, 7])
    #expect(back.faults.isEmpty && third.faults.isEmpty)
  }

  @Test(
    "tokens that are none, or of somebody else, resume nothing; positions count all the same",
    arguments: [
      "", "s_", "s_S", "s_S.0.0", "s_S.9.0.1", "s_S.0.ffffffffff.1", "s_T.0.0.1", "s_S.0.0.2", "s_S.-1.0.1", "S.0.0.1",
      "s_0.0.0.1", "s_S0.0.0.1", "s_S.0.0.1.1",
    ])
  func badToken(text: String) {
    // That of the session is `s_S.0.0.1`.
    let token = text.replacing("S", with: String(repeating: "0", count: 24))
      .replacing("T", with: "1" + String(repeating: "0", count: 23))
    let world = World()
    let client = subscribed(world)
    let other = subscribed(world)
    trade(world, 1...3)
    client.leave()
    trade(world, 4...4)
    let back = client.comeBack(session: token)
    #expect(back.texts[0].contains("\"resumed\":false"))
    #expect(back.tradeIDs[1] == [4])
    #expect(world.closed.isEmpty)
    #expect(other.faults.isEmpty && back.faults.isEmpty)
  }

  @Test("a session is given to nobody but its subject")
  func subject() {
    let world = World()
    let client = subscribed(world)
    client.setSubject("alice")
    let thief = client.comeBack()
    #expect(thief.texts[0].contains("\"resumed\":false"))
    #expect(world.closed.isEmpty)
    client.leave()
    let again = client.comeBack()
    #expect(again.texts[0].contains("\"resumed\":false"))
    let back = client.comeBack(subject: "alice")
    #expect(back.texts[0].contains("\"resumed\":true"))
  }

  @Test(
    "a position that says nothing here is answered with a snapshot: of another epoch, in the future, of another class",
    arguments: [("k6", 3, 1, "epoch"), ("k7", 99, 1, "resume"), ("k7", 3, 7, "resume")])
  func badPosition(epoch: String, seq: Int, stream: Int, reason: String) {
    let world = World()
    let client = subscribed(world)
    trade(world, 1...5)
    client.leave()
    let back = world.client()
    _ = back.ask(
      "{\"op\":\"hello\",\"id\":1,\"resume\":{\"session\":\"\(client.session)\",\"streams\":[{\"channel\":\"trades\",\"symbol\":\"kraken:BTC-USD\",\"stream\":\(stream),\"epoch\":\"\(epoch)\",\"seq\":\(seq)}]}}"
    )
    #expect(back.texts[0].contains("\"recovered\":false"))
    #expect(back.snapshotReasons == [reason])
    #expect(back.faults.isEmpty)
  }

  @Test("one bad item never spoils the others")
  func items() throws {
    let world = World()
    let client = subscribed(world)
    trade(world, 1...3)
    client.leave()
    let back = world.client()
    back.resumed = client.streams
    back.resumed[1]?.seq = 2
    let good = "{\"channel\":\"trades\",\"symbol\":\"kraken:BTC-USD\",\"epoch\":\"k7\",\"seq\":2}"
    let bad = [
      "{\"channel\":\"trades\",\"symbol\":\"kraken:FOO-USD\",\"epoch\":\"k7\",\"seq\":2}",
      "{\"channel\":\"trades\",\"symbol\":\"kraken:*\",\"epoch\":\"k7\",\"seq\":2}",
      "{\"channel\":\"trades\",\"symbol\":\"kraken:BTC-USD\",\"seq\":2}",
      "{\"channel\":\"trades\",\"symbol\":\"kraken:BTC-USD\",\"epoch\":\"k7\",\"seq\":-1}",
      "{\"channel\":\"trdaes\",\"symbol\":\"kraken:BTC-USD\",\"epoch\":\"k7\",\"seq\":2}", "7",
    ]
    let texts = back.ask(
      "{\"op\":\"hello\",\"id\":1,\"resume\":{\"session\":\"\(client.session)\",\"streams\":[\(bad.joined(separator: ",")),\(good)]}}"
    )
    let welcome = try #require(
      JSONSerialization.jsonObject(with: Data(texts[0].utf8)) as? [String: Any])
    let failed = welcome["failed"] as? [[String: Any]] ?? []
    #expect(
      failed.map { ($0["error"] as? [String: Any])?["code"] as? String } == [
        "unknown_symbol", "bad_request", "bad_request", "bad_request", "unknown_channel", "bad_request",
      ])
    #expect((welcome["ok"] as? [[String: Any]])?.count == 1)
    #expect(welcome["total"] as? Int == 1)
    #expect(back.tradeIDs[1] == [2, 3])
    #expect(back.faults.isEmpty)
    for wrong in ["7", "{\"streams\":7}", "{\"streams\":{}}"] {
      #expect(world.client().ask("{\"op\":\"hello\",\"resume\":\(wrong)}")[0].contains("`resume` must be"))
    }
  }

  @Test("a paused session comes back paused, and gets snapshots when it goes on")
  func paused() {
    let world = World()
    let client = subscribed(world)
    trade(world, 1...3)
    _ = client.ask("{\"op\":\"pause\"}")
    client.leave()
    trade(world, 4...6)
    let back = client.comeBack()
    #expect(back.texts[0].contains("\"paused\":true"))
    #expect(back.texts[0].contains("\"recovered\":false"))
    trade(world, 7...8)
    #expect(back.texts.count == 1)
    _ = back.ask("{\"op\":\"resume\"}")
    #expect(back.snapshotReasons == ["resume"])
    trade(world, 9...9)
    #expect(back.tradeIDs[1] == [9])
    #expect(back.faults.isEmpty)
  }

  @Test("a book gets the differences while they are smaller than a snapshot, and nothing if nothing happened")
  func book() {
    let request =
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"],\"depth\":25}]}"
    for changes in [0, 1, 3, 60] {
      let world = World()
      world.book(
        0, .snapshot, bids: (1...25).map { (1000 - $0, 1_000_000) }, asks: (1...25).map { (1000 + $0, 1_000_000) })
      let other = subscribed(world, request)
      let client = subscribed(world, request)
      client.leave()
      for change in 0..<changes {
        world.book(0, .delta, bids: [(990, Int64(change + 5))], asks: [])
        world.settle()
      }
      let back = client.comeBack()
      #expect(back.texts[0].contains("\"recovered\":\(changes < 60)"), "\(changes)")
      #expect(back.texts.of("update").count == (changes < 60 ? changes : 0))
      #expect(back.snapshotReasons == (changes < 60 ? [] : ["resume"]))
      world.book(0, .delta, bids: [(991, 77)], asks: [])
      world.settle()
      #expect(back.streams[1].map { ModelClient.text(of: $0) } == other.streams[1].map { ModelClient.text(of: $0) })
      #expect(back.faults.isEmpty)
    }
  }

  @Test("a quote gets a snapshot, or nothing if it is still the last")
  func quote() {
    let request = "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"quote\",\"symbols\":[\"kraken:BTC-USD\"]}]}"
    for changes in [0, 1] {
      let world = World()
      world.quote(1, 2)
      let other = subscribed(world, request)
      let client = subscribed(world, request)
      client.leave()
      if changes > 0 { world.quote(2, 3) }
      world.settle()
      let back = client.comeBack()
      #expect(back.snapshotReasons == (changes > 0 ? ["resume"] : []))
      world.quote(3, 4)
      world.settle()
      #expect(back.texts.of("update").count == 1)
      #expect(back.faults.isEmpty && other.faults.isEmpty)
    }
  }

  @Test("a book that went out of sync and back is another one, whatever its number")
  func resync() {
    let request = "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"]}]}"
    let world = World()
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    let other = subscribed(world, request)
    let client = subscribed(world, request)
    client.leave()
    world.apply { $0.events.append(.bookReset(InstrumentID(0), .gap)) }
    world.settle()
    let early = client.comeBack()
    #expect(early.texts[0].contains("\"recovered\":false"))
    #expect(early.snapshotReasons == [])
    world.book(0, .snapshot, bids: [(11, 1)], asks: [(20, 1)])
    world.settle()
    #expect(early.snapshotReasons == ["resync"])
    let back = client.comeBack()
    #expect(back.texts[0].contains("\"recovered\":false"))
    #expect(back.snapshotReasons == ["resume"])
    #expect(back.faults.isEmpty && early.faults.isEmpty && other.faults.isEmpty)
  }

  @Test("a publisher that keeps no messages has nothing to replay, and gives a snapshot")
  func forgetful() {
    let world = World(remembers: false)
    let client = subscribed(world)
    trade(world, 1...3)
    client.leave()
    trade(world, 4...5)
    #expect(world.publishers[0].ringBytes == 0)
    let back = client.comeBack()
    #expect(back.texts[0].contains("\"recovered\":false"))
    #expect(back.snapshotReasons == ["resume"])
    #expect(back.faults.isEmpty)
  }

  @Test("streams that nobody subscribes to any more keep their numbers, and are counted")
  func kept() {
    let world = World()
    let client = subscribed(world)
    #expect(world.publishers[0].subscribedStreams == 1)
    #expect(world.publishers[0].keptStreams == 1)
    _ = client.ask("{\"op\":\"unsubscribe\",\"all\":true}")
    world.settle()
    #expect(world.publishers[0].subscribedStreams == 0)
    #expect(world.publishers[0].keptStreams == 1)
  }

  @Test("the oldest session goes when too many are parked, and its streams with it")
  func bounded() {
    var limits = ClientLimits()
    limits.parkedSessions = 3
    let world = World(limits: limits)
    let clients = (0..<5).map { _ in subscribed(world) }
    for client in clients { client.leave() }
    world.settle()
    #expect(world.hubs[0].parkedSessions == 3)
    #expect(world.publishers[0].subscribedStreams == 1)
    #expect(clients[1].comeBack().texts[0].contains("\"resumed\":false"))
    #expect(clients[4].comeBack().texts[0].contains("\"resumed\":true"))
    for client in world.clients { client.leave() }
    world.run(milliseconds: 125_000, step: 1000)
    #expect(world.hubs[0].parkedSessions == 0)
    #expect(world.publishers[0].subscribedStreams == 0)
    #expect(world.publishers[0].ringBytes == 0)
  }
}
