import Bytes
import MarketData

/// A venue: its facts, how its requests are spelled, how its messages are read. All of the life of a subscription is
/// the engine's (`FeedEngine`): a dialect knows no deadline, no retry, and no state of a book. What the venue answers
/// by REST (lists, volumes, snapshots, details) stands in the facts, with how it is read.
///
/// A final class, of which a message costs one dynamic call and copies nothing. What a dialect keeps of its own (the
/// numbers of a connection, quotes that come in parts) it keeps by index, and forgets in `forget`.
protocol Dialect: AnyObject {
  var facts: DialectFacts { get }

  /// The text of a request; nil if the venue has no such request. `id` is this request's alone.
  func spell(_ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable) -> String?

  /// Reads one message: market events go to `batch` in their order, everything else to `hearing`. On an error both are
  /// taken back, and the message may be read again at a wider scale: nothing of the dialect's own is changed before
  /// the last thing that can fail.
  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError)

  /// A message could not be read: what is lost with it, beside what `facts.salvage` tells, and what of the dialect's
  /// own goes on all the same, as a count of the connection's messages does.
  func missed(_ message: RawSpan, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome)

  /// When the first subscription may be sent on a connection to this address.
  func opening(_ url: String) -> ConnectionOpening

  /// A book was subscribed and did not come: it is asked for again, and by another name if it has one.
  func silent(_ index: Int)

  /// The connection is gone, and with it what the dialect kept of it.
  func forget()

  /// Messages of the connection are left out here on purpose, as the engine was brought to a later state of it: what
  /// the dialect compares with the next message, or adds it to, is not of the one before.
  func skip()
}

extension Dialect {
  func missed(_ message: RawSpan, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome) {}
  func opening(_ url: String) -> ConnectionOpening { .atOnce }
  func silent(_ index: Int) {}
  func forget() {}
  func skip() {}
}

/// A channel of a symbol: its index, and the index of the channel in `DialectFacts.channels`.
struct Topic: Hashable {
  var index: Int
  var channel: Int
}

/// When the first subscription may be sent on a connection.
enum ConnectionOpening {
  case atOnce
  /// When the venue has said that it is ready, or after so long, µs.
  case afterWelcome(within: Int64)
  /// On a connection to this address nothing can be followed, for this reason.
  case never(String)

  var isNever: Bool { if case .never = self { true } else { false } }
}

/// What the engine asks a dialect to spell.
enum FeedRequest {
  /// As nearly all venues spell it.
  enum Verb: String { case subscribe, unsubscribe }

  case topics([Topic], Verb)
  /// A part of the list of markets, where it comes in the stream: its beginning or, before it is asked for anew, its
  /// end.
  case list(ListQuery, Verb)
  /// The book at this index, apart from the stream (`DialectFacts.WholeBooks`).
  case book(Int)
  case ping
  /// A market of the canary, by the venue's name.
  case canary(String)
  /// The first message on a connection, before all subscriptions.
  case greeting
}
