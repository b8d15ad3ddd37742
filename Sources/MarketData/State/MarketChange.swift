/// Whether an instrument's book may be published.
package enum BookState: Sendable, Equatable {
  /// No book has been requested or received yet.
  case absent
  /// Out of sync; nil while the first snapshot is awaited.
  case syncing(ResyncReason?)
  case live
}

/// Whether a channel beside the book is silent although others of its instrument contradict that.
package enum ChannelState: Sendable, Equatable {
  case live
  /// Of trades: the best prices have left the last price behind. Only the venue's figures can show whether it trades;
  /// they are to be asked for. No state that is published.
  case doubted
  /// Found silent for the `attempt`th time since it last spoke: 1 for the first.
  case silent(attempt: Int)
}

/// A price move, merged to at most one in 100 ms; `PulseMerger` has the rule.
package struct Pulse: Sendable, Equatable {
  package var instrument: InstrumentID
  package var price: Int64
  /// The price of the previous pulse; nil for the first.
  package var previous: Int64?
  /// The number of merged price changes, 1 or more.
  package var merged: Int
  /// The time of its publication.
  package var time: Timestamp

  package init(instrument: InstrumentID, price: Int64, previous: Int64?, merged: Int, time: Timestamp) {
    self.instrument = instrument
    self.price = price
    self.previous = previous
    self.merged = merged
    self.time = time
  }
}

/// A change. Plain data; its ranges are of the arrays of its `MarketChanges`.
package enum MarketChange: Sendable {
  /// New trades: `changes.trades[range]`, all of one instrument. Live trades, and after a restart the earlier trades
  /// that the previous run has not published.
  case trades(InstrumentID, Range<Int>)
  /// Trades may be missing between all that were published and the next; that one says so (`Trade.breakBefore`).
  /// `changes.trades[range]` are trades from after that place which the venue sent as its last ones: they are history,
  /// and nobody was sent them as news.
  case tradeGap(InstrumentID, Range<Int>)
  /// Trades are missing between those before this change and those after it: `changes.holes[index]`.
  case tradesMissing(InstrumentID, hole: Int)
  /// The search for missing trades has ended: `changes.holes[index]`. Those that were found are in changes before this
  /// one.
  case tradesSearched(InstrumentID, hole: Int)
  case quote(Quote)
  /// The venue's 24 h figures, or the gateway's own if the venue has none.
  case ticker(InstrumentID)
  case pulse(Pulse)
  case derivative(InstrumentID)
  /// New liquidations: `changes.liquidations[range]`, all of one instrument.
  case liquidations(InstrumentID, Range<Int>)
  /// The whole book was replaced and is in sync.
  case bookSnapshot(InstrumentID)
  /// Levels changed: `changes.bids[bids]`, `changes.asks[asks]`, with their new sizes.
  case bookDelta(InstrumentID, bids: Range<Int>, asks: Range<Int>, time: Timestamp)
  case bookState(InstrumentID, BookState)
  /// A channel beside the book has died while others of the instrument live, or speaks again.
  case channel(InstrumentID, MarketChannel, ChannelState)
  /// The last price changed, or a bucket of the lines began.
  case sparkline(InstrumentID)
  /// Candles closed, or closed ones changed: `changes.candles[range]`, all of one instrument. Of a composite open ones
  /// may have changed, too, or alone; then the range is empty.
  case candles(InstrumentID, Range<Int>)
  /// The history of charts changed: candles were restored.
  case past(InstrumentID)
  /// The instrument appeared or its description changed.
  case instrument(InstrumentID)
}

/// The changes of one batch of events, with their memory. Made once for each feed and reused.
package struct MarketChanges: ~Copyable {
  package var items: [MarketChange] = []
  package var trades: [Trade] = []
  package var holes: [TradeHole] = []
  package var bids: [PriceLevel] = []
  package var asks: [PriceLevel] = []
  package var candles: [Candle] = []
  package var liquidations: [Liquidation] = []

  package init() {}

  /// Adds a new trade; consecutive trades of one instrument are one change.
  @inline(__always)
  mutating func append(_ trade: Trade) {
    trades.append(trade)
    let end = trades.count
    if case .trades(let id, let range)? = items.last, id == trade.instrument, range.upperBound == end - 1 {
      items[items.count - 1] = .trades(id, range.lowerBound..<end)
    } else {
      items.append(.trades(trade.instrument, (end - 1)..<end))
    }
  }

  /// Empties it and keeps its memory.
  package mutating func removeAll() {
    items.empty()
    trades.empty()
    holes.empty()
    bids.empty()
    asks.empty()
    candles.empty()
    liquidations.empty()
  }

  /// Adds a liquidation; consecutive ones of one instrument are one change.
  mutating func append(_ liquidation: Liquidation) {
    liquidations.append(liquidation)
    let end = liquidations.count
    if case .liquidations(let id, let range)? = items.last, id == liquidation.instrument, range.upperBound == end - 1 {
      items[items.count - 1] = .liquidations(id, range.lowerBound..<end)
    } else {
      items.append(.liquidations(liquidation.instrument, (end - 1)..<end))
    }
  }
}
