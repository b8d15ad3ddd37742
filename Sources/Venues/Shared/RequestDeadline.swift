import Bytes
import MarketData

/// What becomes of requests on a connection that are not answered, or refused.
///
/// - One that is not answered within `answer` is sent again. The second time it is reported; the third time another
///   connection replaces this one.
/// - One for something beside a book that is refused is asked for again, slowly and for ever (`refusalWait`), and
///   touches nothing else. A book's refusal is its symbol's, and `SymbolRefusals` asks again.
enum RequestDeadline {
  /// How long an answer may take: one has been seen to take 11 s at one venue, which has its own measure, and none 10
  /// s elsewhere.
  static let answer = 10 * Microseconds.second
  /// Times that a request is sent before its connection is given up.
  static let attempts = 3
  /// How long a connection with live books may go on after that, until another one has them.
  static let renewal = Microseconds.minute
  /// How long a request waits that the venue answers on no connection.
  static let hopeless = Microseconds.minute

  /// How long a request that was refused so many times in a row waits, µs: a minute, doubled up to half an hour.
  static func refusalWait(_ refusals: Int) -> Int64 {
    min(SymbolRefusals.firstWait << min(max(refusals - 1, 0), 10), SymbolRefusals.lastWait)
  }
}
