import History
import MarketData
import PubSub
import Recordings
import Transport

/// What questions about markets need of the gateway's loops: to ask the loop of a market, and to continue on their own.
///
/// A type that holds this instead of a node sees no connection, feed or client, and can be tested without a gateway.
/// Used on its own loop only; other queues may hold it to come back to that loop.
package protocol Loops: AnyObject, Sendable {
  /// The loop on which the question is asked.
  var loop: EventLoop { get }
  /// The symbols of all loops, and the states of their feeds.
  var hub: SubscriberHub { get }

  /// The present moment; costs one `clock_gettime`.
  func now() -> Timestamp

  /// Runs `question` on the loop with that index, and `then` with its result back on this one.
  func askMarkets<Value: Sendable>(
    _ loop: Int, _ question: @escaping @Sendable (any LoopMarkets) -> Value, then: @escaping (Value) -> Void)

  /// Reads the store on a thread of its own, and calls `then` there; nil is a failed read, which the log reports.
  /// - Returns: nil if the gateway stores nothing, false if too many requests wait for the store; then nothing is read.
  func readStore<Value: Sendable>(
    _ work: @escaping @Sendable (HistoryStore) throws -> Value?, then: @escaping @Sendable (Value?) -> Void
  ) -> Bool?
}

/// The markets of one loop, as a question on that loop sees them.
package protocol LoopMarkets: AnyObject {
  var publisher: StreamPublisher { get }

  func now() -> Timestamp

  /// The store's symbol of an instrument; nil if nothing is stored. O(1).
  func storedSymbol(of route: MarketRoute) -> String?

  /// Requests the whole history of an instrument from its venue, once a run.
  func wantAllHistory(of route: MarketRoute)

  /// Requests from the venue what it says of an instrument only on demand, for some minutes.
  func want(_ wishes: MarketWishes, of route: MarketRoute)
}

/// What answers about markets need beside the markets: the bodies that were sent lately.
package protocol AnswerLoops: Loops {
  /// The bodies that were sent lately, and those that are being compressed.
  var compressor: ResponseCompressor { get }
  /// Begins the entity tags that are valid in this run only.
  var run: String { get }

  /// Asks the recordings, on a thread of its own, one question after the other.
  /// - Returns: nil if the gateway has no recordings, false if too many questions wait; then `question` is not called.
  func askPast(_ question: @escaping @Sendable (RecordedPast) -> Void) -> Bool?
  /// The places of clients that follow recorded time; nil if the gateway has no recordings.
  var pastSeats: PastSeats? { get }
}
