import Bytes
import MarketData

/// Answers to requests, and notices that concern only one client.
extension Replies {
  /// Appends the elements with commas between them.
  private static func appendList<Element>(
    _ elements: [Element], to out: inout ByteBuffer, _ append: (Element, inout ByteBuffer) -> Void
  ) {
    for (index, element) in elements.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      append(element, &out)
    }
  }

  private static func appendNumbers(_ numbers: [UInt32], to out: inout ByteBuffer) {
    appendList(numbers, to: &out) { $1.append(integer: UInt64($0)) }
  }

  private static func appendTotal(_ total: Int, to out: inout ByteBuffer) {
    out.append(",\"total\":")
    out.append(integer: UInt64(total))
  }

  // MARK: Welcome

  /// The part of a `welcome` about the session, the node and the limits.
  struct Welcome {
    var session: String
    var identity: SubscriberHub.Identity
    var now: Timestamp
    var heartbeatSeconds: Int32
    /// When the grant ends; nil: never.
    var expires: Timestamp?
    var isResumed: Bool
    /// Whether the prices of any feed are not a venue's present ones.
    var isSimulated: Bool
    var subscriptions: Int
    var requestsPerSecond: Int
    var messageBytes: Int
  }

  /// A `welcome` up to the streams of a resumed session.
  static func beginWelcome(_ welcome: Welcome, id: String?, to out: inout ByteBuffer) {
    begin("welcome", id: id, to: &out)
    out.append(",\"session\":")
    out.append(json: welcome.session)
    out.append(",\"node\":")
    out.append(json: welcome.identity.node)
    out.append(",\"version\":")
    out.append(json: welcome.identity.version)
    out.append(",\"time\":")
    out.append(integer: welcome.now.microseconds)
    out.append(",\"heartbeat_s\":")
    out.append(integer: UInt64(welcome.heartbeatSeconds))
    if let expires = welcome.expires {
      out.append(",\"expires\":")
      out.append(integer: expires.microseconds)
    }
    out.append(welcome.isResumed ? ",\"resumed\":true" : ",\"resumed\":false")
    if welcome.isSimulated { out.append(",\"simulated\":true") }
    out.append(",\"limits\":{\"subscriptions\":")
    out.append(integer: UInt64(welcome.subscriptions))
    out.append(",\"requests_per_s\":")
    out.append(integer: UInt64(welcome.requestsPerSecond))
    out.append(",\"message_bytes\":")
    out.append(integer: UInt64(welcome.messageBytes))
    out.append(UInt8(ascii: "}"))
  }

  // MARK: Subscriptions

  /// The result of a request that needed publishers.
  struct Outcome {
    var request: PendingRequest
    /// The client's subscriptions.
    var total: Int
    /// The bytes that are queued for the client.
    var queuedBytes: Int
    /// Of a `resume`.
    var welcome: Welcome
    var isPaused: Bool
    /// The joined streams.
    var streams: [Stream]
  }

  static func append(_ outcome: Outcome, to out: inout ByteBuffer) {
    let request = outcome.request
    switch request.kind {
    // Its session has answered it.
    case .dialect: return
    case .subscribe:
      begin("subscribed", id: request.id, to: &out)
      appendTotal(outcome.total, to: &out)
      out.append(",\"ok\":[")
    case .configure(let interval):
      begin("configured", id: request.id, to: &out)
      out.append(",\"interval_ms\":")
      out.append(integer: UInt64(interval))
      appendTotal(outcome.total, to: &out)
      out.append(",\"streams\":[")
    case .degraded(let interval):
      out.append("{\"type\":\"notice\",\"code\":\"slow\",\"action\":\"degraded\",\"interval_ms\":")
      out.append(integer: UInt64(interval))
      out.append(",\"queued_bytes\":")
      out.append(integer: UInt64(outcome.queuedBytes))
      out.append(",\"streams\":[")
    case .restored:
      out.append("{\"type\":\"notice\",\"code\":\"slow\",\"action\":\"restored\",\"streams\":[")
    case .resume:
      beginWelcome(outcome.welcome, id: request.id, to: &out)
      if outcome.isPaused { out.append(",\"paused\":true") }
      appendTotal(outcome.total, to: &out)
      out.append(",\"ok\":[")
    }
    appendList(outcome.streams, to: &out) { appendStream($0, to: &$1) }
    out.append(UInt8(ascii: "]"))
    if request.hasFailures {
      out.append(",\"failed\":[")
      appendList(request.failures, to: &out) { appendFailure($0, to: &$1) }
      out.append(UInt8(ascii: "]"))
    }
    out.append(UInt8(ascii: "}"))
  }

  static func appendUnsubscribed(
    _ streams: [UInt32], unknown: [UInt32], total: Int, id: String?, to out: inout ByteBuffer
  ) {
    begin("unsubscribed", id: id, to: &out)
    out.append(",\"streams\":[")
    appendNumbers(streams, to: &out)
    out.append(UInt8(ascii: "]"))
    appendTotal(total, to: &out)
    if !unknown.isEmpty {
      out.append(",\"failed\":[")
      appendList(unknown, to: &out) { stream, out in
        out.append("{\"stream\":")
        out.append(integer: UInt64(stream))
        out.append(",\"error\":{")
        ProtocolError(.unknownStream, "not subscribed to stream \(stream)", hint: "{\"op\":\"list\"}").append(to: &out)
        out.append("}}")
      }
      out.append(UInt8(ascii: "]"))
    }
    out.append(UInt8(ascii: "}"))
  }

  static func appendList(_ streams: [Stream], id: String?, to out: inout ByteBuffer) {
    begin("list", id: id, to: &out)
    out.append(",\"streams\":[")
    appendList(streams, to: &out) { appendStream($0, to: &$1) }
    out.append(UInt8(ascii: "]"))
    appendTotal(streams.count, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  // MARK: The rest

  /// - Parameter fields: the fields after the `id`: `"alert":{…}`.
  static func appendControl(_ fields: SharedBytes, id: String?, to out: inout ByteBuffer) {
    begin("alert", id: id, to: &out)
    out.append(UInt8(ascii: ","))
    out.append(fields.unsafeBytes)
    out.append(UInt8(ascii: "}"))
  }

  static func appendPaused(id: String?, to out: inout ByteBuffer) {
    begin("paused", id: id, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  static func appendResumed(total: Int, id: String?, to out: inout ByteBuffer) {
    begin("resumed", id: id, to: &out)
    appendTotal(total, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// - Parameter time: the client's time; nil: it sent none.
  static func appendPong(_ time: Int64?, id: String?, now: Timestamp, to out: inout ByteBuffer) {
    begin("pong", id: id, to: &out)
    if let time {
      out.append(",\"client_time\":")
      out.append(integer: time)
    }
    out.append(",\"time\":")
    out.append(integer: now.microseconds)
    out.append(UInt8(ascii: "}"))
  }

  /// The client's grant ends soon.
  static func appendExpiring(_ expires: Timestamp, now: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"type\":\"notice\",\"code\":\"expiring\",\"expires\":")
    out.append(integer: expires.microseconds)
    out.append(",\"in_ms\":")
    out.append(integer: (expires - now) / Microseconds.millisecond)
    out.append(UInt8(ascii: "}"))
  }

  /// The client's grant no longer covers these streams.
  static func appendForbidden(_ streams: [UInt32], total: Int, to out: inout ByteBuffer) {
    out.append("{\"type\":\"notice\",\"code\":\"forbidden\",\"streams\":[")
    appendNumbers(streams, to: &out)
    out.append(UInt8(ascii: "]"))
    appendTotal(total, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// - Parameters:
  ///   - wait: the time after which the client should reconnect, µs.
  ///   - deadline: when the gateway ends.
  static func appendDrain(wait: Int64, deadline: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"type\":\"notice\",\"code\":\"drain\",\"reconnect_in_ms\":")
    out.append(integer: wait / Microseconds.millisecond)
    out.append(",\"deadline\":")
    out.append(integer: deadline.microseconds)
    out.append(UInt8(ascii: "}"))
  }
}
