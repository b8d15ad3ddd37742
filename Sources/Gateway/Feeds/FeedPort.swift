import Feeds
import Transport

/// Where the loop calls for one feed: hands what comes to the feed, and publishes what that changed before it hands on
/// the next message. Owned by one loop.
final class FeedPort: FeedHandler {
  private unowned let node: LoopNode
  private let feed: any Feed
  /// The feed, if it has connections.
  private let session: FeedSession?

  init(_ feed: any Feed, of node: LoopNode) {
    self.node = node
    self.feed = feed
    session = feed as? FeedSession
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    guard let session else { return }
    let now = node.clock.now()
    var input = bytes
    while session.receive(&input, from: connection, now) { node.feeds.settle(session, now) }
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    guard let session else { return }
    let now = node.clock.now()
    if session.closed(connection, reason, now) { node.feeds.settle(session, now) }
  }

  func feedArrived() {
    repeat {
      let now = node.clock.now()
      guard feed.takeArrival(now) else { return }
      node.feeds.settle(feed, now)
    } while true
  }
}
