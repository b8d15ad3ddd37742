import PubSub
import Transport

/// The end of a node: at leisure, or now.
extension LoopNode {
  /// Sends the clients away over `window` µs, and takes no new ones. Feeds go on for those who are still there. On the loop.
  func beginDrain(window: Int64) {
    loop.assertOnLoop()
    isDraining = true
    endsAt = loop.moment + window
    fanOut.drain(window: window, now: clock.now(), into: &actions)
    for session in httpSessions.sessions { session.closeForDrain(atOnce: false) }
  }

  /// Closes every client: 4201 where the protocol is spoken. They have `limit` µs to answer. On the loop.
  func closeAll(within limit: Int64) {
    loop.assertOnLoop()
    isDraining = true
    endsAt = min(endsAt, loop.moment + limit)
    for timer in timers { timer.cancel() }
    stopFeeds()
    for case let session? in sessions {
      writeControl(to: session)
      session.close(code: CloseCode.draining, reason: "the gateway is going down; reconnect")
    }
    for session in httpSessions.sessions { session.closeForDrain() }
  }

  /// Ends the feeds for good: the connections that go with the loops are then no failures. On the loop.
  func stopFeeds() {
    loop.assertOnLoop()
    for feed in feeds { feed.stop() }
  }

  /// Calls `body` when no client is left, or at `endsAt`. On the loop.
  func whenEmpty(_ body: @escaping () -> Void) {
    if openClients == 0 || loop.moment >= endsAt { return body() }
    loop.schedule(after: 10_000_000) { [self] in whenEmpty(body) }
  }

  var openClients: Int { sessions.reduce(0) { $0 + ($1 == nil ? 0 : 1) } }
}
