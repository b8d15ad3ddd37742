import Bytes
import MarketData

/// `status`: the state of every feed, whole in each message.
enum StatusChannel: Channel {
  static let facts = ChannelFacts(
    source: .feeds, names: .nothing, audience: .scope, rate: .fixed(0))
  static let data = WireDescription.ChannelData(["feeds"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { StatusStream(start) }

  /// `{"feeds":[…]}`
  static func append(_ feeds: [FeedStatus], now: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"feeds\":[")
    var isFirst = true
    for feed in feeds {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      append(feed, now: now, to: &out)
    }
    out.append("]}")
  }

  private static func append(_ feed: FeedStatus, now: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"venue\":")
    out.append(json: feed.venue)
    out.append(",\"state\":\"")
    out.append(feed.state.rawValue)
    out.append("\",\"indicator\":\"")
    out.append(feed.state.indicator)
    out.append(UInt8(ascii: "\""))
    feed.source.append(to: &out)
    out.append(",\"since\":")
    out.append(integer: feed.since.microseconds)
    if let attempt = feed.attempt {
      out.append(",\"attempt\":")
      out.append(integer: Int64(attempt))
    }
    if let reason = feed.reason {
      out.append(",\"reason\":")
      out.append(json: reason)
    }
    if let age = feed.ageMilliseconds(at: now) {
      out.append(",\"age_ms\":")
      out.append(integer: age)
    }
    if let from = feed.gapFrom {
      out.append(",\"gap\":{\"from\":")
      out.append(integer: from.microseconds)
      if let to = feed.gapTo {
        out.append(",\"to\":")
        out.append(integer: to.microseconds)
      }
      out.append(",\"backfilled\":false}")
    }
    append(feed.syncing, named: "syncing", to: &out)
    append(feed.failed, named: "failed", to: &out)
    append(feed.silent, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// `,"name":{"kraken:BTC-USD":"checksum mismatch"}` in the order of the symbols; nothing if empty.
  private static func append(_ symbols: [String: String], named name: StaticString, to out: inout ByteBuffer) {
    guard !symbols.isEmpty else { return }
    out.append(",\"")
    out.append(name)
    out.append("\":{")
    var isFirst = true
    for (symbol, reason) in symbols.sorted(by: { $0.key < $1.key }) {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      out.append(json: symbol)
      out.append(UInt8(ascii: ":"))
      out.append(json: reason)
    }
    out.append(UInt8(ascii: "}"))
  }
}

extension StatusChannel {
  /// `,"silent":{"kraken:BTC-USD":["trades"]}` in the order of the symbols; nothing if empty.
  private static func append(_ silent: [String: MarketChannels], to out: inout ByteBuffer) {
    guard !silent.isEmpty else { return }
    out.append(",\"silent\":{")
    var isFirst = true
    for (symbol, channels) in silent.sorted(by: { $0.key < $1.key }) {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      out.append(json: symbol)
      for (index, channel) in channels.list.enumerated() {
        out.append(index == 0 ? ":[\"" : ",\"")
        out.append(channel.name)
        out.append(UInt8(ascii: "\""))
      }
      out.append(UInt8(ascii: "]"))
    }
    out.append(UInt8(ascii: "}"))
  }
}

extension FeedStatus {
  /// Milliseconds since the venue last sent market data or its own heartbeat; nil if it never did.
  package func ageMilliseconds(at now: Timestamp) -> Int64? {
    lastMessage.map { max(0, (now - $0) / Microseconds.millisecond) }
  }

  /// Whether something other than the age of the last message differs.
  func differsInMoreThanAge(from other: FeedStatus) -> Bool {
    var aligned = other
    aligned.lastMessage = lastMessage
    return self != aligned
  }
}

/// A stream of the states of the feeds.
final class StatusStream: PublishedStream {
  override func wake(in publisher: StreamPublisher) {
    publisher.feeds.add(self)
    isShown = true
  }

  override func sleep(in publisher: StreamPublisher) { publisher.feeds.remove(self) }

  override func flush(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    publisher.update(self, events: 0, now: now, into: &out) {
      StatusChannel.append(publisher.feeds.visible(to: key.scope), now: now, to: &$0)
    }
  }

  override func appendSnapshot(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    StatusChannel.append(publisher.feeds.visible(to: key.scope), now: now, to: &out)
    return true
  }

  override var hasAges: Bool { true }
}

/// The states of the feeds, and the streams that show them. Loop 0 has them.
struct FeedStreams {
  private(set) var streams: [StatusStream] = []
  private var feeds: [FeedStatus] = []

  func visible(to scope: [SymbolRules]) -> [FeedStatus] { feeds.visible(to: scope) }

  mutating func add(_ stream: StatusStream) { streams.append(stream) }
  mutating func remove(_ stream: StatusStream) { streams.removeAll { $0 === stream } }

  /// Replaces the states. Returns whether something other than an age changed.
  mutating func set(_ status: [FeedStatus]) -> Bool {
    defer { feeds = status }
    return status.count != feeds.count || zip(status, feeds).contains { $0.differsInMoreThanAge(from: $1) }
  }
}
