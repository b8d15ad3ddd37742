import MarketData

/// The items of one transaction.
package struct HistoryBatch: Sendable {
  /// An instrument that is new, or whose description changed.
  package struct Description: Sendable {
    /// The store's symbol: the instrument's own, or a longer one if the endpoint is not the venue's own.
    package var symbol: String
    package var instrument: Instrument

    package init(symbol: String, instrument: Instrument) {
      self.symbol = symbol
      self.instrument = instrument
    }
  }

  /// A minute that has closed.
  package struct ClosedMinute: Sendable {
    package var symbol: String
    package var candle: StoredCandle

    package init(symbol: String, candle: StoredCandle) {
      self.symbol = symbol
      self.candle = candle
    }
  }

  /// The gateway began or ceased to observe an instrument.
  package struct Observation: Sendable {
    package var symbol: String
    package var time: Timestamp
    package var isObserved: Bool

    package init(symbol: String, time: Timestamp, isObserved: Bool) {
      self.symbol = symbol
      self.time = time
      self.isObserved = isObserved
    }
  }

  /// The venue has shown that no trade is missing between the run before and this one: the gap between them does not
  /// exist until `end`.
  package struct Junction: Sendable {
    package var symbol: String
    /// When the gap began (`RestoredInstrument.gap`).
    package var start: Timestamp
    package var end: Timestamp

    package init(symbol: String, start: Timestamp, end: Timestamp) {
      self.symbol = symbol
      self.start = start
      self.end = end
    }
  }

  /// Candles of a venue, or of an import.
  package struct Delivery: Sendable {
    package var symbol: String
    package var resolution: Resolution
    package var candles: [StoredCandle]
    /// The time that the venue's answer covers: an interval in it without a candle had no trade. Nil while the answer
    /// is incomplete.
    package var covers: Range<Timestamp>?

    package init(symbol: String, resolution: Resolution, candles: [StoredCandle], covers: Range<Timestamp>?) {
      self.symbol = symbol
      self.resolution = resolution
      self.candles = candles
      self.covers = covers
    }
  }

  /// Written before everything that names them.
  package var instruments: [Description] = []
  package var observations: [Observation] = []
  /// Written after the observations, before the minutes.
  package var junctions: [Junction] = []
  package var minutes: [ClosedMinute] = []
  package var deliveries: [Delivery] = []
  /// The newest state of instruments, each at most once.
  package var latest: [LatestState] = []

  package init() {}

  /// Ends an instrument's gap, and begins another at the same moment: what joins later trades ends the second only.
  package mutating func divideGap(of symbol: String, at time: Timestamp) {
    observations.append(Observation(symbol: symbol, time: time, isObserved: true))
    observations.append(Observation(symbol: symbol, time: time, isObserved: false))
  }

  /// The number of items; each candle of a delivery counts.
  package var count: Int {
    instruments.count + observations.count + junctions.count + minutes.count
      + deliveries.reduce(deliveries.count) { $0 + $1.candles.count }
      + latest.count
  }

  package mutating func append(_ other: HistoryBatch) {
    instruments += other.instruments
    observations += other.observations
    junctions += other.junctions
    minutes += other.minutes
    deliveries += other.deliveries
    latest += other.latest
  }

  package var isEmpty: Bool {
    instruments.isEmpty && observations.isEmpty && junctions.isEmpty && minutes.isEmpty && deliveries.isEmpty
      && latest.isEmpty
  }
}

/// The newest state of an instrument, for the next start.
package struct LatestState: Sendable, Equatable {
  package struct LastTrade: Sendable, Equatable {
    package var id: String
    package var price: Int64
    package var size: Int64
    package var isBuy: Bool
    package var time: Timestamp

    package init(id: String, price: Int64, size: Int64, isBuy: Bool, time: Timestamp) {
      self.id = id
      self.price = price
      self.size = size
      self.isBuy = isBuy
      self.time = time
    }
  }

  /// A minute with trades that had not closed, or that lacks some.
  package struct OpenMinute: Sendable, Equatable {
    /// Always `partial`.
    package var candle: StoredCandle
    /// The time of its last trade.
    package var closeTime: Timestamp

    package init(candle: StoredCandle, closeTime: Timestamp) {
      self.candle = candle
      self.closeTime = closeTime
    }
  }

  package var symbol: String
  package var time: Timestamp
  /// The scale of all prices here.
  package var priceScale: UInt8
  package var sizeScale: UInt8
  package var trade: LastTrade?
  /// The last published trades, oldest first; at most 50.
  package var trades: [LastTrade]
  /// The minutes that the next run may complete, with exactly the trades until the last of `trades`, oldest first; at
  /// most three.
  package var minutes: [OpenMinute]

  package init(
    symbol: String, time: Timestamp, priceScale: UInt8, sizeScale: UInt8, trade: LastTrade?, trades: [LastTrade] = [],
    minutes: [OpenMinute]
  ) {
    self.symbol = symbol
    self.time = time
    self.priceScale = priceScale
    self.sizeScale = sizeScale
    self.trade = trade
    self.trades = trades
    self.minutes = minutes
  }
}
