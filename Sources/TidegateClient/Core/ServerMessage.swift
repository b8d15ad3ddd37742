import Bytes
import Foundation

/// A parsed message of `tidegate.v1`.
enum ServerMessage {
  struct StreamMessage {
    var isSnapshot: Bool
    var channel: Channel
    var stream: Int64
    var prev: UInt64?
    var seq: UInt64
    var data: StreamData
  }

  struct Accepted {
    var stream: Int64
    var channel: String
    var symbol: String
    var seq: UInt64?
    /// The stream that the subscription had before.
    var from: Int64?
    var epoch: String?
    var priceIncrement: ExactDecimal?
    /// Whether a stream that was resumed continues where it stopped.
    var isRecovered: Bool?
  }

  /// An item of a request that was refused.
  struct Failure {
    var channel = ""
    var symbol = ""
    var code = ""
    var message = ""
    var hint = ""
    /// When it can be requested again.
    var retryAfterMilliseconds: Int64?
  }

  struct ErrorReply {
    var id: Int64?
    var code: String
    var message: String
    var hint: String
    var retry: Bool
    var retryAfterMilliseconds: Int64?
  }

  /// The streams are those of a resumed session.
  case welcome(id: Int64?, Welcome, ok: [Accepted], failed: [Failure])
  case subscribed(id: Int64?, ok: [Accepted], failed: [Failure])
  /// The answer to a request without data.
  case done(id: Int64?)
  /// Subscriptions have new streams: the answer to `configure` (with its `id`) or part of a notice.
  case moved(id: Int64?, [Accepted], Notice?)
  case stream(StreamMessage)
  case heartbeat(Heartbeat)
  case notice(Notice)
  /// Messages of a stream that the gateway will not send.
  case lost(stream: Int64, from: UInt64, to: UInt64, events: Int64?)
  /// The token expires soon.
  case expiring
  case error(ErrorReply)
  /// The answer to a request about an alert: its present state; nil: it was deleted.
  case answer(id: Int64?, Alert?)
  /// Data of a channel that this version does not know.
  case unknownData
  /// A type that this version does not know.
  case unknown
}

/// What the `data` of a snapshot or update holds.
enum StreamData {
  /// The whole value.
  case payload(Payload)
  /// The last known value of a channel that died alone at the exchange, with the reason.
  case silent(Payload, String)
  /// Trades, and those that the gateway says it did not get before them.
  /// - Parameter silence: why there are none, if the channel died alone at the exchange.
  case trades([Trade], lost: LostTrades?, silence: String?)
  /// All levels, or those that changed.
  case levels(BookLevels)
  /// A whole sparkline, without its symbol.
  case sparkline(Sparkline)
  /// The last candles, or those that changed.
  case candles([CandleSeries.Candle])
  /// Documents of a topic, in the order of their numbers.
  case documents([TopicDocument])
  /// All rules, or those that changed.
  case alerts(AlertChange)
  /// The book is out of sync with the exchange: the reason.
  case outOfSync(String)
  /// A change of one point of a sparkline.
  case sparklineChange(index: Int64, price: ExactDecimal, from: Int64?, SparklineMove)
}

/// Trades that the gateway did not get from the exchange.
struct LostTrades {
  /// Their number; nil if it is unknown.
  var count: Int?
}

extension ServerMessage {
  /// Reads one message. O(length).
  init(parsing text: [UInt8]) throws {
    var fields = Fields()
    var json = JSONScanner(text.span.bytes)
    try json.objectStart()
    while let key = try json.nextKey() { try fields.read(key, &json) }
    try json.end()
    self = try fields.message(text)
  }
}

/// The fields of any message, gathered before its type is known: JSON objects have no order.
private struct Fields {
  var type = "", channel = "", symbol = "", session = "", node = "", version = ""
  var code = "", message = "", hint = "", action = ""
  var id: Int64?, stream: Int64?, time: Int64?, sent: Int64?, interval: Int64?, reconnect: Int64?
  var retryAfter: Int64?, events: Int64?
  var deadline: Int64?
  var retry = false, isResumed = false, isSimulated = false
  var prev: UInt64?, seq: UInt64?, fromSeq: UInt64?, toSeq: UInt64?
  var heartbeat: Double?
  var data: JSONSlice?
  var alert: Alert?
  var ok: [ServerMessage.Accepted] = []
  var streams: [ServerMessage.Accepted] = []
  var failed: [ServerMessage.Failure] = []
  var feeds: [FeedReport] = []

