import Bytes
import MarketData

/// What the venues' handlers share: instruments and their places, scales that widen, messages that are taken whole or
/// not.
///
/// A subclass overrides `read` and changes nothing of its own in it before the last thing that can fail, because a
/// message may be read again at a wider scale.
package class SymbolHandler: FeedHandler {
  final var known = InstrumentTable()
  final var seen: [SymbolCounts] = []
  /// When anything last came on the connection.
  final private(set) var connectionHeard = Timestamp.distantPast
  /// Set by `read` for a message that only answers something that was asked, a ping included: it proves a socket and
  /// no market.
  final var isAnswer = false
  final lazy var canaryMarks = makeCanaryMarks()
  /// Whether the canary has been seen to on this connection.
  final var hasAskedCanary = false
  /// Configured symbols that were refused: told once a connection, and once each time they have been asked for again.
  final private(set) var refusedSymbols: Set<String> = []
  /// Those that no venue's list can change: no symbols, or of a kind that is not carried here.
  private final var hopelessSymbols: Set<String> = []
  /// When another connection may be asked for next because of requests that nobody answers: one that never is does
  /// not cost one after the other.
  final var nextRenewal = Timestamp.distantPast
  final var renewals = Backoff(first: 5 * Microseconds.minute, limit: Microseconds.hour)

  /// The number of the last request, by REST or on the connection: those that are made here have numbers of their own.
  final var requestID = 0
  /// The request for the venue's list, where it is by REST and one at a time.
  final var listRequest = ListRequest()
  /// Selections and the venue's whole list.
  final lazy var marketList = MarketList(configuration, limit: venue.symbolLimit)
  /// Room for the 24 h volumes of all markets: some 3,000 of 600 bytes at the largest venue.
  static let volumesLimit = 16 << 20

  package final override var symbolCounts: [SymbolCounts] { seen }
  package final override var listing: [ListedMarket] { marketList.markets }

  /// A configured symbol taken apart; refused, and nil, if it is none or of a kind that is not carried here.
  final func wanted(_ symbol: String) -> FeedSymbol? {
    guard let wanted = FeedSymbol(symbol) else {
      hopelessSymbols.insert(symbol)
      refuse(symbol, "\(symbol) is not a symbol: \(FeedSymbol.advice)")
      return nil
    }
    guard venue.kinds.contains(wanted.kind.family) else {
      hopelessSymbols.insert(symbol)
      let kinds = venue.kinds.map(\.rawValue).sorted().joined(separator: " and ")
      refuse(
        symbol,
        "\(symbol) is a \(wanted.kind.family.rawValue) market; \(venue.title) is carried for \(kinds) markets only")
      return nil
    }
    return wanted
  }

  // MARK: Symbols that were refused

  package final override func isAskedAgain(_ symbol: String) -> Bool { asksAgain && !hopelessSymbols.contains(symbol) }

  package final override func forgetConnection() {
    refusedSymbols.removeAll()
    hasAskedCanary = false
  }

  package final override func retry(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    guard asksAgain else { return }
    for symbol in symbols { refusedSymbols.remove(symbol) }
    askAgain(symbols, now: now, into: &batch)
  }

  /// The symbol of an instrument as it was configured.
  final func configuredName(_ place: Int) -> String {
    let instrument = instruments[place]
    return FeedSymbol(base: instrument.base, quote: instrument.quote, kind: instrument.kind).text
  }

  // MARK: For subclasses

  /// Whether `askAgain` does something.
  var asksAgain: Bool { false }

  /// Asks for the instrument list again and subscribes what is found and was not subscribed, `symbols` among them.
  func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {}

  /// Reads one message. Events go to `batch`; on an error they are taken back.
  func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {}

  /// The request that subscribes a market of the canary, where the venue has one.
  func canaryRequest(for market: String, id: Int, now: Timestamp) -> String {
    preconditionFailure("a canary that nobody follows")
  }

  /// What the canary's messages have in them, and those of no other market.
  func canaryMark(of market: String) -> String { "\"\(market)\"" }

  /// A message was refused; if a book depended on it, that book is reset here.
  func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {}

  /// Why the book at `place` is left alone: what its `StreamedBook` or the `RequestPacer` says.
  func trouble(ofBook place: Int) -> BookTrouble? { nil }

  package final override func trouble(of instrument: InstrumentID) -> BookTrouble? {
    instruments.indices.contains(instrument.index) ? trouble(ofBook: instrument.index) : nil
  }

  /// Whether the book at `place` is in sync: then no list that is asked for meanwhile changes anything about it.
  func isLive(_ place: Int) -> Bool { false }

  /// Whether a market is carried that is listed and not matched now. False where it would be acknowledged and silent.
  var carriesHalted: Bool { true }

  /// Why no market of the venue's list is what was configured.
  func unlisted(_ wanted: FeedSymbol, among markets: [ListedMarket]) -> String {
    let carried = markets.lazy.filter { $0.contractSize != nil }.map(\.symbol.text)
    return "\(venue.title) has no market \(wanted.text)\(NearNames.question(wanted.text, among: carried))"
  }

  /// Why a market that is listed is not carried under that symbol; nil if it is.
  func refusal(of market: ListedMarket, for symbol: String) -> String? { nil }

  /// A market that the list has, with what else is known of it; nil where it is not to be carried yet, or no more.
  func carried(_ market: ListedMarket) -> ListedMarket? { market }

  /// The path of the venue's list, or of the part of it that is next; nil where it does not come by REST, or not one
  /// at a time.
  var listPath: String? { nil }

  /// Bytes that a list has at most: twenty times the largest in use that is not said to be larger.
  var listLimit: Int { 16 << 20 }

  /// Reads an answer to `listRequest` and takes the markets that it lists; false if that is not all: `prepare` asks
  /// for the rest.
  func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool { true }

  /// The list is there: what it brought is subscribed, if there is a connection.
  func hasListed(now: Timestamp) {}

  /// The list, or a part of it, could not be had or not be read; it is asked for again.
  func listFailed(status: Int) {}

  /// The answer to a request that is neither for the list nor for volumes.
  func answered(_ request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch) {}

  package override var isPrepared: Bool { listRequest.hasList || listPath == nil }

  /// Asks for the volumes that are wanted, and then for the list.
  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    guard listRequest.isDue(now: now), hasVolumes(now: now), let listPath else { return }
    requestID += 1
    listRequest.sent(requestID, now: now)
    actions.append(.get(request: requestID, path: listPath, bodyLimit: listLimit))
  }

  package final override func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    if takeVolumes(request, status: status, body: body, now: now) { return prepare(now: now, into: &batch) }
    guard listRequest.isAnswered(by: request) else {
      return answered(request, status: status, body: body, now: now, into: &batch)
    }
    takeList(status: status, body: body, now: now, into: &batch)
  }

  /// Reads the snapshot of a book by REST: its levels go to the end of `batch`, the number or time that it stands at
  /// is returned.
  func readSnapshot(_ body: RawSpan, _ place: Int, into batch: inout EventBatch) throws(FeedError) -> Int64 {
    preconditionFailure("snapshots that nobody asks for")
  }

  /// The paths whose answers together hold the 24 h volume of every market, asked for one after the other. Empty if
  /// the venue has no such request, or its list says the volumes already.
  var volumeRequests: [String] { [] }

  /// Reads the answer to `volumeRequests[index]`: volumes in the quote currency, by the venue's own names.
  func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {}

  /// The scales of an instrument have been widened: levels kept aside follow.
  func widened(_ place: Int, priceBy: Int64, sizeBy: Int64) {}

  /// Adds an instrument, or brings the one of that venue symbol up to date. Its place; nil if the table is full, and
  /// then the configured `symbol` is refused.
  final func add(_ market: ListedMarket, for symbol: String, into batch: inout EventBatch) -> Int? {
    guard let (place, priceBy, sizeBy) = known.add(market, venue: venue.name, into: &batch) else {
      refuse(symbol, "too many symbols on one connection")
      return nil
    }
    if seen.count < known.count { seen.append(SymbolCounts()) }
    if priceBy != 1 || sizeBy != 1 { widened(place, priceBy: priceBy, sizeBy: sizeBy) }
    return place
  }

  /// Tells once that what is configured is none that any list could have, and is not asked for again.
  final func refuseForGood(_ symbol: String, _ reason: String) {
    hopelessSymbols.insert(symbol)
    refuse(symbol, reason)
  }

  /// Tells once that a configured symbol cannot be carried.
  final func refuse(_ symbol: String, _ reason: String) {
    guard refusedSymbols.insert(symbol).inserted else { return }
    actions.append(.symbolFailed(symbol: symbol, reason: reason))
  }

  // MARK: The message loop

  package final override func receive(
    _ message: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    counts.messages += 1
    connectionHeard = now
    isAnswer = false
    let ignored = counts.ignored
    var mark = BatchMark(batch)
    // Price and size of every symbol in the message may each widen several times; beyond that it is not a message but
    // an attack.
    var passes = 0
    while true {
      do throws(FeedError) {
        known.begin()
        try read(message, now: now, into: &batch)
      } catch {
        mark.rewind(&batch)
        if passes < 32, widenIfNeeded(into: &batch) {
          passes += 1
          mark = BatchMark(batch)
          continue
        }
        if error.kind == .unknownSymbol, isCanary(message) {
          marketHeard = now
          return
        }
        counts.rejected += 1
        refused(message, now: now, into: &batch)
        throw error
      }
      counts.rejectedLevels += known.badLevels
      if !isAnswer, counts.ignored == ignored { marketHeard = now }
      return try dropImpossibleTrades(from: mark.events, of: &batch)
    }
  }

  /// Takes trades at a price or size of zero or less out of the batch, which the others of the message stay in. This
  /// is the one place for all venues. O(events).
  private final func dropImpossibleTrades(from start: Int, of batch: inout EventBatch) throws(FeedError) {
    var dropped = 0
    for index in start..<batch.events.count {
      guard case .trade(let trade) = batch.events[index], trade.price <= 0 || trade.size <= 0 else { continue }
      dropped += 1
      batch.events[index] = .heartbeat
      let place = trade.instrument.index
      if trade.isBacklog { seen[place].backlogTrades -= 1 } else { seen[place].trades -= 1 }
    }
    guard dropped > 0 else { return }
    counts.rejected += 1
    throw FeedError(.value, "\(dropped == 1 ? "a trade" : "\(dropped) trades") at a price or size of zero or less")
  }

  /// Widens the scale that the last failed read asked for; false if it asked for none or cannot have it.
  final func widenIfNeeded(into batch: inout EventBatch) -> Bool {
    guard let (place, priceBy, sizeBy) = known.widenIfNeeded(into: &batch) else { return false }
    widened(place, priceBy: priceBy, sizeBy: sizeBy)
    return true
  }

  package final override func widen(
    _ instrument: InstrumentID, priceScale: UInt8, sizeScale: UInt8, into batch: inout EventBatch
  ) -> Bool {
    let place = instrument.index
    guard known.instruments.indices.contains(place) else { return false }
    if let factor = known.widen(place, isPrice: true, to: priceScale, into: &batch) {
      widened(place, priceBy: factor, sizeBy: 1)
    }
    if let factor = known.widen(place, isPrice: false, to: sizeScale, into: &batch) {
      widened(place, priceBy: 1, sizeBy: factor)
    }
    return known[place].priceScale >= priceScale && known[place].sizeScale >= sizeScale
  }
}
