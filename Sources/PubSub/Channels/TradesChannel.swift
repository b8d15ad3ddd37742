import Bytes
import MarketData

/// `trades`: every execution, in order. An event channel.
enum TradesChannel: Channel {
  static let facts = ChannelFacts(
    isEvent: true, rate: .requested(usual: 0), hears: [.trades, .tradeGap, .tradeHole, .channel], rank: 0,
    binary: .trades)
  static let data = WireDescription.ChannelData(["trades"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { TradesStream(start) }
  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits? { .events }

  /// The number of trades in a snapshot, which are stored for each instrument.
  static let recent = 50
  /// The largest number of trades in one update of a rate-limited stream; when it is reached, they are published early.
  static let gatheredLimit = 500

  /// `{"trades":[…]}`
  /// - Parameter mark: the state of the trades, if it is to be told.
  static func append(
    _ trades: ArraySlice<Trade>, of instrument: Instrument, mark: ChannelMark? = nil, to out: inout ByteBuffer
  ) {
    out.append("{\"trades\":")
    appendList(trades, of: instrument, to: &out)
    mark?.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// `[…]`
  static func appendList(_ trades: ArraySlice<Trade>, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "["))
    var isFirst = true
    for trade in trades {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      append(trade, of: instrument, to: &out)
    }
    out.append(UInt8(ascii: "]"))
  }

  static func append(_ trade: Trade, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append("{\"id\":\"")
    trade.id.append(to: &out)
    out.append("\",\"price\":\"")
    out.append(decimal: trade.price, scale: instrument.priceScale)
    out.append("\",\"size\":\"")
    out.append(decimal: trade.size, scale: instrument.sizeScale)
    switch trade.side {
    case .buy: out.append("\",\"side\":\"buy\",\"time\":")
    case .sell: out.append("\",\"side\":\"sell\",\"time\":")
    }
    out.append(integer: trade.time.microseconds)
    switch trade.breakBefore {
    case .none: break
    case .gap: out.append(",\"gap\":true")
    case .renumbered: out.append(",\"gap\":true,\"renumbered\":true")
    }
    if trade.isLate { out.append(",\"late\":true") }
    out.append(UInt8(ascii: "}"))
  }

  /// `{"trades":[],"lost":{"from_id":"7","to_id":"9","count":3,"from":…,"to":…,"requested":true}}`, or
  /// `"found":{…,"count":2,"missing":1}` at the end of the search.
  static func append(_ hole: TradeHole, isEnd: Bool, to out: inout ByteBuffer) {
    out.append(isEnd ? "{\"trades\":[],\"found\":{\"from_id\":\"" : "{\"trades\":[],\"lost\":{\"from_id\":\"")
    out.append(integer: hole.first)
    out.append("\",\"to_id\":\"")
    out.append(integer: hole.last)
    out.append(UInt8(ascii: "\""))
    if isEnd {
      out.append(",\"count\":")
      out.append(integer: hole.found)
      out.append(",\"missing\":")
      out.append(integer: hole.missing ?? 0)
    } else if let count = hole.count {
      out.append(",\"count\":")
      out.append(integer: count)
    }
    out.append(",\"from\":")
    out.append(integer: hole.from.microseconds)
    out.append(",\"to\":")
    out.append(integer: hole.to.microseconds)
    if !isEnd { out.append(hole.isSearched ? ",\"requested\":true" : ",\"requested\":false") }
    out.append("}}")
  }
}

/// A stream of trades.
final class TradesStream: MarketStream {
  /// Trades since the last update; of a rate-limited stream.
  private var gathered: [Trade] = []

  override func clear() {
    super.clear()
    gathered = []
  }

  override func show(_ instrument: PublishedInstrument) { isShown = true }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    switch change {
    case .trades(_, let range):
      guard !isImmediate else {
        return publish(changes.trades[range], of: instrument, in: publisher, now: now, into: &out)
      }
      gathered.append(contentsOf: changes.trades[range])
      publisher.wait(self, now: now)
      if gathered.count >= TradesChannel.gatheredLimit { publisher.flush(self, now: now, into: &out) }
    case .tradeGap:
      // Trades may be missing from here on: the stream begins again with a snapshot, in which the trades from before
      // this place stay. The first trade after it says so itself.
      publisher.flush(self, now: now, into: &out)
      publisher.republish(self, now: now, into: &out)
    case .tradesMissing(_, let hole):
      publish(changes.holes[hole], isEnd: false, in: publisher, now: now, into: &out)
    case .tradesSearched(_, let hole):
      publish(changes.holes[hole], isEnd: true, in: publisher, now: now, into: &out)
    case .channel(_, .trades, _) where isShown && isRunning:
      publisher.flush(self, now: now, into: &out)
      publisher.update(self, events: 0, now: now, into: &out) {
        append([], of: instrument, mark: instrument.state.mark(.trades), now: now, to: &$0)
      }
    default: break
    }
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    guard !gathered.isEmpty else { return }
    publish(gathered[...], of: instrument, in: publisher, now: now, into: &out)
    gathered.removeAll(keepingCapacity: true)
  }

