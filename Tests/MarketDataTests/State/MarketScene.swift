import MarketData

/// A market with one or more instruments, and a batch to fill.
struct MarketScene: ~Copyable {
  let market: Market
  var batch = EventBatch()
  var changes = MarketChanges()
  var now = Timestamp(microseconds: 1_700_000_000_000_000)

  init(
    quotesFromBook: Bool = false, depth: Int? = nil, checksum: Market.BookChecksum? = nil, patience: Int = 1,
    crossedTolerance: Int64 = Microseconds.second, instruments: Int = 1
  ) {
    market = Market(
      configuration: .init(
        quotesFromBook: quotesFromBook, bookDepthLimit: depth, checksum: checksum, checksumPatience: patience,
        crossedTolerance: crossedTolerance))
    for index in 0..<instruments { batch.append(instrument: Self.instrument(index)) }
    apply()
  }

  static func instrument(_ index: Int, priceScale: UInt8 = 2, sizeScale: UInt8 = 4) -> Instrument {
    Instrument(
      id: .init(index), venue: "test", venueSymbol: "I\(index)", base: "B\(index)", quote: "USD",
      priceScale: priceScale,
      sizeScale: sizeScale)
  }

  mutating func apply() {
    changes.removeAll()
    market.apply(batch, now: now, into: &changes)
    batch.removeAll()
  }

  mutating func advance(_ microseconds: Int64) {
    now = now + microseconds
    changes.removeAll()
    market.advance(to: now, into: &changes)
  }

  mutating func trade(_ price: Int64, instrument: Int = 0, at offset: Int64 = 0, backlog: Bool = false) {
    batch.events.append(
      .trade(
        Trade(
          instrument: .init(instrument), id: TradeID(1), price: price, size: 10, side: .buy, time: now + offset,
          isBacklog: backlog)))
  }

  mutating func book(
    _ kind: BookEvent.Kind, bids: [(Int64, Int64)], asks: [(Int64, Int64)], checksum: UInt32? = nil, instrument: Int = 0
  ) {
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    batch.bids += bids.map { PriceLevel(price: $0.0, size: $0.1) }
    batch.asks += asks.map { PriceLevel(price: $0.0, size: $0.1) }
    batch.events.append(
      .book(
        BookEvent(
          instrument: .init(instrument), kind: kind, bidRange: bidStart..<batch.bids.count,
          askRange: askStart..<batch.asks.count, time: now, checksum: checksum)))
  }

  /// The changes in a word each.
  var words: [String] {
    changes.items.map { item in
      switch item {
      case .trades(let id, let range): "trades \(id.index) \(range.count)"
      case .tradeGap(let id, let range): "gap \(id.index) \(range.count)"
      case .tradesMissing(let id, let hole): "missing \(id.index) \(changes.holes[hole].count ?? 0)"
      case .tradesSearched(let id, let hole): "searched \(id.index) \(changes.holes[hole].found)"
      case .quote(let quote): "quote \(quote.bid)/\(quote.ask)"
      case .ticker(let id): "ticker \(id.index)"
      case .pulse(let pulse): "pulse \(pulse.price) ×\(pulse.merged)"
      case .bookSnapshot(let id): "snapshot \(id.index)"
      case .bookDelta(_, let bids, let asks, _): "delta \(bids.count)/\(asks.count)"
      case .bookState(_, .live): "live"
      case .bookState(_, .syncing(let reason)): "syncing \(reason?.description ?? "first")"
      case .bookState(_, .absent): "absent"
      case .sparkline(let id): "sparkline \(id.index)"
      case .candles(let id, let range): "candles \(id.index) \(range.count)"
      case .past(let id): "past \(id.index)"
      case .derivative(let id): "derivative \(id.index)"
      case .liquidations(let id, let range): "liquidations \(id.index) \(range.count)"
      case .instrument(let id): "instrument \(id.index)"
      case .channel(let id, let channel, .live): "\(channel.name) \(id.index) live"
      case .channel(let id, let channel, .doubted): "\(channel.name) \(id.index) doubted"
      case .channel(let id, let channel, .silent(let attempt)): "\(channel.name) \(id.index) silent \(attempt)"
      }
    }
  }
}
