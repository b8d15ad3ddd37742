import Bytes
import MarketData

/// `book`: the resting orders by price, as snapshots and exact differences.
enum BookChannel: Channel {
  static let facts = ChannelFacts(
    composites: .state, rate: .requested(usual: 0), parameters: [.depth], hasLargeSnapshots: true, isBook: true,
    hears: [.book, .bookState], rank: 1, hasGroups: true,
    binary: .book)
  static let data = WireDescription.ChannelData(["state", "bids", "asks", "time"], update: ["bids", "asks", "time"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { BookStream(start) }

  /// About 40 bytes a level, of both sides. A full book's snapshot is far too large to keep as much.
  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits? {
    .differences(snapshotBytes: key.depth == 0 ? 64 << 10 : 80 * Int(key.depth))
  }

  static func addNeeds(of key: StreamKey, to wants: inout CompositeWants) { wants.hasBook = true }

  /// The number of changed prices a side that a full-depth stream stores between two updates; beyond it, the next
  /// message is a snapshot.
  static let pendingLimit = 2_000

  /// `{"state":"syncing","reason":"sequence gap","bids":[],"asks":[],"time":…}`: an update without levels, so that it
  /// changes nothing for clients that do not know `state`.
  /// - Parameter members: of a composite, as fields with a comma before each.
  static func appendSyncing(_ reason: String, members: String = "", time: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"state\":\"syncing\",\"reason\":")
    out.append(json: reason)
    out.append(",\"bids\":[],\"asks\":[],\"time\":")
    out.append(integer: time.microseconds)
    out.append(members)
    out.append(UInt8(ascii: "}"))
  }

  /// `"bids":[[price,size]…],"asks":[…],"spread":"…","spread_pct":"…","time":…`, best levels first, without braces.
  static func appendSnapshot(
    bids: [PriceLevel], asks: [PriceLevel], time: Timestamp, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append("\"bids\":")
    append(bids, of: instrument, to: &out)
    out.append(",\"asks\":")
    append(asks, of: instrument, to: &out)
    if let bid = bids.first, let ask = asks.first {
      out.append(",\"spread\":\"")
      out.append(decimal: ask.price &- bid.price, scale: instrument.priceScale)
      out.append(UInt8(ascii: "\""))
      if let percent = spreadPercent(bid, ask) {
        out.append(",\"spread_pct\":\"")
        out.append(percent)
        out.append(UInt8(ascii: "\""))
      }
    }
    out.append(",\"time\":")
    out.append(integer: time.microseconds)
  }

  /// The spread in percent of the mid price, (ask − bid) ÷ ((ask + bid) ÷ 2), with four digits; nil if it does not fit.
  static func spreadPercent(_ bid: PriceLevel, _ ask: PriceLevel) -> Decimal64? {
    let (twice, o1) = (ask.price &- bid.price).multipliedReportingOverflow(by: 2)
    let (sum, o2) = ask.price.addingReportingOverflow(bid.price)
    return o1 || o2 ? nil : Ratio.percent(twice, of: sum, digits: 4)
  }

  /// `{"bids":[…],"asks":[…],"time":…}`, the levels that changed; size `"0"` removes.
  /// - Parameter members: of a composite, if they changed, as fields with a comma before each.
  static func appendUpdate(
    bids: [PriceLevel], asks: [PriceLevel], members: String = "", time: Timestamp, of instrument: Instrument,
    to out: inout ByteBuffer
  ) {
    out.append("{\"bids\":")
    append(bids, of: instrument, to: &out)
    out.append(",\"asks\":")
    append(asks, of: instrument, to: &out)
    out.append(",\"time\":")
    out.append(integer: time.microseconds)
    out.append(members)
    out.append(UInt8(ascii: "}"))
  }

  private static func append(_ levels: [PriceLevel], of instrument: Instrument, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "["))
    var isFirst = true
    for level in levels {
      if isFirst { out.append("[\"") } else { out.append(",[\"") }
      isFirst = false
      out.append(decimal: level.price, scale: instrument.priceScale)
      if level.size == 0 {
        out.append("\",\"0\"]")
      } else {
        out.append("\",\"")
        out.append(decimal: level.size, scale: instrument.sizeScale)
        out.append("\"]")
      }
    }
    out.append(UInt8(ascii: "]"))
  }
}

/// A stream of a book.
///
/// It publishes at the end of the batch, because the book may go out of sync in it.
final class BookStream: MarketStream {
  private var view = BookView()
  private var isFull: Bool { key.depth == 0 }

  override func clear() {
    super.clear()
    view = BookView()
  }

