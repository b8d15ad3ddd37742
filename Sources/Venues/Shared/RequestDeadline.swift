import Bytes
import MarketData

/// What becomes of requests on a connection that are not answered, or refused.
///
/// - One that is not answered within `answer` is sent again. The second time that is told of; the third time the
///   connection is of no more use, and is exchanged for another one.
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

/// A request that is sent until it is answered.
protocol RepeatedRequest {
  /// How often in a row it has not been answered on this connection.
  var attempts: Int { get set }
  /// How often in a row it has been refused on this connection.
  var refusals: Int { get set }
}

extension SymbolHandler {
  /// Notes that a request was not answered, for the `attempts`th time in a row: tells of it, and then has the
  /// connection exchanged.
  final func unanswered(_ attempts: Int, _ request: @autoclosure () -> String, now: Timestamp) {
    if attempts == RequestDeadline.attempts - 1 || (attempts > 0 && attempts % 10 == 0) {
      note(FeedError(.unanswered, "no answer to a request that was sent \(attempts) times"), text: request())
    }
    guard attempts >= RequestDeadline.attempts, now >= nextRenewal else { return }
    let reason = "\(request()) was sent \(attempts) times and not answered"
    nextRenewal = now + renewals.next()
    let isAnyLive = instruments.indices.contains { isLive($0) }
    // Where a book is live, the other connection comes first: one request that is not answered is no reason to lose it.
    actions.append(
      isAnyLive ? .renew(reason: reason, within: RequestDeadline.renewal) : .reconnect(reason: reason))
  }

  /// Sends requests again that were not answered, those of `outbox` whose time has come.
  /// - Parameters:
  ///   - words: names a request for people.
  ///   - isMoot: whether it is of no use any more, or looked after elsewhere. It may change the request.
  final func repeatUnanswered<Request: RepeatedRequest>(
    of outbox: inout RequestOutbox<Request>, now: Timestamp, words: (Request) -> String,
    isMoot: (inout Request) -> Bool
  ) {
    for var request in outbox.takeOverdue(now: now) {
      guard !isMoot(&request) else { continue }
      request.attempts += 1
      unanswered(request.attempts, words(request), now: now)
      if request.attempts < RequestDeadline.attempts {
        outbox.append(request)
      } else {
        outbox.append(request, due: now + RequestDeadline.hopeless)
      }
    }
  }

  /// Asks again later for something beside a book that was refused.
  final func askLater<Request: RepeatedRequest>(
    _ request: Request, in outbox: inout RequestOutbox<Request>, now: Timestamp
  ) {
    var request = request
    request.attempts = 0
    request.refusals += 1
    outbox.append(request, due: now + RequestDeadline.refusalWait(request.refusals))
  }
}
