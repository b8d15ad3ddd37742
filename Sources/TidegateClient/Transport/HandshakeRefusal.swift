import Bytes
import HTTP1

/// What a server answered instead of opening a WebSocket, as far as a client can use it.
struct HandshakeRefusal: Equatable {
  /// Characters of the server's own words that are handed on.
  private static let wordsLimit = 300

  var status: Int
  var retryAfter: Duration?
  var reason: String

  /// Reads `Retry-After` in seconds (RFC 9110 section 10.2.3; a date is passed over, since the clocks may differ), and of a gateway's
  /// JSON the `message` and `hint`.
  init(_ head: HTTPResponseHead, body: [UInt8]) {
    status = head.status
    let values = head.fields.values("Retry-After")
    if values.count == 1, !values[0].isEmpty, values[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      // More digits than an integer has are a very long time.
      retryAfter = .seconds(min(Int64(values[0]) ?? .max, 86_400))
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