  override func show(_ instrument: PublishedInstrument) {
    let state = instrument.state
    isShown = state.bookState == .live
    view.removeAll()
    guard isShown else { return }
    view.time = state.bookTime
    view.members = instrument.members
    guard !isFull else { return }
    BookView.top(Int(key.depth), of: state.book.bids, into: &view.bids)
    BookView.top(Int(key.depth), of: state.book.asks, into: &view.asks)
  }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    switch change {
    case .bookDelta(_, let bids, let asks, _):
      if isFull, isShown { view.note(bids: changes.bids[bids], asks: changes.asks[asks]) }
    case .bookSnapshot: if isFull { view.isOverflowing = true }
    case .bookState(_, let state): if state != .live { publisher.loseSync(self, instrument, now: now, into: &out) }
    default: return
    }
    publisher.changedInBatch(self, now: now)
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    let state = instrument.state
    guard state.bookState == .live else { return }
    let isOverflowing = isFull && view.isOverflowing
    if isOverflowing {
      view.removePending()
    } else if isFull {
      publisher.levels.resolve(&view, bids: state.book.bids, asks: state.book.asks)
    } else {
      publisher.levels.advance(&view, bids: state.book.bids, asks: state.book.asks, depth: Int(key.depth))
    }
    let hasOtherMembers = view.members != instrument.members
    guard isOverflowing || !publisher.levels.isEmpty || hasOtherMembers else { return }
    view.time = state.bookTime
    view.members = instrument.members
    guard !isOverflowing else { return publisher.republish(self, now: now, into: &out) }
    let members = hasOtherMembers ? instrument.members : ""
    publisher.update(self, events: 0, now: now, into: &out) {
      if isBinary {
        return BookChannel.appendBinary(
          bids: publisher.levels.bids, asks: publisher.levels.asks, members: members, time: state.bookTime, now: now,
          to: &$0)
      }
      BookChannel.appendUpdate(
        bids: publisher.levels.bids, asks: publisher.levels.asks, members: members, time: state.bookTime,
        of: state.instrument, to: &$0)
    }
  }

  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    if isFull { publisher.flush(self, now: now, into: &out) }
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    let state = instrument.state
    var (bids, asks) = (view.bids, view.asks)
    if isFull {
      BookView.top(0, of: state.book.bids, into: &bids)
      BookView.top(0, of: state.book.asks, into: &asks)
    }
    if isBinary {
      let spread = bids.first.flatMap { bid in asks.first.flatMap { BookChannel.spreadPercent(bid, $0)?.mantissa } }
      BookChannel.appendBinary(
        bids: bids, asks: asks, spread: spread, members: view.members, time: view.time, now: now, to: &out)
      return true
    }
    out.append("{\"state\":\"live\",")
    BookChannel.appendSnapshot(bids: bids, asks: asks, time: view.time, of: state.instrument, to: &out)
    out.append(view.members)
    out.append(UInt8(ascii: "}"))
    return true
  }

  override func rescale(_ rescaling: Rescaling, in publisher: StreamPublisher, now: Timestamp) {
    publisher.restart(self, now: now)
  }

  override func membersChanged(in publisher: StreamPublisher, now: Timestamp) {
    if isShown { publisher.changedInBatch(self, now: now) }
  }

  // MARK: Sync

  override func state(in publisher: StreamPublisher) -> String {
    guard let instrument = instrument(in: publisher) else { return "live" }
    return instrument.state.bookState == .live ? "live" : "syncing"
  }

  override func isOutOfSync(_ state: InstrumentState) -> Bool { state.bookState != .live }

  override func appendSyncing(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) {
    let (reason, members) = (instrument.state.bookReason, instrument.members)
    if isBinary {
      return BookChannel.appendBinarySyncing(reason, members: members, time: now, now: now, to: &out)
    }
    BookChannel.appendSyncing(reason, members: members, time: now, to: &out)
  }
}

extension InstrumentState {
  /// Why the book is out of sync, in a few words for people.
  var bookReason: String {
    if case .syncing(let why?) = bookState { return why.description }
    return "awaiting a snapshot"
  }
}

