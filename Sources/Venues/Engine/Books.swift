import MarketData

/// The books of a connection, by index, and the snapshots by REST that the bridged ones of them wait for. It decides
/// nothing about subscriptions, and says nothing to anyone: what a book's loss comes to is the engine's.
///
/// | value | what it knows |
/// |---|---|
/// | `BookKeeper` | how one book comes into sync and stays there |
/// | `RequestPacer` | which snapshots are wanted, and when one may be asked for |
/// | `UnnumberedBooks` | what contradicts a book whose updates have no numbers, and when it is renewed |
struct Books {
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
    /// Whether the newest list has it, and it can be followed.
    var isListed = true
    var isRefused = false
    /// Whether it was refused before, or came after the others.
    var isSuspect = false
    /// Whether its channels have been asked for on this connection.
    var isAsked = false
    var hasTraded = false
    /// When its trades were asked for again, because their channel had died alone.
    var tradesSince: Timestamp?
    /// Whether its details say that it is not to be followed, on whatever connection.
    var isEnded = false
    var isFollowed: Bool { isListed && !isRefused && !isEnded }
  }

  var lines: [Line] = []
  var pacer: RequestPacer
  /// Books that are to be asked for apart from the stream.
  var probes: [Int] = []
  /// Whether the details of a market have ever said that it is not to be followed.
  private(set) var hasEnded = false
  /// Levels of the snapshots that are asked for.
  private(set) var snapshotLevels: Int
  /// Whether an update that follows vouches for the one before it.
  let provesLinks: Bool
  private let bridge: DialectFacts.Bridge?
  /// Nil where updates have numbers, and so prove their links.
  private var unnumbered: UnnumberedBooks?

  init(_ bridge: DialectFacts.Bridge?, connections: Int) {
    self.bridge = bridge
    pacer = RequestPacer(
      weightPerMinute: max(1, (bridge?.weightPerMinute ?? 60) / connections),
      requestWeight: bridge?.snapshots[0].weight ?? 1, concurrency: bridge?.concurrency ?? 1)
    snapshotLevels = bridge?.snapshots[0].levels ?? 0
    unnumbered = (bridge?.unnumbered).map { UnnumberedBooks($0) }
    provesLinks = unnumbered == nil
  }

  var count: Int { lines.count }
  var indices: Range<Int> { lines.indices }

  /// Whether the book at `index` is in sync: then no list that is asked for meanwhile changes anything about it.
  func isLive(_ index: Int) -> Bool { lines[index].book.isLive }

  /// Why a book is not being rebuilt just now; nil unless it has failed too often (`BookCircuit`).
  func failure(of index: Int) -> BookFailure? {
    lines[index].book.isBridged ? pacer.failure(of: index) : lines[index].book.failure
  }

  // MARK: Symbols

  /// Makes room for so many symbols, and chooses how deep the snapshots of so many are.
  mutating func grow(to symbols: Int, _ line: @autoclosure () -> Line) {
    while lines.count < symbols { lines.append(line()) }
    unnumbered?.grow(to: symbols)
    guard let bridge else { return }
    let snapshot = bridge.snapshots.first { $0.weight * lines.count <= bridge.startMinutes * pacer.weightPerMinute }
    guard let chosen = snapshot ?? bridge.snapshots.last else { return }
    snapshotLevels = chosen.levels
    pacer.requestWeight = chosen.weight
  }

  /// The weight that an address may spend in a minute, as its venue says it.
  mutating func setWeight(_ perMinute: Int, connections: Int) {
    guard let bridge else { return }
    pacer.weightPerMinute = max(perMinute / connections, bridge.snapshots[0].weight)
  }

  /// A symbol is asked for anew. What failed before is remembered.
  mutating func retry(_ index: Int) {
    lines[index].book.stop()
    lines[index] = Line(book: lines[index].book, isSuspect: true, isEnded: lines[index].isEnded)
    unnumbered?.forget(index)
  }

  /// A symbol is to be followed from now on.
  mutating func begin(_ index: Int) {
    lines[index].isListed = true
    lines[index].isEnded = false
    lines[index].isAsked = false
  }

  /// A symbol is not to be followed any more.
  mutating func end(_ index: Int) {
    lines[index].isEnded = true
    lines[index].book.stop()
    hasEnded = true
  }

  /// The connection is gone.
  mutating func disconnected() {
    probes = []
    pacer.removeAll()
    unnumbered?.disconnected()
    for index in lines.indices {
      lines[index].book.disconnected()
      lines[index] = Line(
        book: lines[index].book, isSuspect: lines[index].isSuspect || lines[index].isRefused,
        isEnded: lines[index].isEnded)
    }
  }

  // MARK: What comes

  /// A trade of a symbol.
  @inline(__always)
  mutating func traded(_ trade: Trade, now: Timestamp) {
    guard !provesLinks, lines[trade.instrument.index].book.isLive else { return }
    unnumbered?.traded(trade, newest: lines[trade.instrument.index].book.bridge.newest, now: now)
  }

  /// An update, which its book has taken already.
  @inline(__always)
  mutating func updated(
    _ event: BookEvent, _ numbers: MessageOutcome.Numbers?, _ batch: borrowing EventBatch, now: Timestamp
  ) {
    guard !provesLinks, let numbers else { return }
    unnumbered?.updated(event, numbers.numbers, batch, now: now)
  }

  /// A message of these books could not be read, and those of them that were live have been lost.
  mutating func lostUnread(_ indices: [Int], now: Timestamp) {
    guard !provesLinks else { return }
    for index in indices { beginAnew(index, now: now) }
    if indices.isEmpty { doubtAll(now: now) }
  }

  /// A message could not be read that is of no book, as far as can be told.
  mutating func passedUnread(_ message: RawSpan, now: Timestamp) {
    if unnumbered?.mayConcernAny(message) ?? false { doubtAll(now: now) }
  }

  private mutating func doubtAll(now: Timestamp) {
    for index in lines.indices where lines[index].book.isLive { unnumbered?.doubt(index, now: now) }
  }

  /// Updates of an unknown time are lost: the book begins as after its subscription.
  private mutating func beginAnew(_ index: Int, now: Timestamp) {
    lines[index].book.beginAnew()
    lines[index].acknowledged = now
  }

  /// Levels kept aside follow the scales of an instrument, which have been widened.
  mutating func rescale(_ index: Int, priceBy: Int64, sizeBy: Int64) {
    lines[index].book.rescale(priceBy: priceBy, sizeBy: sizeBy)
    unnumbered?.rescale(index, priceBy: priceBy, sizeBy: sizeBy)
  }

  // MARK: Snapshots by REST

  /// The next book whose snapshot can be requested at `now`, and the number of the request. A book whose subscription
  /// is being renewed waits for the acknowledgement.
  mutating func nextSnapshot(now: Timestamp) -> (index: Int, request: Int)? {
    guard bridge != nil else { return nil }
    while let (index, request) = pacer.next(now: now) {
      let line = lines[index]
      let isWanted = !line.book.isLive && line.acknowledged != nil || isRenewing(index)
      if line.book.isBridged, line.isFollowed, isWanted { return (index, request) }
      _ = pacer.answered(request)
    }
    return nil
  }

  /// Whether the snapshot that is asked for is to renew a live book.
  func isRenewing(_ index: Int) -> Bool { unnumbered?.isRenewing(index) ?? false }

  /// Whether a snapshot at `id` is older than the first update that it must be joined to.
  mutating func isStale(_ id: Int64, _ index: Int, isRenewal: Bool, now: Timestamp) -> Bool {
    if isRenewal { return id < unnumbered?.renewal?.floor ?? 0 }
    let limits = unnumbered?.limits
    guard lines[index].book.isStale(id, begun: lines[index].acknowledged, limits) else { return false }
    // The times of what came are not believed any more.
    if let limits, lines[index].book.staleSnapshots >= limits.staleAttempts { beginAnew(index, now: now) }
    return true
  }

  /// When a snapshot at `id` is of: numbers are times where there are no others.
  func time(ofSnapshot id: Int64, now: Timestamp) -> Timestamp {
    provesLinks ? now : Timestamp(microseconds: id)
  }

  /// A snapshot came that its book was joined to.
  mutating func joined(_ index: Int, now: Timestamp) {
    lines[index].wasLive = true
    lines[index].isHeard = true
    unnumbered?.joined(index, now: now)
    pacer.succeeded(index)
  }

  /// The renewal that a snapshot has come for.
  mutating func takeRenewal(now: Timestamp) -> BookRenewal? {
    guard let renewed = unnumbered?.takeRenewal(now: now) else { return nil }
    pacer.succeeded(renewed.index)
    return renewed
  }

  /// A snapshot could not be used: another one is asked for, later. A renewal is given up until its next turn.
  mutating func snapshotFailed(_ index: Int, _ status: AnswerStatus, now: Timestamp) {
    var code = status.code
    if isRenewing(index) {
      unnumbered?.gaveUp(index, now: now)
      // The book is good as it is: nothing of this counts against it.
      if status.isOK { code = 0 }
    }
    pacer.failed(index, status: code, retryAfter: status.retryAfter, now: now)
  }

  /// A bridged book has been lost: it wants another snapshot.
  mutating func lost(_ index: Int, now: Timestamp) {
    unnumbered?.lost(index)
    pacer.lost(index, notBefore: now + (bridge?.delay ?? 0), now: now)
  }

  /// The next step of a book without an update: a new subscription if other channels contradict it, or its renewal if
  /// that is due. Called a few times a second.
  mutating func care(of index: Int, now: Timestamp) -> UnnumberedBooks.Care {
    guard !provesLinks, lines[index].isFollowed, lines[index].book.isLive else { return .none }
    let care = unnumbered?.care(of: index, now: now) ?? .none
    if case .isDue = care {
      unnumbered?.begin(index, lines[index].book.bridge)
      pacer.want(index)
    }
    return care
  }

  /// The channel of a book that was contradicted is subscribed anew. A snapshot helps only after it has spoken again.
  mutating func resubscribes(_ index: Int, now: Timestamp) {
    beginAnew(index, now: now)
    lines[index].acknowledged = nil
  }
}
