import Bytes
import MarketData

/// A venue: its facts, how its requests are spelled, how its messages and lists are read. All of the life of a
/// subscription is the engine's (`FeedEngine`): a dialect knows no deadline, no retry, and no state of a book.
///
/// A class with overridden methods, so that a message costs one dynamic call and no existential. What a dialect keeps
/// of its own (the numbers of a connection, quotes that come in parts) it keeps by place, and forgets in `forget`.
package class Dialect {
  let facts: DialectFacts

  init(_ facts: DialectFacts) { self.facts = facts }

  /// The text of a request; nil if the venue has no such request. `id` is this request's alone.
  func spell(_ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable) -> String? {
    preconditionFailure("a dialect without requests")
  }

  /// Reads one message: market events go to `batch` in their order, everything else to `hearing`. On an error both are
  /// taken back, and the message may be read again at a wider scale: nothing of the dialect's own is changed before
  /// the last thing that can fail.
  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {}

  /// A message could not be read: what is lost with it, beside what `facts.salvage` tells, and what of the dialect's
  /// own goes on all the same, as a count of the connection's messages does.
  func missed(_ message: RawSpan, _ instruments: InstrumentTable, _ hearing: inout Hearing) {}

  /// A book was subscribed and did not come: it is asked for again, and by another name if it has one.
  func silent(_ place: Int) {}

  /// The connection is gone, and with it what the dialect kept of it.
  func forget() {}

  /// About four times a second while connected: what a dialect watches beyond the engine's own watches.
  func tick(_ instruments: InstrumentTable, _ hearing: inout Hearing) {}

  // MARK: Lists

  /// The path of the venue's list of markets, or of the part of it that is next; nil where it comes in the stream, and
  /// where there is no (further) part.
  func listPath(_ query: ListQuery) -> String? { nil }

  /// Reads an answer to `listPath`. It needs nothing but what the dialect was made with: another dialect of the venue
  /// reads large lists, away from the loop (`ListReader`).
  func readList(_ body: RawSpan) throws(FeedError) -> ListPage { preconditionFailure("a list that nobody asks for") }

  /// Reads what the venue says of a market, where the list has names only (`facts.perMarket`).
  func readDetails(_ body: RawSpan, of market: ListedMarket) throws(FeedError) -> MarketDetails {
    preconditionFailure("details that nobody asks for")
  }

  /// Reads an answer to `facts.perMarket.figures[index]` into the figures of the ticker's market.
  func readFigures(
    _ body: RawSpan, of index: Int, _ instruments: inout InstrumentTable, into ticker: inout Ticker
  ) throws(FeedError) {}

  /// Reads the answer to `facts.volumePaths[index]`: volumes of 24 h in the quote currency, by the venue's own names.
  func readVolumes(_ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]) throws(FeedError) {}

  // MARK: Books that are bridged

  /// The path of a book's snapshot, of so many levels a side.
  func snapshotPath(_ instrument: Instrument, levels: Int) -> String {
    preconditionFailure("snapshots that nobody asks for")
  }

  /// Reads a book's snapshot: its levels go to the end of `batch`, the number or time that it stands at is returned.
  func readSnapshot(
    _ body: RawSpan, _ place: Int, _ instruments: inout InstrumentTable, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    preconditionFailure("snapshots that nobody asks for")
  }
}

/// A channel of a symbol: its place, and the place of the channel in `DialectFacts.channels`.
struct Topic: Hashable {
  var place: Int
  var channel: Int
}

/// What the engine asks a dialect to spell.
enum FeedRequest {
  case subscribe([Topic])
  case unsubscribe([Topic])
  /// A part of the list of markets, where it comes in the stream: its beginning or, before it is asked for anew, its
  /// end.
  case list(ListQuery, isEnd: Bool)
  /// The book at this place, apart from the stream (`DialectFacts.WholeBooks`).
  case book(Int)
  case ping
  /// A market of the canary, by the venue's name.
  case canary(String)
  /// The first message on a connection, before all subscriptions.
  case greeting
}

/// What is asked for of the venue's list.
struct ListQuery {
  /// The symbols that were named, as far as they are symbols.
  var symbols: [FeedSymbol]
  /// Whether all markets are wanted, as a selection or a listing does.
  var isWhole: Bool
  /// The kinds of market that are wanted.
  var families: Set<Instrument.Kind.Family>
  /// Whether the 24 h volumes of its markets are wanted.
  var wantsVolumes: Bool
  /// With what status the last request for it failed; nil if it did not, or a new round begins.
  var failed: Int?
  /// How many parts of it have come; which part it is, where all are asked for together.
  var part = 0
  /// Where the next part begins, by the last one's word.
  var cursor: String?
}

/// A part of the venue's list, or all of it.
package struct ListPage: Sendable {
  var markets: [ListedMarket]
  /// Whether there may be more parts: then `listPath` is asked for the next.
  var goesOn = false
  /// Where the next part begins, where the venue says it.
  var cursor: String?
  /// What an address may spend in a minute by REST, where the list says it.
  var weightPerMinute: Int?
  /// All names of the list, where a name does not tell for sure which market it is.
  var names: [String] = []
}

/// What a venue says of one market.
enum MarketDetails {
  case market(ListedMarket)
  /// It is not to be carried, for this reason.
  case refused(String)
}
