import Bytes
import MarketData

/// What a feed is asked to carry, in the gateway's words.
package struct FeedConfiguration: Sendable {
  /// `BTC-USD`, `ETH-USDT`: base and quote, upper case, as in symbols; or a `MarketSelection` such as `*-USD:top20`.
  /// What they come to is at most `Venue.symbolLimit` on one connection.
  package var symbols: [String]
  /// The WebSocket URL to use instead of the venue's own.
  package var endpoint: String?
  /// The base URL of REST requests to use instead of the venue's own.
  package var restEndpoint: String?
  /// Connections of this kind to the venue, which share what it allows an address: a handler takes its part.
  package var connections = 1
  /// Symbols that other connections of the feed carry: no selection takes them.
  package var elsewhere: [String] = []
  /// What of the venue's whole list is kept for `FeedHandler.listing`.
  package var listing: ListingDetail

  package init(
    symbols: [String], endpoint: String? = nil, restEndpoint: String? = nil, listing: ListingDetail = .none
  ) {
    self.symbols = symbols
    self.endpoint = endpoint
    self.restEndpoint = restEndpoint
    self.listing = listing
  }
}

/// What a handler wants done for it. Rare: none of these happens per market message.
package enum FeedAction: Sendable {
  /// Send this text message on the feed's connection.
  case send(String)
  /// GET `path` (with its query) from the REST endpoint; the answer comes to `FeedHandler.response`.
  /// At most `bodyLimit` bytes are accepted.
  case get(request: Int, path: String, bodyLimit: Int)
  /// The connection is of no more use: close it and connect again.
  case reconnect(reason: String)
  /// The connection will end, by the venue's plan or its limits, in `within` µs or sooner: make another one, and
  /// leave this one when that has everything.
  case renew(reason: String, within: Int64)
  /// The venue refused a symbol or cannot carry it; the others are unharmed.
  case symbolFailed(symbol: String, reason: String)
  /// A symbol that had been refused is carried after all, though its book says nothing of it.
  case symbolAccepted(symbol: String)
  /// The venue says that it is in maintenance (true) or back (false).
  case maintenance(Bool)
}

/// Why a message was refused; it costs that message only.
package struct FeedError: Error, Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case json, shape, decimal, unknownSymbol, unknownType, refused
    /// A price or a size that cannot be one: zero or less.
    case value
    /// A request on the connection that the venue did not answer in time; its text is the request's.
    case unanswered
    /// A binary frame where the venue sends text, or one that could not be read.
    case binary
    /// Larger than the venue's messages may be (`Venue.messageLimit`). It costs the connection: what follows it is
    /// unknown.
    case oversized
    /// Broke the WebSocket protocol, which costs the connection.
    case frame
    /// The answer to a REST request that did not come, said no, or could not be read.
    case answer
  }
  package let kind: Kind
  /// What is wrong, for a log line: names the field and the offset, never the whole message.
  package let detail: String
  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }
}

/// What one feed has seen, for replays and metrics.
package struct FeedCounts: Sendable, Equatable {
  package var messages = 0
  /// Messages that could not be read.
  package var rejected = 0
  /// Asks at prices beyond 64 bits, which were left out: they are further away than anything that is shown.
  package var rejectedLevels = 0
  /// Messages of a type that the handler does not use.
  package var ignored = 0
  package init() {}
}

/// What one symbol of a feed has seen.
package struct SymbolCounts: Sendable, Equatable {
  /// Book updates received, those older than the snapshot included.
  package var deltas = 0
  package var snapshots = 0
  /// Links between consecutive book messages that held, where the venue numbers them.
  package var sequenceOK = 0
  package var gaps = 0
  /// Book updates that their snapshot contained already.
  package var dropped = 0
  /// Updates that joined a snapshot which was asked for apart from the stream.
  package var bridged = 0
  /// Live trades.
  package var trades = 0
  /// Trades from before the subscription.
  package var backlogTrades = 0
  /// Trades that the venue's numbering says were missed.
  package var missedTrades = 0
  package init() {}
}

