import Logging
import MarketData
import PubSub
import TestTraits
import Testing
import Transport
import VenueSimulator
import Venues

@testable import Feeds

/// A session over sockets, against a simulated exchange.
@Suite("A feed's session", .realTime)
struct FeedSessionTests {
  /// What an owner of a session saw until the feed was live, and after it stopped it then.
  private struct Seen: Sendable {
    var messages = 0
    /// The most messages that one call took.
    var mostPerCall = 0
    /// Calls that began with changes that were not published.
    var unsettled = 0
    /// Batches of changes to publish.
    var batches = 0
    /// The states, as the news of them came.
    var states: [FeedState] = []
    /// Whether the session took a message of its transport after its end.
    var tookLate = false
  }

  /// Owns a session, and keeps what comes. Owned by one loop.
  private final class Owner: FeedHandler {
    private let session: FeedSession
    private let loop: EventLoop
    private let completion: (Seen) -> Void
    private var seen = Seen()
    private var transport: Connection?
    private var isOver = false
    private var now: Timestamp { Timestamp(microseconds: loop.kernel.wallMicroseconds()) }

    init(_ pipeline: FeedPipeline, _ loop: EventLoop, completion: @escaping (Seen) -> Void) {
      self.loop = loop
      self.completion = completion
      session = FeedSession(
        pipeline: pipeline, slot: 0, loop: loop,
        parts: FeedParts(tls: nil, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }),
        now: Timestamp(microseconds: loop.kernel.wallMicroseconds()))
    }

    /// Ticks keep the owner alive until the end.
    func start() {
      session.handler = self
      session.start(now)
      settle()
      tick()
    }

    private func tick() {
      session.tick(now)
      settle()
      session.check(now)
      settle()
      if session.status.state == .live, transport != nil { return finish() }
      loop.schedule(after: .milliseconds(20)) { [self] in tick() }
    }

    private func settle() {
      repeat {
        if session.takeNews().isStatusChanged, seen.states.last != session.status.state {
          seen.states.append(session.status.state)
        }
        if !session.pipeline.changes.items.isEmpty { seen.batches += 1 }
      } while session.settled(now)
      if session.takeNews().isStatusChanged, seen.states.last != session.status.state {
        seen.states.append(session.status.state)
      }
    }

    private func finish() {
      session.stop(now)
      settle()
      // A text frame `{}` of the venue.
      var bytes: [UInt8] = [0x81, 2, 0x7B, 0x7D]
      if let transport {
        bytes.withUnsafeMutableBytes { frame in
          var input = frame
          seen.tookLate = session.receive(&input, from: transport, now)
        }
      }
      seen.messages = session.pipeline.counts.messages
      completion(seen)
    }

    func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
      transport = connection
      var input = bytes
      var isTaken = true
      while isTaken {
        if !session.pipeline.changes.items.isEmpty { seen.unsettled += 1 }
        let before = session.pipeline.counts.messages
        isTaken = session.receive(&input, from: connection, now)
        seen.mostPerCall = max(seen.mostPerCall, session.pipeline.counts.messages - before)
        if isTaken { settle() }
      }
    }

    func connectionDidDrain(_ connection: Connection) {}

    func connectionDidClose(_ connection: Connection, reason: CloseReason) {
      if session.closed(connection, reason, now) { settle() }
    }

    func feedArrived() { while session.takeArrival(now) { settle() } }
  }

  @Test("what is asked for behind the end of a connection is not done on it; what the venue said of symbols counts")
  func behindTheEnd() async throws {
    let loop = try EventLoop(index: 0, label: "test.feed")
    defer { loop.shutdown {} }
    let venue = try #require(VenueRegistry.venue(named: "binance"))
    let configuration = FeedConfiguration(
      symbols: ["BTC-USDT"], endpoint: "ws://127.0.0.1:1", restEndpoint: "http://127.0.0.1:1")
    let (state, failed) = await withCheckedContinuation { continuation in
      loop.execute {
        let now = Timestamp(microseconds: loop.kernel.wallMicroseconds())
        let session = FeedSession(
          pipeline: FeedPipeline(venue: venue.parts[0], configuration: configuration), slot: 0, loop: loop,
          parts: FeedParts(tls: nil, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }), now: now)
        session.start(now)
        session.pipeline.engine.actions = [
          .reconnect(reason: "over"), .send("late"), .get(request: 7, path: "/late", bodyLimit: 1_024),
          .renew(reason: "late", within: Microseconds.second), .maintenance(true),
          .symbolFailed(symbol: "BTC-USDT", reason: "not listed"),
        ]
        _ = session.settled(now)
        let seen = (session.status.state, session.status.failed.keys.sorted())
        session.stop(now)
        continuation.resume(returning: seen)
      }
    }
    #expect(state == .reconnecting)
    #expect(failed == ["binance:BTC-USDT"])
  }

  @Test("it hands back one message at a time and its news, and takes nothing after its end")
  func oneAtATime() async throws {
    let loop = try EventLoop(index: 0, label: "test.feed")
    let venueLoop = try EventLoop(index: 0, label: "test.venue")
    let exchange = try SimulatedExchange(
      venue: "kraken", seed: 3, rate: 500, listen: SocketAddress(host: "127.0.0.1", port: 0), tls: nil, loop: venueLoop)
    defer {
      exchange.stop()
      loop.shutdown {}
      venueLoop.shutdown {}
    }
    let venue = try #require(VenueRegistry.venue(named: "kraken"))
    let configuration = FeedConfiguration(
      symbols: Array(SimulatedVenue.symbols(of: "kraken").prefix(2)), endpoint: exchange.webSocketURL,
      restEndpoint: exchange.restURL)
    let seen = await withCheckedContinuation { continuation in
      loop.execute {
        Owner(FeedPipeline(venue: venue, configuration: configuration), loop) { continuation.resume(returning: $0) }
          .start()
      }
    }
    #expect(seen.messages > 4 && seen.mostPerCall == 1 && seen.unsettled == 0, "\(seen)")
    #expect(seen.batches > 0, "\(seen)")
    #expect(seen.states.filter { $0 != .connecting } == [.syncing, .live, .disconnected], "\(seen)")
    #expect(!seen.tookLate)
  }
}
