import Bytes
import MarketData

/// The request for a venue's list of markets: one at a time, again after a failure, ever more rarely, until it has
/// come; and anew whenever it is wanted again.
struct ListRequest {
  /// The list is there, and nobody wants a newer one.
  private(set) var isDone = false
  /// A list is there, even if it is an older one: enough to connect.
  private(set) var hasList = false
  private var number: Int?
  private var due = Timestamp.distantPast
  private var backoff = Backoff(first: Microseconds.second, limit: 30 * Microseconds.second)
  private let banPause: Int64

  /// How long an address that was shut out leaves a venue alone that does not say otherwise, µs.
  static let banPause = 5 * Microseconds.minute

  /// - Parameter banPause: the same of this venue, µs.
  init(banPause: Int64? = nil) { self.banPause = banPause ?? Self.banPause }

  /// Whether it is to be sent now. One that no answer came to within `RequestPacer.answerTimeout` is sent again.
  mutating func isDue(now: Timestamp) -> Bool {
    guard !isDone, now >= due else { return false }
    number = nil
    return true
  }

  /// It was sent with this number.
  mutating func sent(_ number: Int, now: Timestamp) {
    self.number = number
    due = now + RequestPacer.answerTimeout
  }

  /// Whether an answer with this number would be to this.
  func awaits(_ number: Int) -> Bool { number == self.number }

  /// Whether an answer is to this; true once. `finished`, `goesOn` or `failed` says what it was worth.
  mutating func isAnswered(by number: Int) -> Bool {
    guard number == self.number else { return false }
    self.number = nil
    return true
  }

  /// The list has come.
  mutating func finished() {
    isDone = true
    hasList = true
    backoff.reset()
    due = .distantPast
  }

  /// A part of the list has come; the next may be asked for at once.
  mutating func goesOn() { due = .distantPast }

  /// The answer was unusable. The next request waits as long as the venue said (`retryAfter`, µs), otherwise a minute
  /// after 429 (too many requests), and `banPause` after 403 and 418 (banned).
  mutating func failed(status: Int, retryAfter: Int64? = nil, now: Timestamp) {
    due = now + Self.wait(status: status, retryAfter: retryAfter, backoff.next(), banPause: banPause)
  }

  /// The time without REST requests after an unusable answer, µs.
  static func wait(
    status: Int, retryAfter: Int64?, _ otherwise: Int64, banPause: Int64 = banPause
  ) -> Int64 {
    if let retryAfter, status != 200 { return retryAfter }
    switch status {
    case 429: return Microseconds.minute
    case 403, 418: return banPause
    default: return otherwise
    }
  }

  /// The list is wanted again. One that is on its way will do.
  mutating func again() { isDone = false }

  /// The connection is gone, and with it what was under way: the list is wanted again beside the next one, as markets
  /// are listed and delisted. The next one does not wait for it.
  mutating func restart() {
    isDone = false
    guard number != nil else { return }
    number = nil
    due = .distantPast
  }
}