/// One connection's worth of a venue's protocol: bytes of a message in, market events out, and what to send back.
///
/// A class with overridden methods rather than a protocol value, so that a message costs one virtual call and no
/// existential. Sans-IO: no sockets, clocks or randomness; `now` is a parameter; the owner asserts its queue.
///
/// The life of a handler, driven by its session: 1. `prepare` before every connect; while `isPrepared` is false,
/// carry out its actions (usually an instrument list) and hand
///    the answers to `response`.
/// 2. `connected` when the WebSocket is open: it appends the subscriptions.
/// 3. `receive` for every message, `tick` about four times a second, `response` for every answer.
/// 4. `disconnected` when the connection is gone; then 1 again.
/// After each call the session carries out and empties `actions`.
package class FeedHandler {
  package let venue: Venue
  package let configuration: FeedConfiguration
  /// What the session shall do next, in order.
  package final var actions: [FeedAction] = []
  package final var counts = FeedCounts()
  /// When something of a market last came, or a heartbeat that the venue sends by itself. Answers, those to pings
  /// among them, are neither.
  package final var marketHeard = Timestamp.distantPast
  /// How long the venue asks to wait before the next request, µs: of the REST answer that is being taken.
  package final var retryAfter: Int64?
  /// The list in the REST answer that is being taken, where that has been read already.
  package final var readAhead: Result<ListPage, FeedError>?
  /// Why the last REST answer could not be read; the pipeline takes it.
  package final var answerError: FeedError?
  /// What else is to be told of, with a text of its own; the pipeline takes it. At most `noticeLimit`.
  package final var notices: [(error: FeedError, text: String)] = []
  private static let noticeLimit = 16

  package init(venue: Venue, configuration: FeedConfiguration) {
    self.venue = venue
    self.configuration = configuration
  }

  /// The URL of the next connection.
  package final var url: String { configuration.endpoint ?? venue.endpoint }

  /// What reads the answer to a request away from the loop; nil where the handler has to do that.
  package func listReader(for request: Int) -> ListReader? { nil }

  /// `readAhead`, once.
  final func takeReadAhead() -> Result<ListPage, FeedError>? {
    defer { readAhead = nil }
    return readAhead
  }

  /// Counts a REST answer that could not be read, and keeps the reason.
  package final func rejectAnswer(_ error: FeedError) {
    counts.rejected += 1
    answerError = error
  }

  /// Keeps something to be told of that is no message of the venue's.
  package final func note(_ error: FeedError, text: String) {
    if notices.count < Self.noticeLimit { notices.append((error, text)) }
  }

  /// All markets that the venue lists, in its order, where the configuration asks for them. Empty until the list has
  /// come: with `prepare` from most venues, after `connected` where it is part of the stream.
  package var listing: [ListedMarket] { [] }

  /// Counts per symbol, by `InstrumentID`; empty before the instruments are known.
  package var symbolCounts: [SymbolCounts] { [] }

  /// Why the book of `instrument` is not being rebuilt just now; nil unless it has failed too often (`BookCircuit`).
  package func trouble(of instrument: InstrumentID) -> BookTrouble? { nil }

  /// Whether the venue has anything to send on this connection: false while nothing is subscribed.
  package var expectsMarket: Bool { true }

  /// Whether `connected` may be called.
  package var isPrepared: Bool { true }
  package func prepare(now: Timestamp, into batch: inout EventBatch) {}
  package func connected(now: Timestamp, into batch: inout EventBatch) {}
  package func disconnected(now: Timestamp, into batch: inout EventBatch) {}

  /// Reads one text message. What it meant is appended to `batch`. A message that cannot be read is thrown out whole
  /// and costs nothing but itself; if it belonged to a book, that book is reset.
  package func receive(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {}

  /// The answer to a `.get`: its status and body; status 0 if it could not be had, then `body` is the reason as text.
  package func response(to request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch) {}

  /// Moves time on: pings, time-outs of subscriptions and snapshots, paced requests.
  package func tick(now: Timestamp, into batch: inout EventBatch) {}

  /// The book of `instrument` must be rebuilt (a checksum failed, it is crossed). Idempotent while it is being rebuilt.
  package func resync(_ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {}

  /// Whether `retry` asks the venue for a symbol that was refused; what cannot be a symbol of the venue is not asked
  /// for.
  package func isAskedAgain(_ symbol: String) -> Bool { false }

  /// Asks again for symbols that the venue refused, while connected. At most once a minute.
  package func retry(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {}

  /// The connection is gone: what the next one refuses is told again, and what is followed once for each connection
  /// is followed anew.
  package func forgetConnection() {}

  /// Brings an instrument to scales that are at least these. False if a value seen so far would not fit.
  package func widen(
    _ instrument: InstrumentID, priceScale: UInt8, sizeScale: UInt8, into batch: inout EventBatch
  ) -> Bool { false }
}
