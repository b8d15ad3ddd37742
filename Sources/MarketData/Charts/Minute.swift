/// The trades of one minute: 64 bytes, a cache line.
struct Minute {
  /// Quote volumes saturate here, so that a sum over a ring cannot overflow.
  static let quoteLimit: Int128 = 1 << 112
  /// Counts of trades saturate here.
  static let tradeLimit: UInt32 = 1 << 20 - 1
  static let revLimit: UInt32 = 255

  /// Facts about the figures, from bit 28 of `packed`.
  struct Flags {
    /// There is a price; without it, the other values have no meaning.
    static let price: UInt32 = 1 << 28
    /// The figures are a venue's.
    static let venue: UInt32 = 1 << 29
    /// The venue did not say the quote volume.
    static let noQuoteVolume: UInt32 = 1 << 30
    /// The venue did not say the number of trades.
    static let noTrades: UInt32 = 1 << 31
  }

  /// At the price scale plus the size scale.
  private(set) var quoteVolume: Int128 = 0
  private(set) var open: Int64 = 0
  private(set) var high: Int64 = 0
  private(set) var low: Int64 = 0
  private(set) var close: Int64 = 0
  /// At the size scale; saturates.
  private(set) var volume: UInt64 = 0
  /// Trades in 20 bits, revision in 8, flags in 4.
  private var packed: UInt32 = 0
  /// The times of the first and the last trade within the minute, ms.
  private var firstTime: UInt16 = 0
  private var lastTime: UInt16 = 0

  init() {}

  var hasPrice: Bool { packed & Flags.price != 0 }
  var isVenue: Bool { packed & Flags.venue != 0 }
  var hasQuoteVolume: Bool { packed & Flags.noQuoteVolume == 0 }
  var hasTrades: Bool { packed & Flags.noTrades == 0 }
  var trades: UInt32 { packed & Self.tradeLimit }
  var rev: UInt32 { packed >> 20 & Self.revLimit }

  /// The time of the last trade within the minute, µs.
  var lastTradeTime: Int64 { Int64(lastTime) * 1_000 }

  /// - Parameter offset: the time within the minute, ms.
  @inline(__always)
  mutating func add(_ price: Int64, _ size: Int64, offset: UInt16) {
    let (upper, lower) = price.multipliedFullWidth(by: size)
    let value = Int128(_low: lower, _high: upper)
    if packed & Flags.price == 0 {
      packed |= Flags.price
      open = price
      high = price
      low = price
      close = price
      firstTime = offset
      lastTime = offset
    } else {
      if price > high { high = price }
      if price < low { low = price }
      if offset < firstTime {
        firstTime = offset
        open = price
      }
      if offset >= lastTime {
        lastTime = offset
        close = price
      }
    }
    let (sum, overflow) = volume.addingReportingOverflow(UInt64(bitPattern: size))
    volume = overflow ? .max : sum
    quoteVolume = min(quoteVolume &+ value, Self.quoteLimit)
    packed &+= packed & Self.tradeLimit == Self.tradeLimit ? 0 : 1
  }

  mutating func raiseRev() { if rev < Self.revLimit { packed &+= 1 << 20 } }

  /// Takes over the figures of a candle of one minute; keeps its own revision if that is higher.
  /// - Parameter closeOffset: the time of its last trade within the minute, ms. Without it, no later trade of the
  ///   minute
  ///   changes the close; the time of its first trade is always unknown, so none changes the open.
  mutating func replace(by candle: Candle, closeOffset: UInt16 = 59_999) {
    let oldRev = rev
    self = Minute()
    open = candle.open
    high = candle.high
    low = candle.low
    close = candle.close
    volume = UInt64(clamping: candle.volume)
    quoteVolume = min(max(candle.quoteVolume ?? 0, 0), Self.quoteLimit)
    lastTime = closeOffset
    packed = UInt32(clamping: min(max(candle.trades ?? 0, 0), Int64(Self.tradeLimit)))
    packed |= min(max(candle.rev, oldRev), Self.revLimit) << 20
    packed |= Flags.price
    if candle.source == .venue { packed |= Flags.venue }
    if candle.quoteVolume == nil { packed |= Flags.noQuoteVolume }
    if candle.trades == nil { packed |= Flags.noTrades }
  }

  /// Multiplies by powers of ten. Returns false if a price does not fit.
  mutating func rescale(priceBy: Int64, sizeBy: Int64) -> Bool {
    guard hasPrice else { return true }
    let (open, o1) = open.multipliedReportingOverflow(by: priceBy)
    let (high, o2) = high.multipliedReportingOverflow(by: priceBy)
    let (low, o3) = low.multipliedReportingOverflow(by: priceBy)
    let (close, o4) = close.multipliedReportingOverflow(by: priceBy)
    guard !o1, !o2, !o3, !o4 else { return false }
    self.open = open
    self.high = high
    self.low = low
    self.close = close
    volume = UInt64(clamping: saturatingMultiply(Int128(volume), Int128(sizeBy)))
    quoteVolume = min(saturatingMultiply(quoteVolume, Int128(priceBy) * Int128(sizeBy)), Self.quoteLimit)
    return true
  }
}
