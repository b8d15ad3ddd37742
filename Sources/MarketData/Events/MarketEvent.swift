import Bytes

/// The side of the **taker**. If a venue reports the maker's side, its dialect inverts it.
@usableFromInline @frozen package enum TakerSide: UInt8, Sendable { case buy, sell }

/// A venue's name for a trade, at most 40 bytes of it, held in place: numbers, 27-digit numbers and UUIDs alike.
@frozen
@usableFromInline
package struct TradeID: Sendable {
  @usableFromInline var storage: InlineArray<40, UInt8>
  @usableFromInline var length: UInt8

  /// The first 40 bytes of `text`; characters that JSON must escape, and that are not ASCII, become `_`, so that an id
  /// can be written between quotes unchanged.
  @inlinable
  package init(_ text: RawSpan) {
    storage = InlineArray(repeating: 0)
    length = UInt8(min(text.byteCount, 40))
    for i in 0..<Int(length) {
      let byte = text.unsafeLoad(fromUncheckedByteOffset: i, as: UInt8.self)
      let isPlain = byte &- 0x20 < 0x5F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
      storage[i] = isPlain ? byte : UInt8(ascii: "_")
    }
  }

  /// The id of what the venue gives none.
  package static var none: TradeID { TradeID() }

  private init() {
    storage = InlineArray(repeating: 0)
    length = 0
  }

  /// A number in decimal digits.
  package init(_ number: UInt64) {
    storage = InlineArray(repeating: 0)
    length = 1
    var power = 10 as UInt64
    while length < 20, number >= power {
      length += 1
      // 10^20 does not fit in 64 bits, so no number has more digits.
      if length < 20 { power *= 10 }
    }
    var rest = number
    for index in (0..<Int(length)).reversed() {
      storage[index] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
  }

  /// The id as a number; nil if it does not fit in 64 bits.
  @inlinable
  package var number: UInt64? {
    guard length > 0, length <= 20 else { return nil }
    var number: UInt64 = 0
    // 19 digits stay below 2^64.
    for i in 0..<min(Int(length), 19) {
      let digit = storage[i] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      number = number &* 10 &+ UInt64(digit)
    }
    if length == 20 {
      let digit = storage[19] &- UInt8(ascii: "0")
      let (product, isLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = product.addingReportingOverflow(UInt64(digit))
      guard digit < 10, !isLarge, !isLarger else { return nil }
      number = sum
    }
    return number
  }

  /// Appends the text to `out`, without quotes.
  @inlinable
  package func append(to out: inout ByteBuffer) {
    for i in 0..<Int(length) { out.append(storage[i]) }
  }

  package var text: String {
    var bytes: [UInt8] = []
    for i in 0..<Int(length) { bytes.append(storage[i]) }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// What is known of the trades between a trade and the one published before it.
@usableFromInline @frozen package enum TradeBreak: UInt8, Sendable {
  /// Nothing says that one is missing.
  case none
  /// Some may be missing.
  case gap
  /// The venue, which numbers its trades, began its numbers anew, so that ids prove nothing across this place. Some may
  /// be missing.
  case renumbered
}

/// An execution.
@frozen
@usableFromInline
package struct Trade: Sendable {
  @usableFromInline package var instrument: InstrumentID
  @usableFromInline package var id: TradeID
  @usableFromInline package var price: Int64
  @usableFromInline package var size: Int64
  @usableFromInline package var side: TakerSide
  /// The venue's time of the execution.
  @usableFromInline package var time: Timestamp
  /// Whether the trade is from before the subscription: it belongs to the history, causes no pulse and is not published
  /// as an update.
  @usableFromInline package var isBacklog: Bool
  /// What lies before it among the published trades of its instrument. The market sets it.
  @usableFromInline package var breakBefore = TradeBreak.none
  /// Whether the trade arrives after later ones, or after a time in which its connection was lost: it is published,
  /// belongs to its own minute, and causes a pulse only if it is the newest.
  @usableFromInline package var isLate: Bool

  @inlinable
  package init(
    instrument: InstrumentID, id: TradeID, price: Int64, size: Int64, side: TakerSide, time: Timestamp,
    isBacklog: Bool = false, isLate: Bool = false
  ) {
    self.instrument = instrument
    self.id = id
    self.price = price
    self.size = size
    self.side = side
    self.time = time
    self.isBacklog = isBacklog
    self.isLate = isLate
  }
}

/// The best bid and ask. A side without orders has size 0 and price 0.
@frozen
@usableFromInline
package struct Quote: Sendable, Equatable {
  @usableFromInline package var instrument: InstrumentID
  @usableFromInline package var bid: Int64
  @usableFromInline package var bidSize: Int64
  @usableFromInline package var ask: Int64
  @usableFromInline package var askSize: Int64
  /// The venue's time, or the time of arrival if the venue sends none.
  @usableFromInline package var time: Timestamp

  @inlinable
  package init(instrument: InstrumentID, bid: Int64, bidSize: Int64, ask: Int64, askSize: Int64, time: Timestamp) {
    self.instrument = instrument
    self.bid = bid
    self.bidSize = bidSize
    self.ask = ask
    self.askSize = askSize
    self.time = time
  }
}

/// A venue's own 24 h figures, nil if it did not send them. Prices are at the instrument's scale.
package struct Ticker: Sendable {
  package var instrument: InstrumentID
  package var last: Int64?
  package var bid: Int64?
  package var ask: Int64?
  package var open: Int64?
  package var high: Int64?
  package var low: Int64?
  /// The volume in base units.
  package var volume: Decimal64?
  /// The volume in quote units.
  package var quoteVolume: Decimal64?
  package var vwap: Decimal64?
  package var change: Decimal64?
  /// In percent: 1.5 is 1.5 %.
  package var changePercent: Decimal64?
  package var trades: Int64?
  package var time: Timestamp

  package init(instrument: InstrumentID, time: Timestamp) {
    self.instrument = instrument
    self.time = time
  }
}

/// The present size at a price; 0 removes the level.
@frozen
@usableFromInline
package struct PriceLevel: Sendable, Hashable {
  @usableFromInline package var price: Int64
  @usableFromInline package var size: Int64

  @inlinable
  package init(price: Int64, size: Int64) {
    self.price = price
    self.size = size
  }
}

/// A book message that passed its venue's sequence rule. Its levels are in the batch: `bids[bidRange]`,
/// `asks[askRange]`.
@frozen
@usableFromInline
package struct BookEvent: Sendable {
  @usableFromInline @frozen package enum Kind: UInt8, Sendable { case snapshot, delta }
  @usableFromInline package var instrument: InstrumentID
  @usableFromInline package var kind: Kind
  @usableFromInline package var bidRange: Range<Int>
  @usableFromInline package var askRange: Range<Int>
  /// The venue's time, or the time of arrival if the venue sends none.
  @usableFromInline package var time: Timestamp
  /// The venue's checksum of the book after this message. The market compares it with the result of
  /// `Market.Configuration.checksum`.
  @usableFromInline package var checksum: UInt32?

  @inlinable
  package init(
    instrument: InstrumentID, kind: Kind, bidRange: Range<Int>, askRange: Range<Int>, time: Timestamp,
    checksum: UInt32? = nil
  ) {
    self.instrument = instrument
    self.kind = kind
    self.bidRange = bidRange
    self.askRange = askRange
    self.time = time
    self.checksum = checksum
  }
}

/// The reason why a book is out of sync.
package enum ResyncReason: String, Sendable, CaseIterable {
  case gap, checksum, crossed, disconnected, stale, venueReset, malformed, frozen

  /// A few words for people: `sequence gap`.
  package var description: String {
    switch self {
    case .gap: "sequence gap"
    case .checksum: "checksum mismatch"
    case .crossed: "crossed book"
    case .disconnected: "connection lost"
    case .stale: "no data"
    case .venueReset: "reset by the venue"
    case .malformed: "unreadable message"
    case .frozen: "frozen book"
    }
  }
}

/// The meaning of a venue's message. Plain data: a batch is reused for each message without allocation.
package enum MarketEvent: Sendable {
  case trade(Trade)
  /// Trades of the instrument are missing: after those before this event, and before those after it.
  case tradesMissing(InstrumentID, TradeHole)
  /// The search for missing trades has ended. Those that were found are trades before this event.
  case tradesSearched(InstrumentID, TradeHole)
  case quote(Quote)
  case ticker(Ticker)
  /// The venue's figures by REST, asked for because trades are in doubt. They are compared with those before, not
  /// shown.
  case witness(Ticker)
  /// Another channel shows a trade of the instrument that has just been made. It is compared with the channel of
  /// trades.
  case tradeShown(InstrumentID)
  case book(BookEvent)
  /// The instrument's book is out of sync from here on, until its next snapshot.
  case bookReset(InstrumentID, ResyncReason)
  /// The venue keeps this many levels a side of the instrument's book, 1 or more, and does not report levels that leave
  /// it. From the next book event on, further levels are dropped. Without this event, the market's own limit applies.
  case bookDepth(InstrumentID, levels: Int)
  /// An instrument appeared or changed (also its scales); it is `EventBatch.instruments[index]`.
  case instrument(index: Int)
  /// A report about a derivative: `EventBatch.derivatives[index]`.
  case derivative(index: Int)
  case liquidation(Liquidation)
  /// The connection is alive, though nothing happened on the market.
  case heartbeat
}
