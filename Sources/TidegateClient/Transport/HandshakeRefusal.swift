import Bytes
import HTTP1

/// The parts of an HTTP answer that refuses a WebSocket which a client can use.
package struct HandshakeRefusal: Equatable {
  /// The largest number of characters of the server's message that the client repeats.
  private static let wordsLimit = 300
  /// The largest number of bytes of the body that the client reads.
  package static let bodyLimit = 16_384

  package var status: Int
  package var retryAfter: Duration?
  package var reason: String

  /// Reads `Retry-After` (RFC 9110 section 10.2.3), and the `message` and `hint` of a gateway's JSON. A date counts
  /// from the answer's own `Date`, so the clocks of client and server need not agree; without a `Date` it is ignored.
  /// - Parameters:
  ///   - phrase: the phrase of the status line; empty if there was none.
  ///   - waits: the values of `Retry-After`.
  ///   - date: the first value of `Date`.
  package init(status: Int, phrase: String, waits: [String], date: String?, body: [UInt8]) {
    self.status = status
    if waits.count == 1 {
      let sent = date.flatMap { HTTPDate.parse($0) }
      if sent != nil || HTTPDate.parse(waits[0]) == nil {
        retryAfter = RetryAfter.seconds(waits[0], now: sent ?? 0).map { .seconds($0) }
      }
    }
    let words = body.count <= Self.bodyLimit ? Self.words(body) : ""
    reason =
      "the server answered \(status)\(phrase.isEmpty ? "" : " " + phrase)" + (words.isEmpty ? "" : ": " + words)
  }

  package var event: ClientTransportEvent { .refused(status: status, retryAfter: retryAfter, reason: reason) }

  /// Of the body of an answer.
  private struct Words {
    var message = "", hint = ""

    static let format = MessageFormat<Words>(Words(), [.init("message", \.message), .init("hint", \.hint)])
  }

  private static func words(_ body: [UInt8]) -> String {
    var json = JSONScanner(body.span.bytes)
    guard let words = try? Words.format.read(&json) else { return "" }
    return String((words.hint.isEmpty ? words.message : "\(words.message); \(words.hint)").prefix(wordsLimit))
  }
}
