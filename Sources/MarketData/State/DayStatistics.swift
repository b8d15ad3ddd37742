import Bytes

/// Rolling figures over a ring, worked out from its buckets.
package struct WindowFigures: Sendable, Equatable {
  /// Price of the first trade in the window; this and the next three are nil if there was none.
  package var open: Int64?
  package var high: Int64?
  package var low: Int64?
  /// Price of the last trade in the window.
  package var last: Int64?
  /// At the size scale.
  package var volume: Int128 = 0
  /// At the price scale plus the size scale.
  package var quoteVolume: Int128 = 0
  package var trades: Int64 = 0

  package init() {}

  mutating func append(_ bucket: Bucket) {
    if open == nil { open = bucket.open }
    high = max(high ?? bucket.high, bucket.high)
    low = min(low ?? bucket.low, bucket.low)
    last = bucket.close
    volume = saturatingAdd(volume, bucket.volume)
    quoteVolume = saturatingAdd(quoteVolume, bucket.quoteVolume)
    trades += Int64(bucket.trades)
  }
}

/// Statistics of a rolling window, for venues that publish none.
///
/// The window is the ring's: the present bucket and the whole ones before it, so a day by minutes begins at most a
/// minute after now − 24 h. All buckets but the present one are added up once per bucket length or when a late trade
/// came, in O(buckets); a read in between adds the present bucket, O(1).
package struct DayStatistics: Sendable {
  private var cachedHead = BucketRing.none
  /// Whether the ring was level with the window when its buckets were added up.
  private var isHeadRunning = false
  private var cachedLateRevision: UInt32 = 0
  private var cachedRevision: UInt32 = 0
  private var closed = WindowFigures()

  package init() {}

  /// The figures of the window that ends at `now`.
  package mutating func figures(of ring: borrowing BucketRing, now: Timestamp) -> WindowFigures {
    guard !ring.isEmpty else { return WindowFigures() }
    let head = ring.windowHead(now: now)
    // While the ring is behind the window, its newest bucket is one of those added up, so that any trade counts as
    // late.
    let isStale =
      ring.head == head && isHeadRunning ? ring.lateRevision != cachedLateRevision : ring.revision != cachedRevision
    if head != cachedHead || isStale {
      closed = WindowFigures()
      let end = min(head - 1, ring.head)
      var number = max(ring.low, head - Int64(ring.count) + 1)
      while number <= end {
        if let bucket = ring.bucket(number) { closed.append(bucket) }
        number += 1
      }
      cachedHead = head
      isHeadRunning = ring.head == head
      cachedLateRevision = ring.lateRevision
      cachedRevision = ring.revision
    }
    var figures = closed
    if let bucket = ring.bucket(head) { figures.append(bucket) }
    return figures
  }

  /// Digits after the point of a change in percent.
  package static let percentDigits: UInt8 = 2
  /// Digits after the point of a quote volume at most.
  package static let quoteVolumeDigits = 8

  /// The figures as a `Ticker`: volume at the size scale, quote volume with at most 8 digits, vwap at the price scale,
  /// change in percent with 2 digits, each rounded once, half to even. What is not known, or does not fit in an
  /// `Int64`, is nil.
  package mutating func ticker(
    of ring: borrowing BucketRing, instrument: Instrument, quote: Quote?, now: Timestamp
  ) -> Ticker {
    let figures = figures(of: ring, now: now)
    let sizeScale = Int(instrument.sizeScale)
    var ticker = Ticker(instrument: instrument.id, time: now)
    ticker.last = figures.last ?? ring.lastPrice
    if let quote {
      ticker.bid = quote.bidSize > 0 ? quote.bid : nil
      ticker.ask = quote.askSize > 0 ? quote.ask : nil
    }
    ticker.open = figures.open
    ticker.high = figures.high
    ticker.low = figures.low
    ticker.volume = Ratio.decimal(figures.volume, scale: sizeScale, digits: sizeScale)
    ticker.quoteVolume = Ratio.decimal(
      figures.quoteVolume, scale: Int(instrument.priceScale) + sizeScale, digits: Self.quoteVolumeDigits)
    if figures.volume > 0,
      let vwap = Int64(exactly: Ratio.divide(figures.quoteVolume, by: figures.volume))
    {
      ticker.vwap = Decimal64(mantissa: vwap, scale: instrument.priceScale)
    }
    if let open = figures.open, let last = figures.last {
      let (change, overflow) = last.subtractingReportingOverflow(open)
      if !overflow {
        ticker.change = Decimal64(mantissa: change, scale: instrument.priceScale)
        ticker.changePercent = Ratio.percent(change, of: open, digits: Self.percentDigits)
      }
    }
    ticker.trades = figures.trades
    return ticker
  }
}