  mutating func read(_ key: JSONSlice, _ json: inout JSONScanner) throws {
    let name = try json.decoded(key)
    switch name {
    case "type": type = try json.word()
    case "channel": channel = try json.word()
    case "symbol": symbol = try json.word()
    case "session": session = try json.word()
    case "node": node = try json.word()
    case "version": version = try json.word()
    case "code": code = try json.word()
    case "message": message = try json.word()
    case "hint": hint = try json.word()
    case "action": action = try json.word()
    // This client's ids are integers, so a string answers no request of its own.
    case "id": if json.peek() == .number { id = try json.int64() } else { try json.skipValue() }
    case "stream": stream = try json.int64()
    case "time": time = try json.int64()
    case "sent": sent = try json.int64()
    case "interval_ms": interval = try json.int64()
    case "events": events = try json.int64()
    case "simulated": isSimulated = try json.bool()
    case "reconnect_in_ms": reconnect = try json.int64()
    case "retry_after_ms": retryAfter = try json.int64()
    case "retry": retry = try json.bool()
    case "resumed": isResumed = try json.bool()
    case "deadline": deadline = try json.int64()
    case "prev": prev = try json.uint64()
    case "seq": seq = try json.uint64()
    case "from_seq": fromSeq = try json.uint64()
    case "to_seq": toSeq = try json.uint64()
    case "heartbeat_s": heartbeat = try json.exact()?.doubleValue
    case "data": data = try json.rawValue()
    case "ok": ok = try json.accepted()
    // In `unsubscribed` these are plain numbers, which the client does not need.
    case "streams":
      let rest = try json.rawValue()
      var inside = JSONScanner(json.text(rest))
      streams = try inside.moves()
    case "failed": failed = try json.failed()
    case "alert": if json.peek() == .object { alert = try json.alert() } else { try json.skipValue() }
    case "feeds": feeds = json.peek() == .object ? try json.feedMap() : try json.feedList()
    default: try json.skipValue()
    }
  }

  func message(_ text: [UInt8]) throws -> ServerMessage {
    switch type {
    case "welcome":
      let seconds = max(0.1, min(heartbeat ?? 5, 3_600))
      return .welcome(
        id: id,
        Welcome(
          session: session, node: node, version: version, heartbeatInterval: .seconds(seconds), isResumed: isResumed,
          isSimulated: isSimulated),
        ok: ok, failed: failed)
    case "subscribed": return .subscribed(id: id, ok: ok, failed: failed)
    case "unsubscribed", "paused", "resumed": return .done(id: id)
    case "configured": return .moved(id: id, streams, nil)
    case "snapshot", "update":
      guard let stream, let seq, let data, let known = Channel(rawValue: channel) else {
        return .unknownData
      }
      let whole = JSONScanner(text.span.bytes)
      var json = JSONScanner(whole.text(data))
      let content = try json.streamData(known, isSnapshot: type == "snapshot")
      return .stream(
        .init(isSnapshot: type == "snapshot", channel: known, stream: stream, prev: prev, seq: seq, data: content))
    case "heartbeat":
      return .heartbeat(
        Heartbeat(
          time: Date(microseconds: try needed(time, "time")), sent: Int(clamping: try needed(sent, "sent")),
          feeds: feeds))
    case "notice":
      switch code {
      case "slow":
        guard action != "restored" else { return .moved(id: nil, streams, .restored) }
        return .moved(id: nil, streams, .slowedDown(to: .milliseconds(try needed(interval, "interval_ms"))))
      case "lost":
        guard let stream, let fromSeq, let toSeq else { return .unknown }
        return .lost(stream: stream, from: fromSeq, to: toSeq, events: events)
      case "drain":
        let wait = max(0, min(reconnect ?? 0, 600_000))
        return .notice(
          .draining(
            reconnectIn: .milliseconds(wait), deadline: Date(microseconds: try needed(deadline, "deadline"))))
      case "expiring": return .expiring
      default: return .notice(.unknown(code))
      }
    case "alert": return .answer(id: id, alert)
    case "error":
      return .error(
        .init(id: id, code: code, message: message, hint: hint, retry: retry, retryAfterMilliseconds: retryAfter))
    default: return .unknown
    }
  }
}
