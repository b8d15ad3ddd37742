import MarketData

/// The figures of a rolling day, from 1,440 minutes and the one under way; exact to the minute. It keeps what is older
/// for candles.
package struct SimulatedDay: Sendable, Equatable {
  /// One minute of trading. Prices at the instrument's scale.
  package struct Minute: Sendable, Equatable {
    package var open: Int64
    package var high: Int64
    package var low: Int64
    package var close: Int64
    /// In counts of 10^-`sizeScale`.
    package var volume: Int64
    /// Sum of price × size, in counts of 10^-(`priceScale` + `sizeScale`).
    package var turnover: Int128
    package var trades: Int64

    init(at price: Int64) {
      open = price
      high = price
      low = price
      close = price
      volume = 0
      turnover = 0
      trades = 0
    }

    /// What `parts`, in their order and at least one, come to: those without a trade leave the price where it is.
    init(joining parts: some Collection<Minute>) {
      self.init(at: parts[parts.startIndex].open)
      for part in parts where part.trades > 0 {
        if trades == 0 { (open, high, low) = (part.open, part.high, part.low) }
        high = max(high, part.high)
        low = min(low, part.low)
        close = part.close
        add(part)
      }
    }

    /// Adds what was traded, whatever it cost.
    fileprivate mutating func add(_ other: Minute) {
      volume = Int64(clamping: Int128(volume) + Int128(other.volume))
      turnover += other.turnover
      trades += other.trades
    }

    mutating func add(_ price: Int64, _ size: Int64) {
      if trades == 0 { open = price; high = price; low = price }
      high = max(high, price)
      low = min(low, price)
      close = price
      volume = Int64(clamping: Int128(volume) + Int128(size))
      turnover += Int128(price) * Int128(size)
      trades += 1
    }
  }

  static let minuteCount = 1_440
  /// Finished minutes that are kept one by one; of older ones only the hours.
  static let keptMinutes = 2 * minuteCount

  /// Finished minutes, oldest first; the last `minuteCount` are the day.
  private var finished: [Minute]
  /// The number of the first of them, in minutes since 1970.
  private(set) var firstMinute: Int64
  /// Hours whose minutes are not kept any more, oldest first.
  private(set) var hours: [Minute] = []
  private var current: Minute
  /// When the minute under way began.
  private var currentStart: Timestamp
  /// What the finished minutes of the day come to; those too in which nothing was traded have a price.
  private var closed: Minute

  /// A day that ends at `now`, oldest minute first. Precondition: exactly `minuteCount` minutes.
  init(minutes: [Minute], now: Timestamp) {
    precondition(minutes.count == Self.minuteCount)
    finished = minutes
    current = Minute(at: minutes[minutes.count - 1].close)
    let number = now.rawValue / Microseconds.minute
    currentStart = Timestamp(rawValue: number * Microseconds.minute)
    firstMinute = number - Int64(Self.minuteCount)
    closed = current
    sum()
  }

  private var day: ArraySlice<Minute> { finished.suffix(Self.minuteCount) }

  private mutating func sum() {
    closed = day[day.startIndex]
    for minute in day.dropFirst() {
      closed.high = max(closed.high, minute.high)
      closed.low = min(closed.low, minute.low)
      closed.add(minute)
    }
  }

  /// Ends the minutes that are over at `now`. O(1), O(1440) once a minute.
  mutating func roll(to now: Timestamp) {
    guard now - currentStart >= Microseconds.minute else { return }
    while now - currentStart >= Microseconds.minute {
      finished.append(current)
      current = Minute(at: current.close)
      currentStart = currentStart + Microseconds.minute
    }
    sum()
    while finished.count >= Self.keptMinutes + 60 { forgetAnHour() }
  }

  /// Keeps the first hour as one; the part of an hour that a market's first minutes are is left to its `CandleHistory`.
  private mutating func forgetAnHour() {
    let count = 60 - Int(firstMinute % 60)
    if count == 60 { hours.append(Minute(joining: finished[..<60])) }
    finished.removeFirst(count)
    firstMinute += Int64(count)
  }

  /// A minute by its number since 1970: finished, under way, or one to come, which stands still. Precondition: not
  /// before `firstMinute`.
  func minute(_ number: Int64) -> Minute {
    let index = Int(number - firstMinute)
    if index < finished.count { return finished[index] }
    return index == finished.count ? current : Minute(at: current.close)
  }

  mutating func record(_ trade: SimulatedTrade) {
    roll(to: trade.time)
    current.add(trade.price, trade.size)
  }

  /// The price a day ago.
  package var open: Int64 { day[day.startIndex].open }
  package var high: Int64 { max(closed.high, current.high) }
  package var low: Int64 { min(closed.low, current.low) }
  package var last: Int64 { current.close }
  /// In counts of 10^-`sizeScale`.
  package var volume: Int64 { Int64(clamping: Int128(closed.volume) + Int128(current.volume)) }
  /// In counts of 10^-(`priceScale` + `sizeScale`).
  package var turnover: Int128 { closed.turnover + current.turnover }
  package var trades: Int64 { closed.trades + current.trades }
  /// The volume-weighted average price, rounded down to the instrument's scale.
  package var vwap: Int64 { volume > 0 ? Int64(turnover / Int128(volume)) : last }

  /// What the price has risen in the day, in parts of `unit` of what it was: 10,000 is in hundredths of a percent.
  func rise(in unit: Int64) -> Int64 { open > 0 ? Int64(Int128(last - open) * Int128(unit) / Int128(open)) : 0 }

  /// The last `count` finished minutes, oldest first, and when the first of them began.
  package func minutes(last count: Int) -> (start: Timestamp, minutes: [Minute]) {
    let count = min(max(count, 0), Self.minuteCount)
    return (currentStart - Int64(count) * Microseconds.minute, Array(finished.suffix(count)))
  }
}
