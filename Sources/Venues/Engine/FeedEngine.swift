import Bytes
import MarketData

/// The life of a connection, for every venue: lists, subscriptions, books, refusals, silence, pings. It is the only
/// owner of all of that state; what a venue is like stands in its dialect. Sans-IO: no sockets,
/// clocks or randomness; `now` is a parameter; the owner asserts its queue.
///
/// What holds for every dialect:
/// 1. A book is live only when its data has come. A REST snapshot is asked for only when its subscription was
///    acknowledged, or an update has come: without that it would say nothing of what follows.
/// 2. Every request has a deadline. One that is not answered is sent again, then told of, then the connection is
///    exchanged.
/// 3. A refusal belongs to the symbol and the channel of its request and touches nothing else. It is retried on its
///    schedule, or told as the symbol's.
/// 4. A book that leaves `live` says so by a reset.
/// 5. One pacing for a connection, and one budget for an address.
///
/// The engine consists of values with one task each, and passes their results to the others:
///
/// | value | what it knows |
/// |---|---|
/// | `InstrumentTable` | the symbols by index, and their scales |
/// | `FeedRequests` | what is asked for on the connection, and what may be |
/// | `MarketLists` | the venue's lists, and which symbols they do not have |
/// | `Books` | the books, and the snapshots that they wait for |
/// | `TradeRequests` | the numbers of trades, where the venue counts them |
/// | `FigureRequests` | the figures of markets whose trades are in doubt |
/// | `ConnectionLife` | signs of life: what was heard when, pings, maintenance |
/// | `FeedTally` | what was seen, and what people are to read of it |
///
/// Its life, driven by its session: 1. `prepare` before every connect; while `isPrepared` is false, carry out its
/// actions (usually an instrument list) and hand the answers to `response`.
/// 2. `connected` when the WebSocket is open: it appends the subscriptions.
/// 3. `receive` for every message, `tick` about four times a second, `response` for every answer.
/// 4. `disconnected` when the connection is gone; then 1 again.
/// After each call the session carries out and empties `actions`.
package final class FeedEngine {
  package let venue: Venue
  package let configuration: FeedConfiguration
  /// What the session shall do next, in order.
  package var actions: [FeedAction] = []

  let dialect: any Dialect
  let facts: DialectFacts
  var known = InstrumentTable()
  var requests: FeedRequests
  var lists: MarketLists
  var books: Books
  var trades: TradeRequests
  var figures: FigureRequests
  var life: ConnectionLife
  var tally = FeedTally()
  /// The memory in which the dialect notes what a message says. Only the call that had it filled reads it.
  var outcome = MessageOutcome()

  init(_ dialect: any Dialect, venue: Venue, configuration: FeedConfiguration) {
    self.dialect = dialect
    self.venue = venue
    self.configuration = configuration
    facts = dialect.facts
    let connections = configuration.connections
    requests = FeedRequests(facts, connections: connections)
    lists = MarketLists(facts, configuration, limit: venue.symbolLimit)
    books = Books(facts.bridge, connections: connections)
    trades = TradeRequests(configuration.findsTrades ? facts.tradePages : nil, connections: connections)
    figures = FigureRequests(facts.witness, facts.derivativePolls, connections: connections)
    life = ConnectionLife(facts, venue.cadence, dialect.opening(configuration.endpoint ?? venue.endpoint))
    precondition(facts.bridge == nil || facts.list?.perMarket == nil, "answers to both would have the same numbers")
  }

  package var counts: FeedCounts { tally.counts }
  package var symbolCounts: [SymbolCounts] { tally.symbols }
  /// What else is to be told of, with a text of its own; the pipeline takes it.
  package var notices: [(error: FeedError, text: String)] {
    get { tally.notices }
    set { tally.notices = newValue }
  }
  /// When something of a market last came, or a heartbeat that the venue sends by itself. Answers, those to pings
  /// among them, are neither.
  package var marketHeard: Timestamp { life.marketHeard }
  /// Whether the venue counts a market's trades without holes.
  package var countsTrades: Bool { facts.countsTrades }
  var instruments: [Instrument] { known.instruments }

  /// The URL of the next connection.
  package var url: String { configuration.endpoint ?? venue.endpoint }

  /// Why the book of `instrument` is not being rebuilt just now; nil unless it has failed too often (`BookCircuit`).
  package func failure(of instrument: InstrumentID) -> BookFailure? {
    books.indices.contains(instrument.index) ? books.failure(of: instrument.index) : nil
  }

  // MARK: Connection

  /// Whether the venue has anything to send on this connection: false while nothing is subscribed.
  package var expectsMarket: Bool {
    // A list in the stream is the venue's to send.
    !facts.isSilentWithoutSymbols || (facts.streamedList != nil && !lists.streamed.isThere)
      || books.lines.contains { $0.isAsked && $0.isFollowed }
  }

  package func connected(now: Timestamp, into batch: inout EventBatch) {
    life.connected(now: now)
    requests.sending.connected(now: now)
    switch life.opening {
    case .never(let reason):
      for index in books.indices { books.lines[index].isRefused = true }
      for symbol in lists.market.symbols { refuse(symbol, reason) }
      return
    case .atOnce, .afterWelcome: break
    }
    if facts.greeting == .request { requests.desk.greet() } else { greet(now) }
    if case .afterWelcome(let within) = life.opening { requests.desk.outbox.pause(until: now + within) }
    if facts.streamedList != nil {
      lists.streamed.connected()
      askForStreamList(now, into: &batch)
    } else {
      subscribeMissing(now)
      flush(now)
    }
  }

  /// Sends the greeting of a connection, if the venue has one.
  func greet(_ now: Timestamp) {
    guard let greeting = spell(.greeting, now) else { return }
    send(greeting, now)
    if facts.greeting == .required { requests.sending.greetingDue = now + RequestDeadline.answer }
  }

  package func disconnected(now: Timestamp, into batch: inout EventBatch) {
    if life.isConnected { layBlame(now) }
    life.disconnected()
    lists.disconnected()
    requests.disconnected()
    books.disconnected()
    trades.disconnected()
    figures.disconnected()
    dialect.forget()
  }

  /// The connection is gone: refusals of the next one are reported again, and what a connection follows once is
  /// followed anew.
  package func forgetConnection() {
    lists.refused.disconnected()
    life.canary.disconnected()
  }

  // MARK: Time

  /// Moves time on: pings, time-outs of subscriptions and snapshots, paced requests. About four times a second.
  package func tick(now: Timestamp, into batch: inout EventBatch) {
    if facts.streamedList == nil ? !lists.request.isDone : !life.isConnected && !isPrepared {
      prepare(now: now, into: &batch)
    }
    pumpMarkets(now)
    guard life.isConnected else { return }
    if let due = requests.sending.greetingDue, now >= due { return ungreeted("the greeting was not answered") }
    if life.maintenance.holdsRequests {
      ping(now)
      guard life.maintenance.isOverdue(now: now) else { return }
      maintain(false, now, into: &batch)
    }
    if lists.streamed.takeOverdue(now: now) {
      unanswered(lists.streamed.attempts, "the list of markets", now: now)
      askForStreamList(now, into: &batch)
    }
    watch(now, into: &batch)
    probeBooks(now, into: &batch)
    renewBooks(now)
    for index in books.indices where books.lines[index].isFollowed { watchSilence(of: index, now) }
    tendBooks(now, into: &batch)
    repeatUnanswered(now)
    subscribeSuspect(now)
    flush(now)
    ping(now)
    books.pacer.expire(now: now)
    pump(now)
    searchTrades(now: now, into: &batch)
    pollDerivatives(now)
  }

  /// Looks for channels that promise something and have died.
  private func watch(_ now: Timestamp, into batch: inout EventBatch) {
    let silent = life.watches.takeDead(connectionHeard: life.marketHeard, now: now) {
      books.lines[requests.desk.topic($0).index].isFollowed
    }
    var dead: [Int] = []
    for topic in silent.map(requests.desk.topic) {
      if topic.channel == 0 {
        take(topic.index, outOfSync: .stale, now: now, into: &batch)
      } else if facts.channels[topic.channel].isOfAll {
        take(topic.index, outOfSync: .stale, now: now, into: &batch)
        dead.append(topic.index)
      } else {
        requests.desk.renew([topic.index], channel: topic.channel)
      }
    }
    requests.desk.renew(dead, channels: 1..<facts.channels.count)
  }

  private func ping(_ now: Timestamp) {
    guard life.ping.takeDue(sent: requests.sending.lastSent, heard: life.heard, now: now) else { return }
    if let text = spell(.ping, now) { send(text, now) }
  }

  /// Looks for books whose stream has died while the connection lives, where each message is the whole book.
  private func probeBooks(_ now: Timestamp, into batch: inout EventBatch) {
    guard case .whole(let limits) = facts.book, now - life.heard < limits.probeWithin / 2 else { return }
    for index in books.indices where books.isLive(index) {
      switch books.lines[index].book.doubt(now: now) {
      case .none: break
      case .asks: books.probes.append(index)
      case .isDead: take(index, outOfSync: .stale, isDead: true, now: now, into: &batch)
      }
    }
  }

  /// Looks after the books that are live and contradicted by what else came.
  private func tendBooks(_ now: Timestamp, into batch: inout EventBatch) {
    for index in books.indices {
      guard case .isContradicted = books.care(of: index, now: now) else { continue }
      take(index, outOfSync: .stale, now: now, into: &batch)
      books.resubscribes(index, now: now)
      requests.desk.renew([index], channel: 0)
    }
  }
}
