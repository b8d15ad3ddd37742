import Bytes
import MarketData

@testable import Venues

/// An engine with a market behind it, driven by texts: what a feed does, without the gateway.
final class EngineHarness {
  let engine: FeedEngine
  let market: Market
  var now = Timestamp(microseconds: 1_700_000_000_000_000)
  /// Events of the last call.
  private(set) var events: [MarketEvent] = []
  private(set) var bids: [PriceLevel] = []
  private(set) var asks: [PriceLevel] = []
  /// Changes of the last call.
  private(set) var changes: [MarketChange] = []
  /// Actions of the last call.
  private(set) var actions: [FeedAction] = []
  private(set) var error: FeedError?
  /// Which of the requests sent so far the venue acknowledges in `wait`.
  var isAnswered: (String) -> Bool = { _ in true }
  private var unanswered: [String] = []

  convenience init(_ venue: Venue, _ symbols: [String], listing: ListingDetail = .none) {
    self.init(venue, FeedConfiguration(symbols: symbols, listing: listing))
  }

  init(_ venue: Venue, _ configuration: FeedConfiguration) {
    engine = venue.makeEngine(configuration)
    market = Market(configuration: venue.market)
  }

  func receive(_ text: String) { receive(Array(text.utf8)) }

  func receive(_ bytes: [UInt8]) {
    call { (batch) in
      do throws(FeedError) {
        try engine.receive(bytes.span.bytes, now: now, into: &batch)
      } catch {
        self.error = error
      }
    }
  }

  func prepare() { call { engine.prepare(now: now, into: &$0) } }
  func connect() { call { engine.connected(now: now, into: &$0) } }
  func disconnect() { call { engine.disconnected(now: now, into: &$0) } }
  func retry(_ symbols: [String]) { call { engine.retry(symbols, now: now, into: &$0) } }
  func tick() { call { engine.tick(now: now, into: &$0) } }

  func resync(_ index: Int, _ reason: ResyncReason = .checksum) {
    call { engine.resync(InstrumentID(index), reason: reason, now: now, into: &$0) }
  }

  func respond(_ request: Int, _ status: Int = 200, _ text: String) {
    let bytes = Array(text.utf8)
    call { engine.response(to: request, status: status, body: bytes.span.bytes, now: now, into: &$0) }
  }

  /// Moves time on by `seconds`, ticking four times a second, and gathers the actions of all ticks.
  func wait(_ seconds: Double) {
    var gathered: [FeedAction] = []
    for _ in 0..<Int(seconds * 4) {
      acknowledge()
      now = now + 250_000
      tick()
      gathered += actions
    }
    actions = gathered
  }

  private func call(_ body: (inout EventBatch) -> Void) {
    error = nil
    var batch = EventBatch()
    body(&batch)
    var changes = MarketChanges()
    market.apply(batch, now: now, into: &changes)
    market.advance(to: now, into: &changes)
    events = batch.events
    bids = batch.bids
    asks = batch.asks
    self.changes = changes.items
    var resyncs = EventBatch()
    for change in changes.items {
      if case .bookState(let id, .syncing(let reason?)) = change, !market[id].isCrossedForNow {
        engine.resync(id, reason: reason, now: now, into: &resyncs)
      }
    }
    actions = engine.actions
    engine.actions.removeAll()
    unanswered += sent.filter { $0.contains("subscribe") || $0.contains("set_heartbeat") }
  }

  private lazy var samples = VenueRegistry.samples(of: engine.venue.name)

  /// Answers the requests so far as the venue does where it takes them.
  private func acknowledge() {
    guard !unanswered.isEmpty else { return }
    let requests = unanswered.filter(isAnswered)
    unanswered.removeAll()
    for request in requests {
      for answer in samples?.acknowledgements(of: RequestText(text: request)) ?? [] {
        let bytes = Array(answer.utf8)
        var batch = EventBatch()
        try? engine.receive(bytes.span.bytes, now: now, into: &batch)
      }
    }
  }

  // MARK: Looking at what came

  var sent: [String] { actions.compactMap { if case .send(let text) = $0 { text } else { nil } } }
  var gets: [(request: Int, path: String)] {
    actions.compactMap { if case .get(let request, let path, _) = $0 { (request, path) } else { nil } }
  }
  var failures: [String: String] {
    actions.reduce(into: [:]) { if case .symbolFailed(let symbol, let reason) = $1 { $0[symbol] = reason } }
  }
  var renewals: [String] { actions.compactMap { if case .renew(let reason, _) = $0 { reason } else { nil } } }
  var maintenance: [Bool] { actions.compactMap { if case .maintenance(let isOn) = $0 { isOn } else { nil } } }
  var trades: [Trade] { events.compactMap { if case .trade(let trade) = $0 { trade } else { nil } } }
  var books: [BookEvent] { events.compactMap { if case .book(let book) = $0 { book } else { nil } } }
  var quotes: [Quote] { events.compactMap { if case .quote(let quote) = $0 { quote } else { nil } } }
  var tickers: [Ticker] { events.compactMap { if case .ticker(let ticker) = $0 { ticker } else { nil } } }
  var resets: [ResyncReason] { events.compactMap { if case .bookReset(_, let reason) = $0 { reason } else { nil } } }
  var isHeartbeat: Bool { events.contains { if case .heartbeat = $0 { true } else { false } } }
  func state(_ index: Int) -> BookState { market[InstrumentID(index)].bookState }
}
