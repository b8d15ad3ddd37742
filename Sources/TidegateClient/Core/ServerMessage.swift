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

  /// A message of a group: what several members have, in order.
  struct GroupMessage {
    struct Element {
      /// The index of the member.
      var index: Int
      /// Whether it replaces what there is of the member.
      var isSnapshot: Bool
      var data: StreamData
    }

    var isSnapshot: Bool
    var channel: Channel
    var stream: Int64
    var prev: UInt64?
    var seq: UInt64
    /// Of a snapshot.
    var members: [String]
    var elements: [Element]
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
    /// Of each member of a group; 0: unknown.
    var priceIncrements: [ExactDecimal] = []
    /// Whether a stream that was resumed continues where it stopped.
    var isRecovered: Bool?
    /// `binary` if its messages are binary records, and what these are relative to.
    var encoding: String?
    var base: Int64?
    /// One, or one for each member of a group.
    var priceDigits: [Int64] = []
    var sizeDigits: [Int64] = []
    /// The members of a group, in order; empty for the stream of one symbol.
    var symbols: [String] = []

    /// Its data about the member of a group at this index.
    func member(_ index: Int) -> Accepted {
      var member = self
      member.symbol = symbols[index]
      if index < priceIncrements.count, priceIncrements[index] > 0 { member.priceIncrement = priceIncrements[index] }
      return member
    }
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
  case group(GroupMessage)
  case heartbeat(Heartbeat)
  case notice(Notice)
  /// Messages of a stream that the gateway will not send.
  case lost(stream: Int64, from: UInt64, to: UInt64, events: Int64?)
  /// The token no longer allows these streams, which have ended.
  case forbidden([Int64])
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

extension ServerMessage {
  /// Reads one message. O(length).
  init(parsing text: [UInt8]) throws {
    var json = JSONScanner(text.span.bytes)
    let envelope = try Envelope.format.read(&json)
    try json.end()
    self = try envelope.message(text)
  }
}

extension ServerMessage.Accepted: MessageObject {
  static let format = MessageFormat<ServerMessage.Accepted>(
    ServerMessage.Accepted(stream: -1, channel: "", symbol: ""),
    [
      .init("stream", \.stream), .init("from", \.from), .init("channel", \.channel), .init("symbol", \.symbol),
      .init("seq", \.seq), .init("epoch", \.epoch), .init("price_increment", \.priceIncrement),
      .init("recovered", \.isRecovered), .init("encoding", \.encoding), .init("base", \.base),
      .init("price_digits") { $0.priceDigits = try digits(&$1) },
      .init("size_digits") { $0.sizeDigits = try digits(&$1) },
      .init("symbols", \.symbols, limit: StreamTable.limit),
      .init("price_increments", \.priceIncrements, limit: StreamTable.limit),
    ])

  /// A number, or a list of them.
  private static func digits(_ json: inout JSONScanner) throws -> [Int64] {
    if json.peek() == .array { return try json.list(limit: StreamTable.limit) }
    return [try json.int64()]
  }

  /// Moved streams, or plain numbers of streams; other elements are skipped.
  fileprivate static func streams(
    _ json: inout JSONScanner
  ) throws -> (moves: [ServerMessage.Accepted], numbers: [Int64]) {
    let whole = try json.rawValue()
    var json = JSONScanner(whole, of: json)
    var numbers: [Int64] = []
    guard json.peek() == .array else { return ([], []) }
    let moves = try json.list { json -> ServerMessage.Accepted? in
      guard json.peek() == .number else { return try format.readObject(&json) }
      numbers.append(try json.int64())
      return nil
    }
    return (moves.compactMap(\.self), numbers)
  }
}

extension ServerMessage.Failure: MessageObject {
  static let format = MessageFormat<ServerMessage.Failure>(
    ServerMessage.Failure(),
    [
      .init("channel", \.channel), .init("symbol", \.symbol),
      .init("error") { try error.read(&$1, into: &$0) },
    ])

  private static let error = MessageFormat<ServerMessage.Failure>(
    ServerMessage.Failure(),
    [
      .init("code", \.code), .init("message", \.message), .init("hint", \.hint),
      .init("retry_after_ms", \.retryAfterMilliseconds),
    ])
}

/// The `data` of a group.
private struct GroupData {
  struct Element: MessageObject {
    var index: Int64 = -1
    var isSnapshot = false
    var data: JSONSlice?

    static let format = MessageFormat<Element>(
      Element(),
      [
        .init("i", needed: \.index), .init("snapshot", \.isSnapshot),
        .init("data", isNeeded: true) { $0.data = try $1.rawValue() },
      ])
  }

  var members: [String] = []
  var updates: [Element] = []

  static let format = MessageFormat<GroupData>(
    GroupData(),
    [
      .init("members", \.members, limit: StreamTable.limit),
      .init("updates", isNeeded: true) { $0.updates = try $1.list(limit: .max) },
    ])
}

/// The members of any message, gathered before its type is known: JSON objects have no order.
private struct Envelope {
  var type = "", channel = "", symbol = "", session = "", node = "", version = ""
  var code = "", message = "", hint = "", action = ""
  var id: Int64?, stream: Int64?, time: Int64?, sent: Int64?, interval: Int64?, reconnect: Int64?
  var retryAfter: Int64?, events: Int64?
  var deadline: Int64?
  var retry = false, isResumed = false, isSimulated = false, isGroup = false
  var prev: UInt64?, seq: UInt64?, fromSeq: UInt64?, toSeq: UInt64?
  var heartbeat: ExactDecimal?
  var data: JSONSlice?
  var alert: Alert?
  var ok: [ServerMessage.Accepted] = []
  var streams: [ServerMessage.Accepted] = []
  var numbers: [Int64] = []
  var failed: [ServerMessage.Failure] = []
  var feeds: [FeedReport] = []

  static let format = MessageFormat<Envelope>(
    Envelope(),
    [
      .init("type", \.type), .init("channel", \.channel), .init("symbol", \.symbol), .init("group", \.isGroup),
      .init("stream", \.stream),
      .init("prev", \.prev), .init("seq", \.seq), .init("data") { $0.data = try $1.rawValue() },
      // This client's ids are integers, so a string answers no request of its own.
      .init("id") { if let id = try number(&$1) { $0.id = id } },
      .init("session", \.session), .init("node", \.node), .init("version", \.version), .init("code", \.code),
      .init("message", \.message), .init("hint", \.hint), .init("action", \.action), .init("time", \.time),
      .init("sent", \.sent), .init("interval_ms", \.interval), .init("events", \.events),
      .init("simulated", \.isSimulated), .init("reconnect_in_ms", \.reconnect), .init("retry_after_ms", \.retryAfter),
      .init("retry", \.retry), .init("resumed", \.isResumed), .init("deadline", \.deadline),
      .init("from_seq", \.fromSeq), .init("to_seq", \.toSeq), .init("heartbeat_s", \.heartbeat),
      .init("ok", \.ok, limit: .max), .init("failed", \.failed, limit: .max),
      .init("streams") { ($0.streams, $0.numbers) = try ServerMessage.Accepted.streams(&$1) },
      .init("alert") { if let alert = try Alert.format.readObject(&$1) { $0.alert = alert } },
      .init("feeds") { $0.feeds = try FeedReport.list(&$1) },
    ])

  private static func number(_ json: inout JSONScanner) throws -> Int64? {
    if json.peek() == .number { return try json.int64() }
    try json.skipValue()
    return nil
  }

  func message(_ text: [UInt8]) throws -> ServerMessage {
    switch type {
    case "welcome":
      let seconds = max(0.1, min(heartbeat?.doubleValue ?? 5, 3_600))
      return .welcome(
        id: id,
        Welcome(
          session: session, node: node, version: version, heartbeatInterval: .seconds(seconds), isResumed: isResumed,
          isSimulated: isSimulated),
        ok: ok, failed: failed)
    case "subscribed": return .subscribed(id: id, ok: ok, failed: failed)
    case "unsubscribed", "paused", "resumed": return .done(id: id)
    case "configured": return .moved(id: id, streams, nil)
    case "snapshot", "update": return try data(text, isSnapshot: type == "snapshot")
    case "heartbeat":
      return .heartbeat(
        Heartbeat(
          time: Date(microseconds: try needed(time, "time")), sent: Int(clamping: try needed(sent, "sent")),
          feeds: feeds))
    case "notice": return try notice()
    case "alert": return .answer(id: id, alert)
    case "error":
      return .error(
        .init(id: id, code: code, message: message, hint: hint, retry: retry, retryAfterMilliseconds: retryAfter))
    default: return .unknown
    }
  }

  private func data(_ text: [UInt8], isSnapshot: Bool) throws -> ServerMessage {
    guard let stream, let seq, let data, let known = Channel(rawValue: channel) else { return .unknownData }
    var json = JSONScanner(data, of: JSONScanner(text.span.bytes))
    if isGroup { return .group(try group(isSnapshot: isSnapshot, known, stream, seq, &json)) }
    let content = try StreamData(known, isSnapshot: isSnapshot, &json)
    return .stream(
      .init(isSnapshot: isSnapshot, channel: known, stream: stream, prev: prev, seq: seq, data: content))
  }

  private func group(
    isSnapshot: Bool, _ channel: Channel, _ stream: Int64, _ seq: UInt64, _ json: inout JSONScanner
  ) throws -> ServerMessage.GroupMessage {
    let data = try GroupData.format.read(&json)
    var elements: [ServerMessage.GroupMessage.Element] = []
    for update in data.updates {
      guard let slice = update.data else { continue }
      var own = JSONScanner(slice, of: json)
      let isWhole = isSnapshot || update.isSnapshot
      elements.append(
        .init(
          index: Int(clamping: update.index), isSnapshot: isWhole,
          data: try StreamData(channel, isSnapshot: isWhole, &own)))
    }
    return .init(
      isSnapshot: isSnapshot, channel: channel, stream: stream, prev: prev, seq: seq, members: data.members,
      elements: elements)
  }

  private func notice() throws -> ServerMessage {
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
    case "forbidden": return .forbidden(numbers)
    default: return .notice(.unknown(code))
    }
  }
}
