import Bytes
import MarketData

/// Bitstamp v2: spot, without a key. Whole books and trades; quotes come from the book, and 24 h figures are the gateway's own, as
/// the feed has none of either.
///
/// The list of markets comes by REST before the connection. A book is `diff_order_book`, which has no snapshot, joined to one that
/// is asked for by REST. Updates have a time and nothing else: **an update that is lost shows in nothing.** What can be done is done:
///
/// - A snapshot is used only if it is from after what was not kept: REST answers come from a cache and may be some seconds old.
/// - A time that goes back is a message that came late, and takes the book out of sync.
/// - A trade changes the book. One that no update follows means that the book's channel is dead, not quiet.
/// - Every book is renewed by a snapshot from time to time, without leaving sync.
///
/// Perpetuals are on the same connection, but nobody has shown what unit their amounts are in; they are not carried.
package final class BitstampHandler: SymbolHandler {
  enum Channel: Int, CaseIterable {
    case book, trades

    var prefix: StaticString {
      switch self {
      case .book: "diff_order_book_"
      case .trades: "live_trades_"
      }
    }
  }

  /// Quiet time after which a heartbeat is asked for.
  static let pingAfter = 10 * Microseconds.second
  /// Subscriptions sent in one go, and the time between two: 20 at once have been taken; each is for one channel.
  static let requestsAtOnce = 10
  static let requestInterval = 100 * Microseconds.millisecond
  /// How long a subscription may be unanswered before it is sent again, at first.
  static let answerTimeout = 15 * Microseconds.second
  /// From the first update to the request of a snapshot. Answers have been seen to be up to 2.2 s old, and one from before that
  /// update is of no use.
  static let snapshotDelay = 2 * Microseconds.second
  /// A book that does not change still wants a snapshot, this long after its subscription.
  static let quietBook = 5 * Microseconds.second
  /// How often in a row a snapshot of a quiet book is put back for being older than the subscription, by the gateway's clock; and of another
  /// for being older than its updates, before their times are no longer believed.
  static let quietAttempts = 3
  static let staleAttempts = 6
  /// A live book is renewed after a minute, and then each time after ten.
  static let firstRenewal = Microseconds.minute
  static let renewal = 10 * Microseconds.minute
  /// A trade that no update of the book has followed for so long.
  static let unfollowedTrade = 30 * Microseconds.second
  /// How long a connection may last after the venue asked for another: "a few seconds".
  static let reconnectNotice = 5 * Microseconds.second
  /// Room for a whole book: 7,400 levels have been 206 KB.
  static let bodyLimit = 16 << 20
  /// The list by its present address, and by the one that it had before.
  package static let listPaths = ["/api/v2/markets/", "/api/v2/trading-pairs-info/"]

  package static let venue = Venue(
    name: "bitstamp", title: "Bitstamp", separator: "/", endpoint: "wss://ws.bitstamp.net",
    restEndpoint: "https://www.bitstamp.net",
    // Heartbeats are asked for after 10 s of silence and are answered.
    staleAfter: 25 * Microseconds.second, messageLimit: 4 << 20,
    // 1,024 channels a connection, two a symbol.
    symbolLimit: 500, connectionLifetime: 90 * Microseconds.day,
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: 20_000, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("diff_order_book", .book, silence: .contradicted), .init("live_trades", .trades),
      ],
      bookDepth: nil,
      bookCheck: "the venue numbers nothing; times link updates to a REST snapshot, which is renewed every 10 min",
      connectionLife: "heartbeats are asked for after 10 s of silence", requests: [.instruments, .snapshots, .volumes],
      limits: ["1,024 channels a connection", "5 REST requests a second"]),
    makeHandler: { BitstampHandler(configuration: $0) })

  /// A channel of a symbol on this connection.
  struct Subscription {
    /// When it was sent and not answered; nil once it was, or while it waits to be sent.
    var asked: Timestamp?
    var patience = BitstampHandler.answerTimeout
    var backoff = Backoff(first: 2 * BitstampHandler.answerTimeout, limit: 2 * Microseconds.minute)
  }

  struct Feed {
    var bridge = SnapshotBridge(rule: .bitstamp)
    /// By channel.
    var subscriptions = [Subscription(), Subscription()]
    /// When the book's channel was acknowledged, or first spoke.
    var begun: Timestamp?
    /// The newest venue time of an update, µs.
    var newest: Int64 = 0
    /// A snapshot must not be older, µs: what happened until then has not been kept. Nil as long as that is not known.
    var floor: Int64?
    /// Snapshots in a row that were of no use.
    var attempts = 0
    var renewDue = Timestamp.distantFuture
    /// A trade that is newer than the newest update: its venue time, µs, and when it came.
    var unfollowed: (time: Int64, since: Timestamp)?
    var isListed = true
    var isRefused = false
    var isSubscribed = false
    var isCarried: Bool { isListed && !isRefused }
  }

  /// A book that is renewed while it goes on: what came since the request.
  struct Renewal {
    let place: Int
    /// The newest update at the request, µs.
    let floor: Int64
    var bridge = SnapshotBridge(rule: .bitstamp)
    var kept = 0
  }

  var feeds: [Feed] = []
  private(set) var renewing: Renewal?
  private var pacer = RequestPacer(weightPerMinute: 300, requestWeight: 1, concurrency: 4)
  private var isListed = false
  private var listRequest: Int?
  private var listDue = Timestamp.distantPast
  private var listBackoff = Backoff(first: Microseconds.second, limit: 30 * Microseconds.second)
  private var listPath = 0
  private var requestID = 0
  private var isConnected = false
  private var isLeaving = false
  private var heardAt = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast
  private var outbox: [(place: Int, channel: Channel, text: String)] = []
  private var sendDue = Timestamp.distantPast

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  // MARK: Instruments

  package override var isPrepared: Bool { isListed }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    guard !isListed, listRequest == nil, now >= listDue, hasVolumes(now: now) else { return }
    requestID += 1
    listRequest = requestID
    listDue = now + RequestPacer.answerTimeout
    actions.append(.get(request: requestID, path: Self.listPaths[listPath], bodyLimit: Self.bodyLimit))
  }

  package override func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    if takeVolumes(request, status: status, body: body, now: now) { return prepare(now: now, into: &batch) }
    if request == listRequest {
      listRequest = nil
      do throws(FeedError) {
        guard status == 200 else {
          throw FeedError(.refused, "GET \(Self.listPaths[listPath]): status \(status)")
        }
        take(try BitstampMarket.list(body), into: &batch)
        isListed = true
        if isConnected { subscribeMissing() }
        listBackoff.reset()
        listDue = now
      } catch {
        rejectAnswer(error)
        // Not there, or not what it was: by its other address. A failing server is no reason for that.
        if status == 404 || status == 410 || status == 200 { listPath = 1 - listPath }
        listDue = now + (status == 429 ? Microseconds.minute : listBackoff.next())
      }
      return
    }
    guard let place = pacer.answered(request) else { return }
    takeSnapshot(place, status: status, body: body, now: now, into: &batch)
    pump(now)
  }

  override var volumeRequests: [String] { ["/api/v2/ticker/"] }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readTickers(body, into: &volumes)
  }

  private func take(_ list: [BitstampMarket], into batch: inout EventBatch) {
    self.list(
      list.map { market in
        ListedMarket(
          venueSymbol: market.name, symbol: market.symbol,
          priceIncrement: market.priceScale.map { Decimal64(mantissa: 1, scale: $0) },
          sizeIncrement: market.sizeScale.map { Decimal64(mantissa: 1, scale: $0) },
          state: market.isTrading ? .trading : .halted)
      })
    var listed: Set<Int> = []
    for symbol in symbols {
      guard let wanted = wanted(symbol) else { continue }
      guard let found = list.first(where: { $0.symbol == wanted }) else {
        refuse(
          symbol, "Bitstamp has no market \(symbol)\(NearNames.question(symbol, among: list.lazy.map(\.symbol.text)))")
        continue
      }
      let place = add(
        venueSymbol: found.name, base: wanted.base, quote: wanted.quote, priceScale: found.priceScale ?? 0,
        sizeScale: found.sizeScale ?? 0, priceIncrement: found.priceScale.map { Decimal64(mantissa: 1, scale: $0) },
        sizeIncrement: found.sizeScale.map { Decimal64(mantissa: 1, scale: $0) }, into: &batch)
      guard let place else {
        refuse(symbol, "too many symbols on one connection")
        continue
      }
      if place == feeds.count { feeds.append(Feed()) }
      listed.insert(place)
    }
    // A subscription to a market that is gone would be acknowledged, and silent for ever.
    for place in feeds.indices {
      feeds[place].isListed = listed.contains(place)
      if !feeds[place].isListed { refuse(configuredName(place), "Bitstamp no longer lists it") }
    }
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    isLeaving = false
    heardAt = now
    lastPing = now
    sendDue = now
    subscribeMissing()
    flush(now)
  }

  /// What is carried and has not been subscribed on this connection.
  private func subscribeMissing() {
    for channel in Channel.allCases {
      for place in feeds.indices where feeds[place].isCarried && !feeds[place].isSubscribed {
        subscribe(place, channel)
      }
    }
    for place in feeds.indices where feeds[place].isCarried { feeds[place].isSubscribed = true }
  }

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices where symbols.contains(configuredName(place)) { feeds[place].isRefused = false }
    guard listRequest == nil else { return }
    isListed = false
    prepare(now: now, into: &batch)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    isListed = false
    if listRequest != nil { listDue = now }
    listRequest = nil
    outbox.removeAll()
    pacer.removeAll()
    renewing = nil
    for place in feeds.indices {
      var feed = Feed()
      // What was refused is asked for again.
      feed.isListed = feeds[place].isListed
      feeds[place] = feed
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if listRequest != nil, now >= listDue { listRequest = nil }
    if !isListed { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    if now - heardAt >= Self.pingAfter, now - lastPing >= Self.pingAfter {
      lastPing = now
      actions.append(.send(#"{"event":"bts:heartbeat"}"#))
    }
    pacer.expire(now: now)
    for place in feeds.indices where feeds[place].isCarried { tend(place, now, into: &batch) }
    flush(now)
    pump(now)
  }

  private func tend(_ place: Int, _ now: Timestamp, into batch: inout EventBatch) {
    for channel in Channel.allCases {
      let subscription = feeds[place].subscriptions[channel.rawValue]
      guard let asked = subscription.asked, now - asked >= subscription.patience else { continue }
      feeds[place].subscriptions[channel.rawValue].patience =
        feeds[place].subscriptions[channel.rawValue].backoff.next()
      subscribe(place, channel)
    }
    guard feeds[place].bridge.isLive else {
      if let begun = feeds[place].begun, now - begun >= Self.quietBook { pacer.want(place) }
      return
    }
    if let unfollowed = feeds[place].unfollowed, now - unfollowed.since >= Self.unfollowedTrade {
      beginAnew(place, now: now)
      lose(place, .stale, now: now, into: &batch)
      outbox.append((place, .book, text("unsubscribe", place, .book)))
      subscribe(place, .book)
    } else if renewing == nil, now >= feeds[place].renewDue {
      renewing = Renewal(place: place, floor: feeds[place].newest)
      pacer.want(place)
    }
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { pacer.trouble(of: place) }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    let place = instrument.index
    guard isConnected, feeds.indices.contains(place), feeds[place].bridge.isLive else { return }
    restart(place, now: now)
    pump(now)
  }

  // MARK: Subscriptions

  private func text(_ event: String, _ place: Int, _ channel: Channel) -> String {
    let name = JSONText.quoted("\(channel.prefix)\(instruments[place].venueSymbol)")
    return #"{"event":"bts:\#(event)","data":{"channel":\#(name)}}"#
  }

  private func subscribe(_ place: Int, _ channel: Channel) {
    feeds[place].subscriptions[channel.rawValue].asked = nil
    outbox.append((place, channel, text("subscribe", place, channel)))
  }

  private func flush(_ now: Timestamp) {
    guard !outbox.isEmpty, now >= sendDue else { return }
    sendDue = now + Self.requestInterval
    for request in outbox.prefix(Self.requestsAtOnce) {
      actions.append(.send(request.text))
      feeds[request.place].subscriptions[request.channel.rawValue].asked = now
    }
    outbox.removeFirst(min(outbox.count, Self.requestsAtOnce))
  }

  /// A channel was acknowledged, or speaks.
  func answered(_ place: Int, _ channel: Channel, now: Timestamp) {
    if feeds[place].subscriptions[channel.rawValue].asked != nil {
      feeds[place].subscriptions[channel.rawValue] = Subscription()
    }
    if channel == .book, feeds[place].begun == nil { feeds[place].begun = now }
  }

  func leave(_ reason: String) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: reason, within: Self.reconnectNotice))
  }

  /// A subscription was refused. The venue does not always say which.
  func failed(_ place: Int?, _ message: String) throws(FeedError) {
    guard let place, !feeds[place].bridge.isLive else { throw FeedError(.refused, message) }
    dismiss(place, message)
  }

  private func dismiss(_ place: Int, _ reason: String) {
    feeds[place].isRefused = true
    feeds[place].bridge.reset()
    refuse(configuredName(place), reason)
  }

  // MARK: Books

  /// An update at `time` with levels that stand at the end of the batch.
  func update(
    _ place: Int, at time: Int64, bids: Range<Int>, asks: Range<Int>, now: Timestamp, into batch: inout EventBatch
  ) {
    seen[place].deltas += 1
    note(place, batch.bids[bids])
    note(place, batch.asks[asks])
    let numbers = UpdateNumbers(first: time, last: time)
    let venueTime = Timestamp(microseconds: time)
    let verdict = feeds[place].bridge.receive(
      numbers, bids: batch.bids[bids], asks: batch.asks[asks], time: venueTime)
    if renewing?.place == place { keepForRenewal(numbers, batch.bids[bids], batch.asks[asks], venueTime, now) }
    if let unfollowed = feeds[place].unfollowed, time >= unfollowed.time { feeds[place].unfollowed = nil }
    switch verdict {
    case .joined, .followed:
      if verdict == .joined { seen[place].bridged += 1 }
      batch.events.append(
        .book(
          BookEvent(
            instrument: InstrumentID(place), kind: .delta, bidRange: bids, askRange: asks, time: venueTime)))
    case .old, .buffered, .gap:
      batch.bids.removeSubrange(bids)
      batch.asks.removeSubrange(asks)
    }
    switch verdict {
    case .joined, .followed: break
    case .old: seen[place].dropped += 1
    case .buffered:
      if feeds[place].floor == nil { feeds[place].floor = time }
      pacer.want(place, notBefore: now + Self.snapshotDelay)
    case .gap:
      // It came late, or what was between it and the last one never did.
      seen[place].gaps += 1
      feeds[place].newest = max(feeds[place].newest, time)
      lose(place, .gap, now: now, into: &batch)
      return
    }
    feeds[place].newest = max(feeds[place].newest, time)
  }

  /// A trade: what it took is missing in the book from then on, and the next update says so.
  func traded(_ place: Int, at time: Timestamp?, now: Timestamp) {
    guard let time, feeds[place].bridge.isLive, feeds[place].unfollowed == nil,
      time.microseconds > feeds[place].newest
    else { return }
    feeds[place].unfollowed = (time.microseconds, now)
  }

  private func keepForRenewal(
    _ numbers: UpdateNumbers, _ bids: ArraySlice<PriceLevel>, _ asks: ArraySlice<PriceLevel>, _ time: Timestamp,
    _ now: Timestamp
  ) {
    guard var renewal = renewing.take() else { return }
    _ = renewal.bridge.receive(numbers, bids: bids, asks: asks, time: time)
    renewal.kept += 1
    // More than is kept: the renewal is off, and the book goes on as it was.
    if renewal.bridge.updates.count == renewal.kept {
      renewing = renewal
    } else {
      feeds[renewal.place].renewDue = now + Self.firstRenewal
    }
  }

  /// Takes a book out of sync, whether it is live or waits for a snapshot: what has been kept is of no use.
  func lose(_ place: Int, _ reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    restart(place, now: now)
    batch.events.append(.bookReset(InstrumentID(place), reason))
  }

  /// What was lost is of a time that is not known: the book is as if it had just been subscribed.
  private func beginAnew(_ place: Int, now: Timestamp) {
    feeds[place].newest = 0
    feeds[place].floor = nil
    feeds[place].begun = now
    feeds[place].attempts = 0
    feeds[place].bridge.reset()
  }

  private func restart(_ place: Int, now: Timestamp) {
    feeds[place].bridge.reset()
    if feeds[place].newest > 0 { feeds[place].floor = feeds[place].newest }
    feeds[place].unfollowed = nil
    if renewing?.place == place { renewing = nil }
    pacer.want(place, notBefore: now + Self.snapshotDelay)
  }

  /// Something was lost of a book that cannot be told: each is renewed as soon as it can be.
  func renewAll(now: Timestamp) {
    for place in feeds.indices where feeds[place].bridge.isLive { feeds[place].renewDue = now }
  }

  private func pump(_ now: Timestamp) {
    while let (place, request) = pacer.next(now: now) {
      let isWanted = feeds[place].isCarried && (!feeds[place].bridge.isLive || renewing?.place == place)
      guard isWanted else {
        _ = pacer.answered(request)
        continue
      }
      actions.append(
        .get(
          request: request, path: "/api/v2/order_book/\(instruments[place].venueSymbol)/?group=1",
          bodyLimit: Self.bodyLimit))
    }
  }

  private func takeSnapshot(_ place: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    let isRenewal = feeds[place].bridge.isLive
    if isRenewal, renewing?.place != place { return pacer.succeeded(place) }
    guard status == 200 else {
      if status == 404, !isRenewal {
        dismiss(place, "Bitstamp has no order book of it (404)")
        return pacer.succeeded(place)
      }
      return snapshotFailed(place, status: status, now: now)
    }
    var mark = BatchMark(batch)
    // Price and size may each widen several times.
    for _ in 0..<32 {
      do throws(FeedError) {
        let time = try readSnapshot(body, place, into: &batch)
        guard isUsable(time, place) else {
          mark.rewind(&batch)
          feeds[place].attempts += isRenewal ? 0 : 1
          if feeds[place].attempts >= Self.staleAttempts { beginAnew(place, now: now) }
          return snapshotFailed(place, status: status, now: now)
        }
        feeds[place].attempts = 0
        join(place, time, mark: mark, now: now, into: &batch)
        return
      } catch {
        mark.rewind(&batch)
        guard widenIfNeeded(into: &batch) else {
          rejectAnswer(error)
          return snapshotFailed(place, status: status, now: now)
        }
        mark = BatchMark(batch)
      }
    }
  }

  /// Asks again, later; a renewal is given up until its next turn.
  private func snapshotFailed(_ place: Int, status: Int, now: Timestamp) {
    if renewing?.place == place {
      renewing = nil
      feeds[place].renewDue = now + Self.firstRenewal
    }
    pacer.failed(place, status: status, now: now)
  }

  /// Whether a snapshot of `time` has everything in it that was not kept.
  private func isUsable(_ time: Int64, _ place: Int) -> Bool {
    if let renewing, renewing.place == place, feeds[place].bridge.isLive { return time >= renewing.floor }
    let first = feeds[place].bridge.updates.first?.numbers.last
    if let needed = [feeds[place].floor, first].compactMap({ $0 }).max() { return time >= needed }
    // Nothing has been heard of the book: the clocks decide, as far as they can be believed.
    guard let begun = feeds[place].begun, feeds[place].attempts < Self.quietAttempts else { return true }
    return time >= begun.microseconds
  }

  /// Goes live on the snapshot that stands in the batch from `mark` on, with what has been kept since.
  private func join(_ place: Int, _ time: Int64, mark: BatchMark, now: Timestamp, into batch: inout EventBatch) {
    let instrument = InstrumentID(place)
    let bids = mark.bids..<batch.bids.count
    let asks = mark.asks..<batch.asks.count
    note(place, batch.bids[bids])
    note(place, batch.asks[asks])
    seen[place].snapshots += 1
    batch.events.append(
      .book(
        BookEvent(
          instrument: instrument, kind: .snapshot, bidRange: bids, askRange: asks,
          time: Timestamp(microseconds: time))))
    let isRenewal = feeds[place].bridge.isLive
    var bridge = SnapshotBridge(rule: .bitstamp)
    // Taken out, so that the closure below does not reach into what is being changed.
    if isRenewal, let renewal = renewing.take() {
      bridge = renewal.bridge
    } else {
      swap(&bridge, &feeds[place].bridge)
    }
    var counted = SymbolCounts()
    var events: [MarketEvent] = []
    var newBids: [PriceLevel] = []
    var newAsks: [PriceLevel] = []
    let bidBase = batch.bids.count
    let askBase = batch.asks.count
    let isWhole = bridge.bridge(time) { verdict, update, updateBids, updateAsks in
      switch verdict {
      case .old:
        counted.dropped += 1
        return
      case .joined: counted.bridged += 1
      case .followed: break
      case .buffered, .gap: return
      }
      let bidStart = bidBase + newBids.count
      let askStart = askBase + newAsks.count
      newBids.append(contentsOf: updateBids)
      newAsks.append(contentsOf: updateAsks)
      events.append(
        .book(
          BookEvent(
            instrument: instrument, kind: .delta, bidRange: bidStart..<(bidBase + newBids.count),
            askRange: askStart..<(askBase + newAsks.count), time: update.time)))
    }
    batch.bids.append(contentsOf: newBids)
    batch.asks.append(contentsOf: newAsks)
    batch.events.append(contentsOf: events)
    feeds[place].renewDue = now + (isRenewal ? Self.renewal : Self.firstRenewal)
    if isRenewal {
      // What goes on after it is told by the book's own bridge, which has seen the same updates.
      return pacer.succeeded(place)
    }
    swap(&bridge, &feeds[place].bridge)
    seen[place].dropped += counted.dropped
    seen[place].bridged += counted.bridged
    if isWhole {
      pacer.succeeded(place)
    } else {
      // Two updates had come in the wrong order.
      seen[place].gaps += 1
      lose(place, .gap, now: now, into: &batch)
      pacer.failed(place, status: 200, now: now)
    }
  }

  override func widened(_ place: Int, priceBy: Int64, sizeBy: Int64) {
    guard feeds.indices.contains(place) else { return }
    feeds[place].bridge.rescale(priceBy: priceBy, sizeBy: sizeBy)
    if var renewal = renewing.take() {
      if renewal.place == place { renewal.bridge.rescale(priceBy: priceBy, sizeBy: sizeBy) }
      renewing = renewal
    }
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    try readMessage(message, now: now, into: &batch)
    heardAt = now
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    heardAt = now
    guard Salvage.contains(message, "\"bids\"") || Salvage.contains(message, "diff_order_book_") else {
      // What is not even said to be something else may have been an update, and nothing would tell that one is missing.
      if !Salvage.contains(message, "\"event\"") { renewAll(now: now) }
      return
    }
    guard let place = bookPlace(message) else { return renewAll(now: now) }
    beginAnew(place, now: now)
    lose(place, .malformed, now: now, into: &batch)
    pump(now)
  }
}

extension SequenceRule {
  /// Bitstamp: updates have a time and no number, so nothing tells a hole; what is older than a snapshot is in it, and times do not go
  /// back. Two updates of one time are both applied: sizes are absolute, so that one that came twice changes nothing.
  static let bitstamp = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in update.last > snapshot },
    isRepeat: { _, _ in false },
    follows: { update, last in update.last >= last })
}
