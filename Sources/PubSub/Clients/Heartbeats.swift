import Bytes
import MarketData

/// The cadence of one client's heartbeats, in ticks of `HeartbeatWheel`.
struct ClientHeartbeat {
  /// The tick of the next one; entries of the wheel with another are stale.
  var next: Int64 = 0
  var cadence: Int32

  init(seconds: Int) { cadence = Int32(seconds) * HeartbeatWheel.ticksPerSecond }

  var seconds: Int32 { cadence / HeartbeatWheel.ticksPerSecond }
}

/// The clients that are due for a heartbeat, and the heartbeats' report about feeds.
struct Heartbeats: ~Copyable {
  /// The shortest time between two rounds of heartbeats to everyone, µs.
  static let roundInterval = Microseconds.second
  /// A round is spread over at least this many advances.
  static let roundParts = 8

  /// The feed states that heartbeats show. A state that is news begins a round of heartbeats to everyone.
  var feeds: [FeedStatus] = [] {
    didSet {
      let isNews = feeds.count != oldValue.count || zip(feeds, oldValue).contains { $0.state != $1.state }
      if isNews { isRoundDue = true }
      if feeds.count != oldValue.count || !zip(feeds, oldValue).allSatisfy({ $0.isShownAs($1) }) { revision &+= 1 }
    }
  }
  /// Raised when answers say something else of the feeds.
  private(set) var revision: UInt64 = 0
  private var wheel = HeartbeatWheel()
  /// The `feeds` part of heartbeats, encoded once per advance.
  private var feedsText = ByteBuffer(capacity: 512)
  private var isTextStale = true
  private var isRoundDue = false
  private var roundStartedAt = Timestamp.distantPast
  /// The next slot of the round; -1: there is none.
  private var roundCursor = -1

  /// Enters a new client, or one with a new cadence. The first heartbeat comes after a part of the cadence that depends
  /// on the slot, so that clients that connected together do not get their heartbeats together.
  mutating func start(_ client: ClientID, _ heartbeat: inout ClientHeartbeat, now: Timestamp) {
    // 7919 is prime: neighbouring slots fall far apart.
    let offset = 1 + Int64(client.slot) * 7919 % Int64(heartbeat.cadence)
    heartbeat.next = wheel.base(at: now) + offset
    wheel.insert(client, at: heartbeat.next)
  }

  /// Clients that may be due; `isDue` knows whether each is.
  mutating func removeDue(at now: Timestamp) -> [ClientID] {
    isTextStale = true
    return wheel.removeDue(at: now)
  }

  /// Whether a client is due, and if so, when it will be next.
  mutating func isDue(_ client: ClientID, _ heartbeat: inout ClientHeartbeat, now: Timestamp) -> Bool {
    let tick = HeartbeatWheel.tick(at: now)
    guard heartbeat.next <= tick else { return false }
    let late = (tick - heartbeat.next) / Int64(heartbeat.cadence)
    heartbeat.next += (late + 1) * Int64(heartbeat.cadence)
    wheel.insert(client, at: heartbeat.next)
    return true
  }

  /// The slots that get a heartbeat in this advance because a feed changed its state: a part of them at each, and at
  /// most one round a second.
  /// - Parameter used: slots that clients have, from 0.
  mutating func roundSlots(used: Int, now: Timestamp) -> Range<Int> {
    if isRoundDue, roundCursor < 0, now - roundStartedAt >= Self.roundInterval {
      isRoundDue = false
      roundStartedAt = now
      roundCursor = 0
    }
    guard roundCursor >= 0 else { return 0..<0 }
    let begin = roundCursor
    let end = min(used, begin + max(256, used / Self.roundParts))
    roundCursor = end < used ? end : -1
    return begin..<max(begin, end)
  }

  /// `{"type":"heartbeat","time":…,"sent":…,"merged":…,"lost":…,"feeds":{…}}`: made when it is handed over, so that
  /// `sent` counts exactly the data frames before it. `merged` and `lost` are there once they are not 0. Feeds are
  /// those that the grant covers.
  mutating func append(
    sent: UInt64, merged: Int, lost: Int, _ grant: Grant?, now: Timestamp, to out: inout ByteBuffer
  ) {
    if isTextStale {
      isTextStale = false
      feedsText.removeAll()
      Replies.appendFeeds(feeds, now: now, to: &feedsText)
    }
    out.append("{\"type\":\"heartbeat\",\"time\":")
    out.append(integer: now.microseconds)
    out.append(",\"sent\":")
    out.append(integer: sent)
    if merged > 0 {
      out.append(",\"merged\":")
      out.append(integer: UInt64(merged))
    }
    if lost > 0 {
      out.append(",\"lost\":")
      out.append(integer: UInt64(lost))
    }
    out.append(",\"feeds\":")
    if let grant, !grant.allowsAllSymbols {
      Replies.appendFeeds(feeds.visible(to: grant.symbols), now: now, to: &out)
    } else {
      out.append(feedsText.unsafeBytes)
    }
    out.append(UInt8(ascii: "}"))
  }
}