  private func publish(
    _ trades: ArraySlice<Trade>, of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp,
    into out: inout [Delivery]
  ) {
    guard !trades.isEmpty else { return }
    publisher.update(self, events: UInt32(trades.count), now: now, into: &out) {
      append(trades, of: instrument, now: now, to: &$0)
    }
  }

  private func append(
    _ trades: ArraySlice<Trade>, of instrument: PublishedInstrument, mark: ChannelMark? = nil, now: Timestamp,
    to out: inout ByteBuffer
  ) {
    if isBinary { return TradesChannel.appendBinary(trades, mark: mark, now: now, to: &out) }
    TradesChannel.append(trades, of: instrument.state.instrument, mark: mark, to: &out)
  }

  /// Notifies the subscribers, at once in every rate class, that trades are missing between those before and those
  /// after, or how the search for them has ended. It is an update of the stream, so clients that return get it, too.
  private func publish(
    _ hole: TradeHole, isEnd: Bool, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    publisher.flush(self, now: now, into: &out)
    guard isRunning, isShown else { return }
    publisher.update(self, events: 0, now: now, into: &out) {
      if isBinary { return TradesChannel.appendBinary(hole, isEnd: isEnd, now: now, to: &$0) }
      TradesChannel.append(hole, isEnd: isEnd, to: &$0)
    }
  }

  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    if !gathered.isEmpty { publisher.flush(self, now: now, into: &out) }
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    let state = instrument.state
    append(
      instrument.recentTrades.last(TradesChannel.recent), of: instrument, mark: state.silenceMark(.trades), now: now,
      to: &out)
    return true
  }

  override func rescale(_ rescaling: Rescaling, in publisher: StreamPublisher, now: Timestamp) {
    super.rescale(rescaling, in: publisher, now: now)
    guard let factors = rescaling.factors else { return }
    for index in gathered.indices {
      gathered[index].price &*= factors.price
      gathered[index].size &*= factors.size
    }
  }
}

/// The last trades of an instrument, oldest first; at most `TradesChannel.recent`. Allocates only at its first trade.
struct RecentTrades {
  private var ring: [Trade] = []
  /// The index of the oldest trade once the ring is full.
  private var start = 0
  /// The number of trades that were ever appended.
  private(set) var appended: UInt64 = 0

  var isEmpty: Bool { ring.isEmpty }

  mutating func append(_ trade: Trade) {
    appended &+= 1
    if ring.count < TradesChannel.recent {
      if ring.isEmpty { ring.reserveCapacity(TradesChannel.recent) }
      ring.append(trade)
    } else {
      ring[start] = trade
      start = (start + 1) % TradesChannel.recent
    }
  }

  /// Appends a trade, or inserts one that is late where its number belongs.
  mutating func add(_ trade: Trade) {
    guard trade.isLate, let number = trade.id.number else { return append(trade) }
    var trades = last(ring.count)
    var index = trades.endIndex
    while index > trades.startIndex, let other = trades[index - 1].id.number, other > number { index -= 1 }
    // Older than all that are kept.
    guard index > trades.startIndex || ring.count < TradesChannel.recent else { return }
    trades.insert(trade, at: index)
    ring = Array(trades.suffix(TradesChannel.recent))
    start = 0
    appended &+= 1
  }

  /// The last `limit` trades, oldest first. O(limit), allocates.
  func last(_ limit: Int) -> ArraySlice<Trade> {
    (ring[start...] + ring[..<start]).suffix(limit)
  }

  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    for index in ring.indices {
      ring[index].price = ring[index].price.multipliedReportingOverflow(by: priceBy).partialValue
      ring[index].size = ring[index].size.multipliedReportingOverflow(by: sizeBy).partialValue
    }
  }
}
