import Bytes
import HTTP1

/// What a server answered instead of opening a WebSocket, as far as a client can use it.
struct HandshakeRefusal: Equatable {
  /// Characters of the server's own words that are handed on.
  private static let wordsLimit = 300

  var status: Int
  var retryAfter: Duration?
  var reason: String

  /// Reads `Retry-After` (RFC 9110 section 10.2.3), and of a gateway's JSON the `message` and `hint`. A date is read as
  /// the time since the answer's own `Date`, so that the clocks of client and server need not agree; without a `Date`
  /// it says nothing.
  init(_ head: HTTPResponseHead, body: [UInt8]) {
    status = head.status
    let waits = head.fields.values("Retry-After")
    if waits.count == 1 {
      let sent = head.fields.values("Date").first.flatMap { HTTPDate.parse($0) }
      if sent != nil || HTTPDate.parse(waits[0]) == nil {
        retryAfter = RetryAfter.seconds(waits[0], now: sent ?? 0).map { .seconds($0) }
      }
    }
    let words = Self.words(body)
    reason =
      "the server answered \(head.status)\(head.reason.isEmpty ? "" : " " + head.reason)"
      + (words.isEmpty ? "" : ": " + words)
  }

  var event: ClientTransportEvent { .refused(status: status, retryAfter: retryAfter, reason: reason) }

  private static func words(_ body: [UInt8]) -> String {
    var message = ""
    var hint = ""
    var json = JSONScanner(body.span.bytes)
    guard json.peek() == .object else { return "" }
    do {
      try json.object { key, json in
        switch key {
        case "message": message = try json.word()
        case "hint": hint = try json.word()
        default: try json.skipValue()
        }
      }
    } catch {
      return ""
    }
    return String((hint.isEmpty ? message : "\(message); \(hint)").prefix(wordsLimit))
  }
}
