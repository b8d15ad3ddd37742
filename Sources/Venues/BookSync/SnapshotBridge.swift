import MarketData

/// Joins a stream of numbered book updates to a snapshot that is asked for apart from it (Binance).
///
/// 1. Updates are kept until a snapshot is there.
/// 2. A snapshot older than the first kept update cannot be used: another one is requested, and **the kept updates
///    stay** (without them, the first update would be newer each time, without end).
/// 3. Updates that the snapshot contains are dropped; the next must join it; the rest must follow one by one.
/// 4. One that was applied or kept, and comes again after its successors, is dropped.
/// 5. A hole takes the book out of sync, and the update after the hole is the first to be kept for the new snapshot.
///
/// Memory: at most `messageLimit` updates with at most `levelLimit` levels are kept. Beyond that the older half is
/// dropped: a snapshot from before what is left is then stale by rule 2 and is asked for again, so nothing else needs
/// to happen.
struct SnapshotBridge {
  /// 1,024 updates are 100 s of a 100 ms stream, 20,000 levels about 640 KB.
  static let messageLimit = 1024
  static let levelLimit = 20_000

  struct Update {
    var numbers: UpdateNumbers
    var bids: Range<Int>
    var asks: Range<Int>
    var time: Timestamp
  }

  enum State: Equatable {
    case buffering
    /// Synchronised; the id that the book stands at. `joined` once an update followed the snapshot.
    case live(last: Int64, joined: Bool)
  }

  let rule: SequenceRule
  private(set) var state = State.buffering
  private(set) var updates: [Update] = []
  private var bids: [PriceLevel] = []
  private var asks: [PriceLevel] = []
  /// The highest number of an update that came, in the numbering that is in use.
  private(set) var newest: Int64 = -1
  /// Where updates have times and no numbers: a snapshot must not be older, as what happened until then has not been
  /// kept.
  private var floor: Int64 = -1
  /// Of the newest updates.
  private var recent = AppliedNumbers()

  init(rule: SequenceRule) { self.rule = rule }

  var isLive: Bool {
    if case .live = state { true } else { false }
  }

  /// Takes an update's numbers. The caller applies the update on `.joined` and `.followed`; on `.kept` and `.gap` a
  /// copy of its levels has been kept. O(levels) when keeping, O(1) otherwise.
  mutating func receive(
    _ numbers: UpdateNumbers, bids newBids: ArraySlice<PriceLevel>, asks newAsks: ArraySlice<PriceLevel>,
    time: Timestamp
  ) -> BookKeeper.Verdict {
    // One that comes late does not make what is known any older; two that are lower and follow each other are of a
    // new numbering.
    let isRenumbered = rule.isNumbered && updates.last.map { rule.follows(numbers, $0.numbers.last) } ?? false
    if numbers.last > newest || isRenumbered { newest = numbers.last }
    guard case .live(let last, let joined) = state else {
      if isAgain(numbers, time) { return .again }
      keep(numbers, newBids, newAsks, time)
      return .kept
    }
    if joined ? rule.isRepeat(numbers, last) : rule.isOld(numbers, last) { return .old }
    if joined ? rule.follows(numbers, last) : rule.joins(numbers, last) {
      state = .live(last: numbers.last, joined: true)
      recent.note(numbers, at: time)
      return joined ? .followed : .joined
    }
    if isAgain(numbers, time) { return .again }
    reset()
    keep(numbers, newBids, newAsks, time)
    return .gap
  }

  /// The state of a live bridge; nil while it is not.
  var link: BookCheckpoint.Link? {
    guard case .live(let last, let joined) = state else { return nil }
    return BookCheckpoint.Link(
      isBridged: true, first: newest, last: last, previous: 0, isJoined: joined,
      recent: recent.inOrder.map { .init($0) })
  }

  /// Goes live at a state that `link` was.
  mutating func restore(_ link: BookCheckpoint.Link) {
    beginAnew()
    state = .live(last: link.last, joined: link.isJoined)
    newest = link.first
    for entry in link.recent { recent.note(entry.numbers, at: entry.time) }
  }

  private func isAgain(_ numbers: UpdateNumbers, _ time: Timestamp) -> Bool {
    rule.isNumbered && recent.contains(numbers, at: time)
  }

