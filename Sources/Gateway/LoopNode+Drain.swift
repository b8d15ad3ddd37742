import Feeds
import HTTPAPI
import PubSub
import Transport

/// The progress of a node's end.
struct NodeEnding {
  /// Whether clients are being closed, over a span of time or at once.
  var isDraining = false
  /// Whether the feeds have ended and the next process has everything, while clients are still here.
  var isFrozen = false
  /// Whether clients that connected before are still accepted: the next process has none of their connections.
  var takesLatecomers = false
  /// When the remaining clients are closed, monotonic µs.
  var deadline = Int64.max
  /// Until when the node waits for HTTP requests of present connections and answers them, monotonic µs.
  fileprivate var answersUntil = Int64.min
  /// When the node last checked.
  fileprivate var lookedAt: Int64?
  /// Whether the remaining clients have been closed, and have until `deadline` to read the reason.
  fileprivate var isLast = false
}

/// The end of a node: a drain over a span of time, or at once.
extension LoopNode {
  /// How often a draining node checks for remaining clients.
  private static let lookInterval: Duration = .milliseconds(10)
  /// A check that is later than this is not due to work: the process or the machine stood still in the meantime, µs.
  private static let stallAfter: Int64 = 250_000
  /// How long a drain waits for the first request of a connection, µs. This process accepted it, so no other can
  /// answer it.
  private static let answerTime: Int64 = 1_000_000
  /// How long clients that have not answered the close frame have to read it, µs.
  private static let lastTime: Int64 = 900_000

  /// Whether a new request for a stream is refused.
  var isShut: Bool { isDraining && !ending.takesLatecomers }

  /// Whether a connection that this process accepted before its drain, and that comes to the node only now, gets an
  /// answer to its first request: no other process can give it.
  var answersLatecomers: Bool { loop.moment < ending.answersUntil }

  /// Answers the HTTP requests that have come or are on their way, ends their connections, and calls `body`, after
  /// `NodeSettings.handOverAnswerTime` at the latest. Clients that connect again wait for the next process. On the
  /// loop.
  func endRequests(then body: @escaping () -> Void) {
    loop.assertOnLoop()
    endRequests(until: loop.moment + settings.handOverAnswerTime, then: body)
  }

  private func endRequests(until deadline: Int64, then body: @escaping () -> Void) {
    for session in clients.httpSessions.sessions { session.closeForDrain(atOnce: false) }
    // A connection that has requested nothing until then is taken in later.
    guard loop.moment < deadline, clients.httpSessions.sessions.contains(where: \.owesAnswer) else { return body() }
    loop.schedule(after: Self.lookInterval) { [self] in endRequests(until: deadline, then: body) }
  }

  /// Ends the feeds, and hands streams and sessions over to the next process. Clients learn that their data no longer
  /// changes, and from then on receive only heartbeats. On the loop. O(feeds + streams + clients).
  func freeze() {
    loop.assertOnLoop()
    guard !ending.isFrozen else { return }
    for observer in services.observers { observer.stop() }
    feeds.handOver()
    history?.keepStreams()
    ending.isFrozen = true
  }

  /// Closes the clients over `window` µs, and accepts no new ones. Feeds continue for the remaining clients. On the
  /// loop.
  /// - Parameter takesLatecomers: whether clients that have connected already are still accepted; they are closed with
  ///   the last ones.
  func beginDrain(window: Int64, takesLatecomers: Bool = false) {
    loop.assertOnLoop()
    ending.isDraining = true
    ending.takesLatecomers = takesLatecomers
    ending.deadline = loop.moment + window
    ending.answersUntil = loop.moment + Self.answerTime
    hub.drain(window: window, now: clock.now(), into: &work.actions)
    for session in clients.httpSessions.sessions { session.closeForDrain(atOnce: false) }
  }

  /// Closes every client, those of the stream with 4201. They have `limit` µs to answer. On the loop.
  func closeAll(within limit: Int64) {
    loop.assertOnLoop()
    ending.isDraining = true
    ending.deadline = min(ending.deadline, loop.moment + limit)
    ending.answersUntil = .min
    stopTicks()
    stopFeeds()
    for case let session? in clients.sessions {
      clients.writeControl(to: session)
      session.close(code: CloseCode.draining, reason: "the gateway is shutting down; reconnect")
    }
    for session in clients.httpSessions.sessions { session.closeForDrain() }
  }

  /// Ends the feeds for good, so that connections that end with the loops do not count as failures. On the loop.
  func stopFeeds() {
    loop.assertOnLoop()
    for observer in services.observers { observer.stop() }
    feeds.stop()
  }

  /// Calls `body` when no client is left, or when the remaining clients have had their time. On the loop.
  ///
  /// Time in which the process was suspended does not count: after it, the gateway must still notify the clients whose
  /// moment has passed. At the deadline it notifies all remaining clients and gives them a last second to read the
  /// notice. The kernel resets a connection that is closed with unread bytes, and a reset destroys data that the peer
  /// has not read.
  func whenEmpty(_ body: @escaping () -> Void) {
    let moment = loop.moment
    if let last = ending.lookedAt, moment - last > Self.stallAfter { ending.deadline += moment - last }
    ending.lookedAt = moment
    let isOwed = moment < ending.answersUntil && clients.httpSessions.sessions.contains { $0.owesAnswer }
    if clients.openCount == 0, !isOwed, !ending.isLast || !loop.hasLingeringConnections { return body() }
    if moment >= ending.deadline {
      if ending.isLast { return body() }
      ending.isLast = true
      ending.deadline = moment + Self.lastTime
      closeAll(within: Self.lastTime)
      for case let session? in clients.sessions { session.endConnection() }
    }
    loop.schedule(after: Self.lookInterval) { [self] in whenEmpty(body) }
  }
}
