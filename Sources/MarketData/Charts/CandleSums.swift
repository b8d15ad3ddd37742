/// The sums over the minutes of a candle.
struct CandleSums {
  var open: Int64 = 0
  var high: Int64 = 0
  var low: Int64 = 0
  var close: Int64 = 0
  var volume: Int128 = 0
  var quoteVolume: Int128 = 0
  var trades: Int64 = 0
  var rev: UInt32 = 0
  var hasPrice = false
  var hasQuoteVolume = true
  var hasTrades = true
  var isVenue = false

  /// Adds a minute that is later than all before. No sum over a day overflows.
  mutating func append(_ minute: Minute) {
    if !hasPrice {
      hasPrice = true
      open = minute.open
      high = minute.high
      low = minute.low
    }
    high = max(high, minute.high)
    low = min(low, minute.low)
    close = minute.close
    volume += Int128(minute.volume)
    quoteVolume += minute.quoteVolume
    trades += Int64(minute.trades)
    rev += minute.rev
    if !minute.hasQuoteVolume { hasQuoteVolume = false }
    if !minute.hasTrades { hasTrades = false }
    if minute.isVenue { isVenue = true }
  }
}
