import Bytes

@testable import MarketData

/// One market with a book, and what was said of its channels.
final class DoubtsScene {
  let market: Market
  var now = Timestamp(microseconds: 1_700_000_000_000_000)
  /// What was said of channels, in order.
  private(set) var told: [String] = []
  /// Live trades.
  private(set) var published = 0
  private let id = InstrumentID(0)
  private var ticker: Ticker

  init(tickerInterval: Int64? = Microseconds.second, hasWitness: Bool = false) {
    market = Market(
      configuration: .init(
        quotesFromBook: hasWitness, bookDepthLimit: nil, checksum: nil, tickerInterval: tickerInterval,
        hasWitness: hasWitness))
    ticker = Ticker(instrument: id, time: now)
    ticker.last = 100
    ticker.volume = Decimal64(mantissa: 1_000, scale: 0)
    var batch = EventBatch()
    batch.append(
      instrument: Instrument(
        id: id, venue: "test", venueSymbol: "I", base: "B", quote: "USD", priceScale: 2, sizeScale: 2))
    apply(batch)
    book(.snapshot, bid: 100, ask: 110)
  }

  private func apply(_ batch: borrowing EventBatch) {
    var changes = MarketChanges()
    market.apply(batch, now: now, into: &changes)
    note(changes)
  }

  private func note(_ changes: borrowing MarketChanges) {
    published += changes.trades.count
    for case .channel(_, let channel, let state) in changes.items {
      switch state {
      case .silent(let attempt): told.append("\(channel.name) silent \(attempt)")
      case .doubted: told.append("\(channel.name) doubted")
      case .live: told.append("\(channel.name) live")
      }
    }
  }

  func book(_ kind: BookEvent.Kind = .delta, bid: Int64, ask: Int64) {
    var batch = EventBatch()
    batch.bids.append(PriceLevel(price: bid, size: 5))
    batch.asks.append(PriceLevel(price: ask, size: 5))
    if kind == .delta, let best = market[id].book.bestBid?.price, best != bid {
      batch.bids.append(PriceLevel(price: best, size: 0))
    }
    batch.events.append(
      .book(
        BookEvent(
          instrument: id, kind: kind, bidRange: 0..<batch.bids.count, askRange: 0..<batch.asks.count, time: now)))
    apply(batch)
  }

  func quote(_ bid: Int64, _ ask: Int64) {
    var batch = EventBatch()
    batch.events.append(.quote(Quote(instrument: id, bid: bid, bidSize: 1, ask: ask, askSize: 1, time: now)))
    apply(batch)
  }

  func trade(_ price: Int64, age: Int64 = 0, backlog: Bool = false, isLate: Bool = false) {
    var batch = EventBatch()
    batch.events.append(
      .trade(
        Trade(
          instrument: id, id: TradeID(1), price: price, size: 1, side: .buy, time: now + -age, isBacklog: backlog,
          isLate: isLate)))
    apply(batch)
  }

  /// Trades of one message, each with its age in seconds.
  func trades(_ trades: [(price: Int64, age: Int64)], isBacklog: Bool) {
    var batch = EventBatch()
    for (price, age) in trades {
      batch.events.append(
        .trade(
          Trade(
            instrument: id, id: TradeID(1), price: price, size: 1, side: .buy,
            time: now + -age * Microseconds.second, isBacklog: isBacklog)))
    }
    apply(batch)
  }

  /// A ticker, which differs from the one before in what is given.
  func ticker(last: Int64? = nil, volumeBy difference: Int64 = 0, trades: Int64? = nil, isWitness: Bool = false) {
    ticker.last = last ?? ticker.last
    ticker.volume?.mantissa += difference
    ticker.trades = trades ?? ticker.trades
    ticker.time = now
    var batch = EventBatch()
    batch.events.append(isWitness ? .witness(ticker) : .ticker(ticker))
    apply(batch)
  }

  /// Another channel shows a trade.
  func showTrade() {
    var batch = EventBatch()
    batch.events.append(.tradeShown(id))
    apply(batch)
  }

  func forgetTold() { told = [] }

  /// Lets time pass, with the book speaking each second as it does in a market that is not dead.
  func wait(_ seconds: Double) {
    var left = Int64(seconds * 1e6)
    while left > 0 {
      let step = min(left, 1_000_000)
      now = now + step
      left -= step
      var batch = EventBatch()
      batch.events.append(.heartbeat)
      apply(batch)
    }
  }

  var state: InstrumentState { market[id] }
}
