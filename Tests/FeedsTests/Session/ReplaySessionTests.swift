import Foundation
import Logging
import MarketData
import PubSub
import Recordings
import Testing
import Transport
import Venues

@testable import Feeds

@Suite("A replayed feed")
struct ReplaySessionTests {
  private static let messages = [
    #"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.2"]],"bids":[["80688.08","0.5"]]}"#,
    #"{"type":"match","trade_id":7,"side":"sell","size":"0.1","price":"80691.53","product_id":"BTC-USD","#
      + #""time":"2026-08-25T03:35:57Z"}"#,
  ]

  /// What an owner saw of a whole recording.
  private struct Seen: Sendable {
    /// The states, as the news of them came; nil stands for changes to publish.
    var steps: [FeedState?] = []
    /// The most records that one call played.
    var mostPerCall = 0
    /// Calls that began with changes that were not published.
    var unsettled = 0
    var lateRecords = 0
  }

  private final class Owner: FeedHandler {
    private let session: ReplaySession
    private let replayer: Replayer
    private let now = Timestamp(microseconds: 1_790_000_000_000_000)
    var seen = Seen()

    init(_ replayer: Replayer, _ loop: EventLoop) {
      self.replayer = replayer
      session = ReplaySession(
        replayer: replayer, origin: Timestamp(microseconds: 1), speed: .fastest, slot: 0, loop: loop,
        log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: now)
    }

    func run() {
      session.handler = self
      session.start(now)
      settle()
      session.stop(now)
      settle()
      let played = replayer.recordsPlayed
      feedArrived()
      seen.lateRecords = replayer.recordsPlayed - played
    }

    func feedArrived() {
      var isTaken = true
      while isTaken {
        if !session.pipeline.changes.items.isEmpty { seen.unsettled += 1 }
        let before = replayer.recordsPlayed
        isTaken = session.takeArrival(now)
        seen.mostPerCall = max(seen.mostPerCall, replayer.recordsPlayed - before)
        if isTaken { settle() }
      }
    }

    private func settle() {
      repeat {
        if session.takeNews().isStatusChanged, seen.steps.last(where: { $0 != nil }) != session.status.state {
          seen.steps.append(session.status.state)
        }
        if !session.pipeline.changes.items.isEmpty, seen.steps.last != .some(nil) { seen.steps.append(nil) }
      } while session.settled(now)
    }

    func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {}
    func connectionDidDrain(_ connection: Connection) {}
    func connectionDidClose(_ connection: Connection, reason: CloseReason) {}
  }

  @Test("its owner publishes each record before the next is played, and learns its states in order")
  func inOrder() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).ndjson.gz")
      .path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let writer = try RecordingWriter(
      path: path,
      header: RecordingHeader(
        venue: "coinbase", market: "spot", symbols: ["BTC-USD"], channels: [], started: Timestamp(microseconds: 1)))
    try writer.open(
      url: "wss://ws-feed.exchange.coinbase.com", connection: 0, at: Timestamp(microseconds: 1))
    for (index, message) in Self.messages.enumerated() {
      try Array(message.utf8).withUnsafeBytes {
        try writer.text($0, connection: 0, at: Timestamp(microseconds: Int64(2 + index)))
      }
    }
    try writer.finish()
    let loop = try EventLoop(index: 0, label: "test.replay")
    defer { loop.shutdown {} }
    let seen: Seen = try await withCheckedThrowingContinuation { continuation in
      loop.execute {
        do {
          let owner = Owner(try Replayer(path: path), loop)
          owner.run()
          continuation.resume(returning: owner.seen)
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
    #expect(seen.mostPerCall == 1 && seen.unsettled == 0 && seen.lateRecords == 0, "\(seen)")
    // The book is live before its first changes are published, and all of them are before the end.
    #expect(seen.steps.filter { $0 != nil } == [.syncing, .live, .disconnected], "\(seen)")
    #expect(seen.steps.suffix(3) == [.live, nil, .disconnected], "\(seen)")
  }
}
