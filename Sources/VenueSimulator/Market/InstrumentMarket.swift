import Bytes
import MarketData

/// The market of one instrument: a hidden fair price that wanders and bursts, and the orders that follow it.
///
/// Moments of activity come as a Poisson process with two regimes: calm, and bursts (a tenth of the time, six times as
/// busy, with a direction). In each the fair price moves; what stands on its wrong side is traded away, wide spreads
/// are filled, and otherwise levels are placed, resized and withdrawn, mostly near the top.
package final class InstrumentMarket {
  package let instrument: SimulatedInstrument
  /// The true book.
  package private(set) var book = SimulatedBook()
  package private(set) var day: SimulatedDay
  /// What was before the day that is recorded.
  let history: CandleHistory
  /// The latest trades, oldest first, at most `recentLimit`.
  package private(set) var recentTrades: [SimulatedTrade] = []
  /// The id of the latest level change.
  package private(set) var updateID: Int64
  /// A counter of everything that happens to the instrument; rises by more than one.
  package private(set) var sequence: Int64
  /// The id of the latest trade.
  package private(set) var tradeID: Int64

  /// More of them, oldest first, for requests by number: at least `pastLimit`, once there were so many.
  package private(set) var pastTrades: [SimulatedTrade] = []

  package static let recentLimit = 50
  static let pastLimit = 10_000
  private(set) var nextEvent: Timestamp
  private var lastEvent: Timestamp
  private var random: MarketRandom
  /// In ticks.
  private var fair: Double
  private let anchor: Double
  /// The price, where it is a function of the time; then what it is beside that, as a part of it.
  private let path: PricePath?
  private let premium: Double
  /// One basis point of the reference price, in ticks.
  private let basisPoint: Double
  /// The usual distance between levels at the top, in ticks.
  private let spacing: Double
  private let calmRate: Double
  private var isBurst = false
  private var direction = 0.0
  private var regimeEnd: Timestamp
  /// Mean sizes in lots.
  private let levelLots: Double
  private let tradeLots: Double
  /// Prices touched in the moment under way, with the size each had before.
  private var touched: [(side: SimulatedSide, price: Int64, before: Int64)] = []

  init(
    _ instrument: SimulatedInstrument, seed: UInt64, rate: Double, start: Timestamp, hasPast: Bool,
    origin: SimulatedOrigin
  ) {
    self.instrument = instrument
    var random = MarketRandom(seed: seed)
    let path = origin.path(of: instrument.base)
    self.path = path
    let priceUnits = Double(DecimalText.power(instrument.priceScale)) / Double(instrument.tick)
    let contract = Double(instrument.contractSize.mantissa) / Double(DecimalText.power(instrument.contractSize.scale))
    // Lots in one base unit.
    let sizeUnits = Double(DecimalText.power(instrument.sizeScale)) / Double(instrument.lot) / contract
    anchor = instrument.reference * priceUnits
    basisPoint = anchor * 1e-4
    spacing = max(0.5, basisPoint * 0.2)
    // Mean notional values in dollars: 8,000 a level (less near the top), 800 a trade.
    levelLots = max(2, 8_000 / instrument.reference * sizeUnits)
    tradeLots = max(1, 800 / instrument.reference * sizeUnits)
    let perSecond = rate * instrument.activity
    calmRate = perSecond / 1.5
    updateID = 50_000_000_000 + Int64(random.below(1_000_000_000))
    sequence = 130_000_000_000 + Int64(random.below(1_000_000_000))
    tradeID = origin.lastTradeID(start, own: 400_000_000 + Int64(random.below(100_000_000)))

    let deviation = random.gaussian()
    premium = path == nil ? 0 : 0.0002 * deviation
    let centre = anchor * (1 + premium)
    var price = path.map { centre * $0.level(at: start) } ?? anchor * (1 + 0.01 * deviation)
    fair = price
    // The day before: a walk backwards from the present, 0.08 % a minute, with busy and quiet minutes.
    var minutes: [SimulatedDay.Minute] = []
    // However fast a load test is to be now, the day before it was a day like others; 24 h at thousands a second do not
    // fit 64 bits.
    let tradesPerMinute = min(perSecond, 50) * 60 * Self.tradesPerMoment
    if !hasPast {
      var minute = SimulatedDay.Minute(at: Int64(price) * instrument.tick)
      minute.add(minute.open, instrument.lot)
      minutes = Array(repeating: minute, count: SimulatedDay.minuteCount)
    }
    while minutes.count < SimulatedDay.minuteCount {
      let close = Int64(price)
      if let path {
        // Every request for a minute gets the same trades.
        let number = start.microseconds / Microseconds.minute - Int64(minutes.count) - 1
        random = MarketRandom(seed: seed ^ UInt64(bitPattern: number) &* 0xA076_1D64_78BD_642F)
        price = centre * path.level(at: Timestamp(microseconds: number * Microseconds.minute))
      } else {
        price += basisPoint * 8 * random.gaussian() + (anchor - price) / 500
      }
      minutes.append(
        Self.pastMinute(
          of: instrument, from: max(1, Int64(price)), to: close, wick: basisPoint * 4, trades: tradesPerMinute,
          lots: tradeLots, &random))
    }
    minutes.reverse()
    day = SimulatedDay(minutes: minutes, now: start)
    history = CandleHistory(
      seed: seed, instrument: instrument, start: start, price: day.minute(CandleHistory.seam(start) * 60).open,
      tradesPerMinute: tradesPerMinute, lots: tradeLots, path: path, reference: centre)
    // Another run has other trades.
    if path != nil { random = MarketRandom(seed: seed ^ UInt64(bitPattern: start.microseconds)) }

    lastEvent = start
    nextEvent = start
    regimeEnd = start + Int64(random.exponential() * 18 * Double(Microseconds.second))
    self.random = random
    buildBook()
    buildRecentTrades(before: start, perSecond: perSecond * Self.tradesPerMoment)
    scheduleNext()
  }

  /// Trades a moment as they come out of the process below: measured 0.2 to 0.8 at a rate of 60, by the tick's
  /// coarseness.
  private static let tradesPerMoment = 0.4

  // MARK: - The beginning

  /// A minute of the day before.
  /// - Parameters:
  ///   - open: in ticks, as `close` and the mean `wick`.
  ///   - trades: on average; each of so many `lots` on average.
  private static func pastMinute(
    of instrument: SimulatedInstrument, from open: Int64, to close: Int64, wick: Double, trades: Double, lots: Double,
    _ random: inout MarketRandom
  ) -> SimulatedDay.Minute {
    var minute = SimulatedDay.Minute(at: open * instrument.tick)
    minute.close = max(1, close) * instrument.tick
    minute.high = (max(open, close) + Int64(wick * random.exponential())) * instrument.tick
    minute.low = max(1, min(open, close) - Int64(wick * random.exponential())) * instrument.tick
    let busy = 0.3 + 0.7 * random.exponential()
    minute.trades = max(1, Int64(trades * busy))
    minute.volume = max(1, Int64(Double(minute.trades) * lots * (0.7 + 0.6 * random.uniform()))) * instrument.lot
    minute.turnover = Int128((minute.open + minute.close) / 2) * Int128(minute.volume)
    return minute
  }

  private func buildBook() {
    for side in [SimulatedSide.bid, .ask] {
      var price = side == .bid ? Int64(fair) : Int64(fair) + 1
      for rank in 0..<instrument.levels {
        guard price > 0 else { break }
        book.set(side, price * instrument.tick, levelSize(rank))
        let gap = 1 + Int64(random.exponential() * spacing * (1 + Double(rank) / 40))
        price += side == .bid ? -gap : gap
      }
    }
  }

  private func buildRecentTrades(before start: Timestamp, perSecond: Double) {
    var time = start
    var trades: [SimulatedTrade] = []
    for index in 0..<Self.recentLimit {
      let wait = 1 + random.exponential() / perSecond * Double(Microseconds.second)
      // Before that, an earlier run may have traded.
      time = time - (path == nil ? Int64(wait) : min(Int64(wait), 20 * Microseconds.millisecond))
      let side: TakerSide = random.chance(0.5) ? .buy : .sell
      let off = Int64(random.exponential() * spacing)
      let price = side == .buy ? Int64(fair) + 1 + off : max(1, Int64(fair) - off)
      trades.append(
        SimulatedTrade(
          id: tradeID - Int64(index), price: price * instrument.tick, size: tradeSize(), side: side, time: time))
    }
    recentTrades = trades.reversed()
    pastTrades = recentTrades
  }

  // MARK: - A moment

  /// Lets what happens at `nextEvent` happen, and tells it in `change`, which may end up empty.
  func happen(into change: inout SimulatedChange) {
    change.removeAll()
    touched.removeAll(keepingCapacity: true)
    let now = nextEvent
    let bestBid = book.bestBid
    let bestAsk = book.bestAsk
    day.roll(to: now)
    move(to: now)
    trade(now, into: &change)
    quote()
    finish(now, into: &change)
    change.isTopChanged = bestBid != book.bestBid || bestAsk != book.bestAsk
    lastEvent = now
    scheduleNext()
  }

  /// Moves everything still to come by `span` µs: the market stood still that long.
  func shift(by span: Int64) {
    nextEvent = nextEvent + span
    lastEvent = lastEvent + span
    regimeEnd = regimeEnd + span
  }

  private func scheduleNext() {
    let rate = isBurst ? calmRate * 6 : calmRate
    nextEvent = lastEvent + max(1, Int64(random.exponential() / rate * Double(Microseconds.second)))
  }

  private func move(to now: Timestamp) {
    while now >= regimeEnd {
      isBurst.toggle()
      direction = random.chance(0.5) ? 1 : -1
      regimeEnd = regimeEnd + max(1, Int64(random.exponential() * (isBurst ? 2 : 18) * Double(Microseconds.second)))
    }
    let seconds = min(Double(now - lastEvent) / Double(Microseconds.second), 60)
    let sigma = basisPoint * (isBurst ? 2.5 : 1)
    fair += sigma * seconds.squareRoot() * random.gaussian()
    if isBurst { fair += direction * sigma * 0.8 * seconds }
    if let path {
      fair += (anchor * (1 + premium) * path.level(at: now) - fair) * min(seconds / 60, 1)
    } else {
      fair += (anchor - fair) * min(seconds / 3_600, 1)
    }
    fair = min(max(fair, anchor * 0.85), anchor * 1.15)
  }

  /// Orders that take: all that the fair price has passed, or now and then one of either side.
  private func trade(_ now: Timestamp, into change: inout SimulatedChange) {
    guard let bid = book.bestBid, let ask = book.bestAsk else { return }
    if fair > Double(ask.price / instrument.tick) {
      sweep(.buy, now, into: &change)
    } else if fair < Double(bid.price / instrument.tick) {
      sweep(.sell, now, into: &change)
    } else if random.chance(0.08) {
      let bias = isBurst ? direction * 0.25 : 0
      take(random.chance(0.5 + bias) ? .buy : .sell, now, into: &change)
    }
  }

  /// Takes the levels that are on the wrong side of the fair price, at most eight at once.
  private func sweep(_ side: TakerSide, _ now: Timestamp, into change: inout SimulatedChange) {
    let book = side == .buy ? SimulatedSide.ask : .bid
    for _ in 0..<8 {
      guard self.book.count(book) > 12 else { return }
      let level = self.book.level(book, 0)
      let price = Double(level.price / instrument.tick)
      guard side == .buy ? fair > price : fair < price else { return }
      execute(side, level.price, level.size, now, into: &change)
    }
  }

  /// Takes about a trade's usual size from the best levels, at most four of them.
  private func take(_ side: TakerSide, _ now: Timestamp, into change: inout SimulatedChange) {
    var rest = tradeSize()
    let book = side == .buy ? SimulatedSide.ask : .bid
    for _ in 0..<4 {
      guard rest > 0, self.book.count(book) > 12 else { return }
      let level = self.book.level(book, 0)
      let size = min(rest, level.size)
      execute(side, level.price, size, now, into: &change)
      rest -= size
    }
  }

  private func execute(
    _ side: TakerSide, _ price: Int64, _ size: Int64, _ now: Timestamp, into change: inout SimulatedChange
  ) {
    let opposite = side == .buy ? SimulatedSide.ask : .bid
    set(opposite, price, book.size(opposite, at: price) - size)
    tradeID += 1
    let trade = SimulatedTrade(id: tradeID, price: price, size: size, side: side, time: now)
    change.trades.append(trade)
    day.record(trade)
    if recentTrades.count == Self.recentLimit { recentTrades.removeFirst() }
    recentTrades.append(trade)
    if pastTrades.count == 2 * Self.pastLimit { pastTrades.removeFirst(Self.pastLimit) }
    pastTrades.append(trade)
  }

  /// Orders that stand: fills a wide spread, then changes one to three levels, and keeps the depth.
  private func quote() {
    for side in [SimulatedSide.bid, .ask] where spread > spacing * 2 {
      if random.chance(0.6) { improve(side) }
    }
    var count = 1
    while count < 3, random.chance(0.25) { count += 1 }
    for _ in 0..<count { alter(random.chance(0.5) ? .bid : .ask) }
    for side in [SimulatedSide.bid, .ask] {
      let levels = book.count(side)
      if levels > instrument.levels * 11 / 10 {
        set(side, book.level(side, levels - 1).price, 0)
      } else if levels < instrument.levels * 9 / 10 {
        let worst = book.level(side, levels - 1).price
        let gap = (1 + Int64(random.exponential() * spacing * (1 + Double(levels) / 40))) * instrument.tick
        let price = side == .bid ? worst - gap : worst + gap
        if price > 0 { set(side, price, levelSize(levels)) }
      }
    }
  }

  /// In ticks.
  private var spread: Double {
    guard let bid = book.bestBid, let ask = book.bestAsk else { return 0 }
    return Double((ask.price - bid.price) / instrument.tick)
  }

  /// Places a better order, short of the fair price and of the other side.
  private func improve(_ side: SimulatedSide) {
    guard let bid = book.bestBid, let ask = book.bestAsk else { return }
    let tick = instrument.tick
    let low: Int64
    let high: Int64
    if side == .bid {
      low = bid.price / tick + 1
      high = min(ask.price / tick - 1, Int64(fair))
    } else {
      low = max(bid.price / tick + 1, Int64(fair) + 1)
      high = ask.price / tick - 1
    }
    guard low <= high else { return }
    set(side, (low + Int64(random.below(Int(high - low + 1)))) * tick, levelSize(0))
  }

  /// Resizes, withdraws or places one level, most often among the first ten.
  private func alter(_ side: SimulatedSide) {
    let count = book.count(side)
    guard count > 12 else { return improve(side) }
    let rank = random.chance(0.92) ? min(Int(random.exponential() * 6), count - 1) : random.below(count)
    let level = book.level(side, rank)
    let draw = random.uniform()
    if draw < 0.30, rank + 1 < count {
      let other = book.level(side, rank + 1)
      let tick = instrument.tick
      let low = min(level.price, other.price) / tick + 1
      let high = max(level.price, other.price) / tick - 1
      if low <= high {
        return set(side, (low + Int64(random.below(Int(high - low + 1)))) * tick, levelSize(rank))
      }
    } else if draw < 0.58 {
      return set(side, level.price, 0)
    }
    set(side, level.price, levelSize(rank))
  }

  // MARK: - Changes

  private func set(_ side: SimulatedSide, _ price: Int64, _ size: Int64) {
    let before = book.size(side, at: price)
    guard before != size else { return }
    if !touched.contains(where: { $0.side == side && $0.price == price }) { touched.append((side, price, before)) }
    book.set(side, price, size)
  }

  /// Numbers the levels that differ from before.
  private func finish(_ now: Timestamp, into change: inout SimulatedChange) {
    change.time = now
    change.firstUpdateID = updateID + 1
    for (side, price, before) in touched {
      let size = book.size(side, at: price)
      guard size != before else { continue }
      let level = PriceLevel(price: price, size: size)
      if side == .bid { change.bids.append(level) } else { change.asks.append(level) }
      updateID += 1
    }
    change.lastUpdateID = updateID
    sequence += Int64(change.bids.count + change.asks.count + change.trades.count + random.below(4))
  }

  /// Many small orders, some large: an exponential of an exponential, in whole lots.
  private func levelSize(_ rank: Int) -> Int64 {
    let part = min(1, 0.1 + 0.03 * Double(rank))
    let lots = levelLots * part * (0.1 + 0.9 * random.exponential()) * (0.2 + 0.8 * random.exponential())
    return max(1, Int64(lots)) * instrument.lot
  }

  private func tradeSize() -> Int64 {
    max(1, Int64(tradeLots * random.exponential() * random.exponential())) * instrument.lot
  }
}
