import Bytes
import MarketData

/// The life of a connection, for every venue: lists, subscriptions, books, refusals, silence, pings. It is the only
/// owner of all of that state; what a venue is like stands in its dialect. Sans-IO, as every `FeedHandler`.
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
package final class FeedEngine: SymbolHandler {
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
    var lastTrade: Int64 = 0
    /// The newest trade by what the venue said of it before.
    var toldTrade: Int64 = 0
    /// When a live book whose updates are not numbered is renewed.
    var renewDue = Timestamp.distantFuture
    /// A trade that is newer than the newest update: its time, and when it came.
    var unfollowed: (time: Timestamp, since: Timestamp)?
    var hasTraded = false
    /// Whether its details say that it is not to be carried, on whatever connection.
    var isEnded = false
    var isCarried: Bool { isListed && !isRefused && !isEnded }
  }

  let dialect: Dialect
  let facts: DialectFacts
  var lines: [Line] = []
  var desk: SubscriptionDesk
  var pacer: RequestPacer
  /// Where the list has names only.
  var markets: MarketDesk?
  /// Whether the details of a market have ever said that it is not to be carried.
  var hasEnded = false
  /// Levels of the snapshots that are asked for.
  var snapshotLevels = 0
  let unnumbered: DialectFacts.Unnumbered?
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
  private var listAttempts = 0
  var hasStreamList = false
  private var hasAllVolumes = false
  private var listFailure: Int?
  /// Of the parts of the list that have come.
  private var listed: [ListedMarket] = []
  private var listedNames: Set<String> = []
  private var listPart = 0
  private var listCursor: String?
  /// Topics that were begun and ended since `hour`.
  var topicsOfHour = 0
  var hour = Timestamp.distantPast
  var pingAfter: Int64
  private var lastPing = Timestamp.distantPast
  var lastSent = Timestamp.distantPast
  var hearing = Hearing()
  /// Whether the message that is being taken could be read.
  private var isRead = false

  init(_ dialect: Dialect, venue: Venue, configuration: FeedConfiguration) {
    self.dialect = dialect
    facts = dialect.facts
    desk = SubscriptionDesk(facts, connections: configuration.connections)
    let bridge = facts.bridge
    pacer = RequestPacer(
      weightPerMinute: max(1, (bridge?.weightPerMinute ?? 60) / configuration.connections),
      requestWeight: bridge?.snapshots[0].weight ?? 1, concurrency: bridge?.concurrency ?? 1)
    snapshotLevels = bridge?.snapshots[0].levels ?? 0
    unnumbered = bridge?.unnumbered
    precondition(bridge == nil || facts.perMarket == nil, "answers to both would have the same numbers")
    markets = facts.perMarket.map { MarketDesk($0, connections: configuration.connections) }
    pingAfter = facts.ping?.after ?? .max
    super.init(venue: venue, configuration: configuration)
    listRequest = ListRequest(banPause: facts.banPause)
  }

  // MARK: Connection

  package override var expectsMarket: Bool {
    !facts.isSilentWithoutSymbols || lines.contains { $0.isAsked && $0.isCarried }
  }

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
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
    if facts.answersGreeting {
      desk.greet()
    } else if let greeting = spell(.greeting, now) {
      send(greeting, now)
      if facts.awaitsGreeting { greetingDue = now + RequestDeadline.answer }
    }
    if facts.welcomeWithin > 0 { desk.outbox.pause(until: now + facts.welcomeWithin) }
    if facts.listTimeout != nil {
      hasStreamList = false
      listAttempts = 0
      askForStreamList(now)
    } else {
      subscribeMissing(now)
      flush(now)
    }
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    // Else the first acknowledgement says that it is over.
    if facts.maintenanceLimit != nil { inMaintenance = false }
    greetingDue = nil
    listDue = nil
    hasAllVolumes = false
    listRequest.restart()
    listFailure = nil
    restartList()
    desk.removeAll()
    pacer.removeAll()
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

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if facts.listTimeout == nil ? !listRequest.isDone : !isConnected && !isPrepared { prepare(now: now, into: &batch) }
    pumpMarkets(now)
    guard isConnected else { return }
    if let due = greetingDue, now >= due {
      greetingDue = nil
      note(FeedError(.unanswered, "the greeting was not answered, without which nothing is as it should be"), text: "")
      return actions.append(.reconnect(reason: "the greeting was not answered"))
    }
    if inMaintenance, let limit = facts.maintenanceLimit {
      ping(now)
      guard now - maintenanceSince >= limit else { return }
      maintain(false, now, into: &batch)
    }
    if let due = listDue, now >= due {
      listAttempts += 1
      unanswered(listAttempts, "the list of markets", now: now)
      askForStreamList(now)
    }
    watch(now, into: &batch)
    renewBooks(now)
    for place in lines.indices where lines[place].isCarried { watchSilence(of: place, now) }
    if let unnumbered { tendUnnumbered(unnumbered, now, into: &batch) }
    repeatUnanswered(now)
    flush(now)
    ping(now)
    pacer.expire(now: now)
    pump(now)
  }

  /// The dialect's own watch, and the channels that promise something.
  private func watch(_ now: Timestamp, into batch: inout EventBatch) {
    hearing.begin(now: now)
    dialect.tick(known, &hearing)
    for report in hearing.reports { try? act(report, now: now, into: &batch) }
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

  override func canaryRequest(for market: String, id: Int, now: Timestamp) -> String {
    dialect.spell(.canary(market), id: id, now: now, known) ?? ""
  }

  override func canaryMark(of market: String) -> String { "\(facts.canaryPrefix)\(market)\"" }

  // MARK: Lists

  package override var isPrepared: Bool {
    facts.listTimeout == nil ? listRequest.hasList : hasAllVolumes || !marketList.wantsVolumes
  }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    if facts.listTimeout != nil {
      hasAllVolumes = hasVolumes(now: now)
    } else if wantedFamilies.isEmpty {
      // Symbols of no kind that is carried, or none at all: nothing is asked for, and they are refused.
      guard listRequest.isDue(now: now) else { return }
      take([], into: &batch)
      listRequest.finished()
    } else {
      super.prepare(now: now, into: &batch)
    }
  }

  override var listPath: String? {
    defer { listFailure = nil }
    return nextListPath
  }

  private var nextListPath: String? {
    dialect.listPath(
      ListQuery(
        symbols: marketList.named.compactMap(FeedSymbol.init), isWhole: wantsWholeList, families: wantedFamilies,
        failed: listFailure, part: listPart, cursor: listCursor))
  }

  private func restartList() {
    listed = []
    listedNames = []
    listPart = 0
    listCursor = nil
  }
  override var listLimit: Int { facts.listLimit }

  package override func listReader(for request: Int) -> ListReader? {
    listRequest.awaits(request) ? ListReader(venue: venue, configuration: configuration) : nil
  }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    let page: ListPage
    switch takeReadAhead() {
    case .success(let read): page = read
    case .failure(let error): throw error
    case nil: page = try dialect.readList(body)
    }
    if let weight = page.weightPerMinute, let bridge = facts.bridge {
      pacer.weightPerMinute = max(weight / configuration.connections, bridge.snapshots[0].weight)
    }
    listed += page.markets
    listedNames.formUnion(page.names)
    listPart += 1
    // A cursor that stays where it is would be followed for ever.
    let isSame = page.cursor != nil && page.cursor == listCursor
    listCursor = page.cursor
    guard !page.goesOn || isSame || listPart >= facts.listParts || nextListPath == nil else { return false }
    take(listed, listedNames, into: &batch)
    restartList()
    return true
  }

  /// A part that did not come: all of them again.
  override func listFailed(status: Int) {
    listFailure = status
    restartList()
  }

  override func hasListed(now: Timestamp) {
    markets?.wantDetails(now: now)
    if isConnected {
      subscribeMissing(now)
      flush(now)
    }
    pumpMarkets(now)
  }

  func take(_ listed: [ListedMarket], _ names: Set<String> = [], into batch: inout EventBatch) {
    markets?.newList()
    let others = configuredMarkets(among: listed, names)
    let symbols = Set(others.map(\.symbol))
    let isShown = facts.isShown ?? { _ in true }
    let carried = carry(listed + others, listing: { !symbols.contains($0.symbol) && isShown($0) }, into: &batch)
    makeLines()
    for place in lines.indices { lines[place].isListed = carried.contains(place) }
    placeMarkets()
  }

  override func carried(_ market: ListedMarket) -> ListedMarket? { known(of: market) }

  override func refusal(of market: ListedMarket, for symbol: String) -> String? {
    if let carrier = carrier(of: market) {
      return "\(venue.title)'s \(market.venueSymbol) is carried as \(carrier.text): leave one of them out"
    }
    // A book may have two names, of which one is carried.
    guard let place = known.place(named: market.venueSymbol), configuredName(place) != symbol else { return nil }
    return "\(symbol) is the same book as \(configuredName(place)), which is carried: leave one of them out"
  }

  /// Makes room for the instruments that are new.
  func makeLines() {
    while lines.count < known.count { lines.append(Line(book: BookKeeper(facts), isSuspect: isConnected)) }
    desk.grow(to: lines.count)
    if facts.channels.contains(where: { $0.every != nil }) {
      while watches.count < desk.states.count {
        watches.append(facts.channels[desk.topic(watches.count).channel].every.map { SilenceWatch(every: $0) })
      }
    }
    chooseDepth()
  }

  private func askForStreamList(_ now: Timestamp) {
    guard let timeout = facts.listTimeout, let text = spell(.list(isEnd: false), now) else { return }
    send(text, now)
    listDue = now + timeout
  }

  override var volumeRequests: [String] { wantedVolumes.map { facts.volumePaths[$0].path } }

  /// The places in `facts.volumePaths` of those that are asked for.
  private var wantedVolumes: [Int] {
    let families = wantedFamilies
    return facts.volumePaths.indices.filter { facts.volumePaths[$0].family.map(families.contains) ?? true }
  }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try dialect.readVolumes(body, of: wantedVolumes[index], into: &volumes)
  }

  override func isLive(_ place: Int) -> Bool { lines[place].book.isLive }

  override var carriesHalted: Bool { facts.carriesHalted }

  override func unlisted(_ wanted: FeedSymbol, among markets: [ListedMarket]) -> String {
    facts.unlisted?(wanted, markets) ?? super.unlisted(wanted, among: markets)
  }

  /// Where nothing can be carried on a connection, it cannot be however often it is asked for.
  override var asksAgain: Bool { facts.refusesURL?(url) == nil }

  /// What stayed silent is subscribed again, too: a name that is none may be acknowledged, and whether one that has
  /// become one is heard of by itself is not known.
  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    if facts.listTimeout != nil {
      guard isConnected, hasStreamList, !desk.outbox.isPaused(at: now) else { return }
    }
    // What was closed may have been opened, which its details say.
    markets?.forgetDetails(of: symbols)
    for place in lines.indices where symbols.contains(configuredName(place)) && !lines[place].book.isLive {
      guard lines[place].isRefused || lines[place].isToldSilent else { continue }
      var book = lines[place].book
      book.stop()
      lines[place] = Line(book: book, isSuspect: true, isEnded: lines[place].isEnded)
      desk.forget(place)
    }
    guard facts.listTimeout != nil else {
      listRequest.again()
      return prepare(now: now, into: &batch)
    }
    hasStreamList = false
    if let text = spell(.list(isEnd: true), now) { send(text, now) }
    askForStreamList(now)
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    let start = batch.events.count
    isRead = false
    hearing.begin(now: now)
    try dialect.read(message, &known, &hearing, into: &batch)
    if hearing.mayBeCanary, isCanary(message) { throw FeedError(.unknownSymbol, "of the canary") }
    isRead = true
    // `tick` has a hearing of its own.
    let reports = hearing.reports
    isAnswer = hearing.isAnswer
    counts.ignored += hearing.ignored
    if let place = hearing.linked { seen[place].sequenceOK += 1 }
    let lost = hearing.lostBefore
    let first = lost.map { loseBooks($0, before: start, now: now, into: &batch) } ?? start
    take(from: first, now: now, into: &batch)
    if lost != nil { tick(now: now, into: &batch) }
    for report in reports { try act(report, now: now, into: &batch) }
  }

  /// Of a message that could not be read only a book loses something.
  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    // What was read, and says that a request was refused, is no broken message.
    guard !isRead else { return }
    hearing.begin(now: now)
    dialect.missed(message, known, &hearing)
    for topic in hearing.heard where !watches.isEmpty { watches[desk.code(topic)]?.heard(now: now) }
    for report in hearing.reports { try? act(report, now: now, into: &batch) }
    if let places = booksOfBroken(message) {
      for place in places {
        take(place, outOfSync: .malformed, now: now, into: &batch)
        if unnumbered != nil { beginAnew(place, now) }
      }
      if places.isEmpty, unnumbered != nil { renewAll(now) }
      return tick(now: now, into: &batch)
    }
    if let unnumbered, !Salvage.contains(message, unnumbered.otherMark) { renewAll(now) }
  }

  // MARK: Books

  /// Takes a live book out of sync, and says so.
  func take(_ place: Int, outOfSync reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    guard lines[place].book.lose(now: now) else { return }
    if reason == .gap { seen[place].gaps += 1 }
    if lines[place].book.isBridged { lostBridged(place, now) }
    batch.events.append(.bookReset(InstrumentID(place), reason))
  }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    let place = instrument.index
    guard isConnected, lines.indices.contains(place), lines[place].book.lose(now: now) else { return }
    if lines[place].book.isBridged { lostBridged(place, now) }
    tick(now: now, into: &batch)
  }

  override func trouble(ofBook place: Int) -> BookTrouble? {
    lines[place].book.isBridged ? pacer.trouble(of: place) : lines[place].book.trouble
  }

  override func widened(_ place: Int, priceBy: Int64, sizeBy: Int64) {
    guard lines.indices.contains(place) else { return }
    lines[place].book.bridge.rescale(priceBy: priceBy, sizeBy: sizeBy)
    if renewal?.place == place { renewal?.bridge.rescale(priceBy: priceBy, sizeBy: sizeBy) }
  }

  override func answered(
    _ request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    if takeMarket(request, status: status, body: body, now: now, into: &batch) { return }
    guard let place = pacer.answered(request) else { return }
    takeSnapshot(place, status: status, body: body, now: now, into: &batch)
    pump(now)
  }

  override func readSnapshot(
    _ body: RawSpan, _ place: Int, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    known.begin()
    return try dialect.readSnapshot(body, place, &known, into: &batch)
  }
}