  /// Whether a snapshot at `id` is too old for the first update that was kept, or would leave the book older than
  /// what had come before it was lost: on a connection that has gone silent nothing else would tell. Then it must be
  /// asked for again.
  func isStale(_ id: Int64) -> Bool {
    guard id >= 0 else { return false }
    guard rule.isNumbered else { return id < max(floor, updates.first?.numbers.last ?? -1) }
    if let first = updates.first, !rule.isOld(first.numbers, id), !rule.joins(first.numbers, id) { return true }
    return max(id, updates.last?.numbers.last ?? id) < newest
  }

  /// Whether it is known from what came how old a snapshot may be.
  var hasBegun: Bool { floor >= 0 || !updates.isEmpty }

  /// Goes live on a snapshot at `id` that is not stale. Hands every kept update to `apply` in order with its verdict
  /// and levels. On a hole among them it stays out of sync, keeps what comes after the hole, and returns false.
  /// O(kept).
  mutating func bridge(
    _ id: Int64,
    apply: (
      _ verdict: BookKeeper.Verdict, _ update: Update, _ bids: ArraySlice<PriceLevel>, _ asks: ArraySlice<PriceLevel>
    ) ->
      Void
  ) -> Bool {
    var last = id
    var joined = false
    for (index, update) in updates.enumerated() {
      let verdict: BookKeeper.Verdict
      if joined ? rule.isRepeat(update.numbers, last) : rule.isOld(update.numbers, last) {
        verdict = .old
      } else if joined ? rule.follows(update.numbers, last) : rule.joins(update.numbers, last) {
        verdict = joined ? .followed : .joined
        joined = true
        last = update.numbers.last
      } else {
        dropFirst(index)
        raiseFloor()
        return false
      }
      apply(verdict, update, bids[update.bids], asks[update.asks])
    }
    state = .live(last: last, joined: joined)
    forget()
    return true
  }

  /// Out of sync; nothing kept.
  mutating func reset() {
    state = .buffering
    forget()
    raiseFloor()
  }

  /// As a bridge of which nothing has come yet: what has is of times that are not known, or not believed.
  mutating func beginAnew() {
    recent.removeAll()
    newest = -1
    floor = -1
    reset()
  }

  private mutating func raiseFloor() { if !rule.isNumbered { floor = newest } }

  /// Brings what is kept to new scales.
  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    bids.rescale(priceBy: priceBy, sizeBy: sizeBy)
    asks.rescale(priceBy: priceBy, sizeBy: sizeBy)
  }

  private mutating func forget() {
    updates.removeAll(keepingCapacity: true)
    // A snapshot may come late once and never again: the memory of a long wait is not kept for the life of the
    // connection.
    bids.removeAll(keepingCapacity: bids.capacity <= 4096)
    asks.removeAll(keepingCapacity: asks.capacity <= 4096)
  }

  private mutating func keep(
    _ numbers: UpdateNumbers, _ newBids: ArraySlice<PriceLevel>, _ newAsks: ArraySlice<PriceLevel>, _ time: Timestamp
  ) {
    while !updates.isEmpty,
      updates.count >= Self.messageLimit || bids.count + asks.count + newBids.count + newAsks.count > Self.levelLimit
    {
      dropFirst((updates.count + 1) / 2)
    }
    recent.note(numbers, at: time)
    let bidStart = bids.count
    let askStart = asks.count
    bids.append(contentsOf: newBids)
    asks.append(contentsOf: newAsks)
    updates.append(Update(numbers: numbers, bids: bidStart..<bids.count, asks: askStart..<asks.count, time: time))
  }

  private mutating func dropFirst(_ count: Int) {
    guard count > 0 else { return }
    let bidStart = count < updates.count ? updates[count].bids.lowerBound : bids.count
    let askStart = count < updates.count ? updates[count].asks.lowerBound : asks.count
    updates.removeFirst(count)
    bids.removeFirst(bidStart)
    asks.removeFirst(askStart)
    for index in updates.indices {
      let bidRange = updates[index].bids
      let askRange = updates[index].asks
      updates[index].bids = (bidRange.lowerBound - bidStart)..<(bidRange.upperBound - bidStart)
      updates[index].asks = (askRange.lowerBound - askStart)..<(askRange.upperBound - askStart)
    }
  }
}
