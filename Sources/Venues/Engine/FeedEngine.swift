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
/// Its life, driven by its session: 1. `prepare` before every connect; while `isPrepared` is false, carry out its
/// actions (usually an instrument list) and hand the answers to `response`.
/// 2. `connected` when the WebSocket is open: it appends the subscriptions.
/// 3. `receive` for every message, `tick` about four times a second, `response` for every answer.
/// 4. `disconnected` when the connection is gone; then 1 again.
/// After each call the session carries out and empties `actions`.
package final class FeedEngine {
  /// A symbol's state on this connection.
  struct Line {
    var book: BookKeeper
    /// When its book was first subscribed on this connection.
    var subscribed = Timestamp.distantFuture
    /// When its book was acknowledged, or first spoke.
    var acknowledged: Timestamp?
    var isHeard = false
    var isToldSilent = false
    /// Whether its book has been live on this connection.
    var wasLive = false
    /// Whether the newest list has it, and it can be carried.
    var isListed = true
    var isRefused = false
    /// Whether it was refused before, or came after the others.
    var isSuspect = false
    /// Whether its channels have been asked for on this connection.
    var isAsked = false
    /// When a live book whose updates are not numbered is renewed.
    var renewDue = Timestamp.distantFuture
    /// A trade that is newer than the newest update: its time, and when it came.
    var unfollowed: (time: Timestamp, since: Timestamp)?
    var hasTraded = false
    /// When its trades were asked for again, because their channel had died alone.
    var tradesSince: Timestamp?
    /// When its figures were asked for that have not come yet.
    var witnessAsked: Timestamp?
    /// Whether its details say that it is not to be carried, on whatever connection.
    var isEnded = false
    var isCarried: Bool { isListed && !isRefused && !isEnded }
  }

  package let venue: Venue
  package let configuration: FeedConfiguration
  /// What the session shall do next, in order.
  package var actions: [FeedAction] = []
  package var counts = FeedCounts()
  /// When something of a market last came, or a heartbeat that the venue sends by itself. Answers, those to pings
  /// among them, are neither.
  package var marketHeard = Timestamp.distantPast
  /// What else is to be told of, with a text of its own; the pipeline takes it. At most `noticeLimit`.
  package var notices: [(error: FeedError, text: String)] = []
  private static let noticeLimit = 16

  let dialect: any Dialect
  let facts: DialectFacts
  /// Whether the venue counts a market's trades without holes.
  package var countsTrades: Bool { facts.countsTrades }
  var lines: [Line] = []
  var desk: SubscriptionDesk
  var pacer: RequestPacer
  /// Where trades are counted, their numbers.
  var trades: TradeDesk
  /// Where the list has names only.
  var markets: MarketDesk?
  /// Whether the details of a market have ever said that it is not to be carried.
  var hasEnded = false
  /// Levels of the snapshots that are asked for.
  var snapshotLevels = 0
  let unnumbered: DialectFacts.Unnumbered?
  /// Where a name that is none costs the connection.
  var suspects: Suspects?
  /// Messages of a minute, where those are counted.
  var budget: MinuteBudget?
  /// Requests for figures of markets whose trades are in doubt.
  var witnessBudget: MinuteBudget
  /// When the next of them may be sent: the venue has asked to wait.
  var witnessPause = Timestamp.distantPast
  /// Books that are to be asked for apart from the stream.
  var probes: [Int] = []
  /// The book that is being renewed while it goes on.
  var renewal: BookRenewal?
  /// By topic, for the channels that promise something.
  var watches: [SilenceWatch?] = []
  private(set) var isConnected = false
  var isLeaving = false
  var inMaintenance = false
  var maintenanceSince = Timestamp.distantPast
  /// When the answer to the greeting is overdue; nil if none is awaited.
  var greetingDue: Timestamp?
  /// When a list that comes in the stream is overdue; nil if none is awaited.
  var listDue: Timestamp?
  var listAttempts = 0
  /// The parts of a list that comes in the stream; nil what is awaited.
  var streamedParts: [[ListedMarket]?] = []
  var hasStreamList = false
  var hasAllVolumes = false
  var pages = ListPages()
  /// Whether the list is asked for in its other way.
  var isOtherWay = false
  /// Topics that were begun and ended since `hour`.
  var topicsOfHour = 0
  var hour = Timestamp.distantPast
  var pingAfter: Int64
  private var lastPing = Timestamp.distantPast
  var lastSent = Timestamp.distantPast
  /// The memory in which the dialect notes what a message says. Only the call that had it filled reads it.
  var hearing = Hearing()

  var known = InstrumentTable()
  var seen: [SymbolCounts] = []
  /// When anything last came on the connection.
  var connectionHeard = Timestamp.distantPast
  lazy var canaryMarks = makeCanaryMarks()
  /// Whether the canary has been seen to on this connection.
  var hasAskedCanary = false
  /// Configured symbols that were refused: told once a connection, and once each time they have been asked for again.
  var refusedSymbols: Set<String> = []
  /// Those that no venue's list can change: no symbols, or of a kind that is not carried here.
  var hopelessSymbols: Set<String> = []
  /// When another connection may be asked for next because of requests that nobody answers: one that never is does
  /// not cost one after the other.
  var nextRenewal = Timestamp.distantPast
  var renewals = Backoff(first: 5 * Microseconds.minute, limit: Microseconds.hour)

  /// The number of the last request, by REST or on the connection: those for snapshots and details have numbers of
  /// their own.
  var requestID = 0
  /// The request for the venue's list, where it is by REST and one at a time.
  var listRequest: ListRequest
  /// Selections and the venue's whole list.
  lazy var marketList = MarketList(configuration, limit: venue.symbolLimit)

  init(_ dialect: any Dialect, venue: Venue, configuration: FeedConfiguration) {
    self.dialect = dialect
    self.venue = venue
    self.configuration = configuration
    facts = dialect.facts
    desk = SubscriptionDesk(facts, connections: configuration.connections)
    let bridge = facts.bridge
    pacer = RequestPacer(
      weightPerMinute: max(1, (bridge?.weightPerMinute ?? 60) / configuration.connections),
      requestWeight: bridge?.snapshots[0].weight ?? 1, concurrency: bridge?.concurrency ?? 1)
    trades = TradeDesk(
      configuration.findsTrades ? facts.tradePages : nil, connections: configuration.connections)
    snapshotLevels = bridge?.snapshots[0].levels ?? 0
    listRequest = ListRequest(banPause: facts.banPause)
    unnumbered = bridge?.unnumbered
    suspects = facts.fatalNames.map { Suspects($0) }
    budget = facts.pacing.perMinute.map { MinuteBudget(limit: max(1, $0 / configuration.connections)) }
    witnessBudget = MinuteBudget(limit: max(1, (facts.witness?.requestsPerMinute ?? 1) / configuration.connections))
    precondition(bridge == nil || facts.perMarket == nil, "answers to both would have the same numbers")
    markets = facts.perMarket.map { MarketDesk($0, connections: configuration.connections) }
    pingAfter = facts.ping?.after ?? .max
  }

  package var symbolCounts: [SymbolCounts] { seen }
  var instruments: [Instrument] { known.instruments }

  /// The URL of the next connection.
  package var url: String { configuration.endpoint ?? venue.endpoint }

  /// Keeps something to be told of that is no message of the venue's.
  package func note(_ error: FeedError, text: String) {
    if notices.count < Self.noticeLimit { notices.append((error, text)) }
  }

  /// Why the book of `instrument` is not being rebuilt just now; nil unless it has failed too often (`BookCircuit`).
  package func trouble(of instrument: InstrumentID) -> BookTrouble? {
    guard lines.indices.contains(instrument.index) else { return nil }
    let book = lines[instrument.index].book
    return book.isBridged ? pacer.trouble(of: instrument.index) : book.trouble
  }

  // MARK: Connection

  /// Whether the venue has anything to send on this connection: false while nothing is subscribed.
  package var expectsMarket: Bool {
    // A list in the stream is the venue's to send.
    !facts.isSilentWithoutSymbols || (facts.streamedList != nil && !hasStreamList)
      || lines.contains { $0.isAsked && $0.isCarried }
  }

  package func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    isLeaving = false
    lastPing = now
    topicsOfHour = 0
    hour = now
    if let reason = facts.refusesURL?(url) {
      for place in lines.indices { lines[place].isRefused = true }
      for symbol in symbols { refuse(symbol, reason) }
      return
    }
    if facts.greeting == .request { desk.greet() } else { greet(now) }
    if facts.welcomeWithin > 0 { desk.outbox.pause(until: now + facts.welcomeWithin) }
    if facts.streamedList != nil {
      listAttempts = 0
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
    if facts.greeting == .required { greetingDue = now + RequestDeadline.answer }
  }

  package func disconnected(now: Timestamp, into batch: inout EventBatch) {
    if isConnected { layBlame(now) }
    isConnected = false
    // Else the first acknowledgement says that it is over.
    if facts.maintenanceLimit != nil { inMaintenance = false }
    greetingDue = nil
    listDue = nil
    hasStreamList = false
    streamedParts = []
    probes = []
    hasAllVolumes = false
    listRequest.restart()
    pages = ListPages()
    desk.removeAll()
    pacer.removeAll()
    trades.disconnected()
    renewal = nil
    markets?.disconnected()
    dialect.forget()
    pingAfter = facts.ping?.after ?? .max
    for place in lines.indices {
      var book = lines[place].book
      book.disconnected()
      lines[place] = Line(
        book: book, isSuspect: lines[place].isSuspect || lines[place].isRefused, isEnded: lines[place].isEnded)
    }
    for topic in watches.indices { watches[topic]?.disconnected() }
  }

  /// The connection is gone: what the next one refuses is told again, and what is followed once for each connection is
  /// followed anew.
  package func forgetConnection() {
    refusedSymbols.removeAll()
    hasAskedCanary = false
  }

  // MARK: Time

  /// Moves time on: pings, time-outs of subscriptions and snapshots, paced requests. About four times a second.
  package func tick(now: Timestamp, into batch: inout EventBatch) {
    if facts.streamedList == nil ? !listRequest.isDone : !isConnected && !isPrepared { prepare(now: now, into: &batch) }
    pumpMarkets(now)
    guard isConnected else { return }
    if let due = greetingDue, now >= due { return ungreeted("the greeting was not answered") }
    if inMaintenance, let limit = facts.maintenanceLimit {
      ping(now)
      guard now - maintenanceSince >= limit else { return }
      maintain(false, now, into: &batch)
    }
    if let due = listDue, now >= due {
      listAttempts += 1
      unanswered(listAttempts, "the list of markets", now: now)
      askForStreamList(now, into: &batch)
    }
    watch(now, into: &batch)
    probeBooks(now, into: &batch)
    renewBooks(now)
    for place in lines.indices where lines[place].isCarried { watchSilence(of: place, now) }
    if let unnumbered { tendUnnumbered(unnumbered, now, into: &batch) }
    repeatUnanswered(now)
    subscribeSuspect(now)
    flush(now)
    ping(now)
    pacer.expire(now: now)
    pump(now)
    searchTrades(now: now, into: &batch)
  }

  /// The dialect's own watch, and the channels that promise something.
  private func watch(_ now: Timestamp, into batch: inout EventBatch) {
    // Not that of a message, which may be half acted upon.
    var noticed = Hearing()
    noticed.begin(now: now)
    dialect.tick(known, &noticed)
    for report in noticed.reports { try? act(report, now: now, into: &batch) }
    guard !watches.isEmpty else { return }
    var dead: [Int] = []
    for code in watches.indices {
      let topic = desk.topic(code)
      guard lines[topic.place].isCarried,
        watches[code]?.isDead(now: now, connectionHeard: marketHeard) ?? false
      else { continue }
      if topic.channel == 0 {
        take(topic.place, outOfSync: .stale, now: now, into: &batch)
      } else if facts.channels[topic.channel].isOfAll {
        take(topic.place, outOfSync: .stale, now: now, into: &batch)
        dead.append(topic.place)
      } else {
        desk.renew([topic.place], channel: topic.channel)
      }
    }
    desk.renew(dead, channels: 1..<facts.channels.count)
  }

  private func ping(_ now: Timestamp) {
    guard let ping = facts.ping else { return }
    let since =
      switch ping.since {
      case .ping: lastPing
      case .sent: lastSent
      case .heard: max(connectionHeard, lastPing)
      }
    guard now - since >= pingAfter else { return }
    lastPing = now
    if let text = spell(.ping, now) { send(text, now) }
  }
}