/// The levels that changed since a stream's last update, best first. One for all streams of a publisher, and reused.
package struct ChangedLevels {
  package private(set) var bids: [PriceLevel] = []
  package private(set) var asks: [PriceLevel] = []
  private var scratch: [PriceLevel] = []

  package init() {}

  package var isEmpty: Bool { bids.isEmpty && asks.isEmpty }

  private mutating func removeAll() {
    bids.removeAll(keepingCapacity: true)
    asks.removeAll(keepingCapacity: true)
  }

  /// Sets the view to the best `depth` levels of each side of a book (best last), and the changed levels to those that
  /// differ.
  package mutating func advance(_ view: inout BookView, bids: [PriceLevel], asks: [PriceLevel], depth: Int) {
    removeAll()
    BookView.advance(&view.bids, to: bids, depth: depth, isBid: true, scratch: &scratch, changed: &self.bids)
    BookView.advance(&view.asks, to: asks, depth: depth, isBid: false, scratch: &scratch, changed: &self.asks)
  }

  /// Sets the changed levels to those of a book (best last) at the pending prices of the view, which has none then.
  package mutating func resolve(_ view: inout BookView, bids: [PriceLevel], asks: [PriceLevel]) {
    removeAll()
    BookView.resolve(&view.pendingBids, in: bids, isBid: true, changed: &self.bids)
    BookView.resolve(&view.pendingAsks, in: asks, isBid: false, changed: &self.asks)
  }
}

/// The levels that a book stream has published, and the changes since. One for each stream, and reused.
package struct BookView {
  /// The levels last published, best first; unused at full depth, where the book itself is the view once `pending` is
  /// empty.
  package var bids: [PriceLevel] = []
  package var asks: [PriceLevel] = []
  /// Prices that changed since the last update; full depth only.
  var pendingBids: [Int64] = []
  var pendingAsks: [Int64] = []
  /// Whether more prices changed than `BookChannel.pendingLimit`, so that a snapshot must follow.
  package var isOverflowing = false
  /// The venue's time of the last published data.
  var time: Timestamp = .distantPast
  /// `PublishedInstrument.members` as last published.
  var members = ""

  package init() {}

  package mutating func removeAll() {
    bids.removeAll(keepingCapacity: true)
    asks.removeAll(keepingCapacity: true)
    removePending()
  }

  package mutating func removePending() {
    pendingBids.removeAll(keepingCapacity: true)
    pendingAsks.removeAll(keepingCapacity: true)
    isOverflowing = false
  }

  package mutating func note(bids: ArraySlice<PriceLevel>, asks: ArraySlice<PriceLevel>) {
    guard
      pendingBids.count + bids.count <= BookChannel.pendingLimit,
      pendingAsks.count + asks.count <= BookChannel.pendingLimit
    else {
      isOverflowing = true
      return
    }
    for level in bids { pendingBids.append(level.price) }
    for level in asks { pendingAsks.append(level.price) }
  }

  /// Sets `view` (best first) to the top `depth` levels of `side` (best last), and appends the differences to
  /// `changed`; levels that leave the view have size 0. O(depth).
  static func advance(
    _ view: inout [PriceLevel], to side: [PriceLevel], depth: Int, isBid: Bool, scratch: inout [PriceLevel],
    changed: inout [PriceLevel]
  ) {
    let shown = min(depth, side.count)
    scratch.removeAll(keepingCapacity: true)
    var old = 0
    var new = side.count
    let end = side.count - shown
    while new > end {
      let level = side[new - 1]
      scratch.append(level)
      new -= 1
      while old < view.count, isBid ? view[old].price > level.price : view[old].price < level.price {
        changed.append(PriceLevel(price: view[old].price, size: 0))
        old += 1
      }
      if old < view.count, view[old].price == level.price {
        if view[old].size != level.size { changed.append(level) }
        old += 1
      } else {
        changed.append(level)
      }
    }
    while old < view.count {
      changed.append(PriceLevel(price: view[old].price, size: 0))
      old += 1
    }
    swap(&view, &scratch)
  }

  /// Appends to `changed` the present size in `side` (best last) at each of `prices`, 0 if there is no level, and
  /// empties `prices`. O(k log n).
  static func resolve(_ prices: inout [Int64], in side: [PriceLevel], isBid: Bool, changed: inout [PriceLevel]) {
    if prices.count > 1 { prices.sort { isBid ? $0 > $1 : $0 < $1 } }
    var previous: Int64?
    for price in prices where price != previous {
      previous = price
      var low = 0
      var high = side.count
      while low < high {
        let middle = (low + high) / 2
        if isBid ? side[middle].price < price : side[middle].price > price { low = middle + 1 } else { high = middle }
      }
      let size = low < side.count && side[low].price == price ? side[low].size : 0
      changed.append(PriceLevel(price: price, size: size))
    }
    prices.removeAll(keepingCapacity: true)
  }

  /// Copies the best `depth` levels (0: all) of `side` (best last) into `out`, best first.
  package static func top(_ depth: Int, of side: [PriceLevel], into out: inout [PriceLevel]) {
    out.removeAll(keepingCapacity: true)
    let shown = depth == 0 ? side.count : min(depth, side.count)
    for index in stride(from: side.count - 1, through: side.count - shown, by: -1) { out.append(side[index]) }
  }
}
