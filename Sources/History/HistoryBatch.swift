import MarketData

/// What is written in one transaction.
package struct HistoryBatch: Sendable {
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

  /// Candles of a venue, or of an import.
  package struct Delivery: Sendable {
    package var symbol: String
    package var resolution: Resolution
    package var candles: [StoredCandle]
    /// The time for which the venue has now answered, so that an interval without a candle had no trade. Nil while more
    /// is to come.
    package var covers: Range<Timestamp>?

    package init(symbol: String, resolution: Resolution, candles: [StoredCandle], covers: Range<Timestamp>?) {
      self.symbol = symbol
      self.resolution = resolution
      self.candles = candles
      self.covers = covers
    }
  }

  /// Instruments that are new, or whose description changed. They come before all else that names them.
  package var instruments: [Instrument] = []
  package var observations: [Observation] = []
  package var minutes: [ClosedMinute] = []
  package var deliveries: [Delivery] = []
  /// The newest state of instruments, each at most once.
  package var latest: [LatestState] = []

  package init() {}

  package var isEmpty: Bool {
    instruments.isEmpty && observations.isEmpty && minutes.isEmpty && deliveries.isEmpty && latest.isEmpty
  }
}

/// What is newest of an instrument, for the next start.
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

  package var symbol: String
  package var time: Timestamp
  /// Of all numbers.
  package var priceScale: UInt8
  package var sizeScale: UInt8
  package var trade: LastTrade?
  /// The minute that is open.
  package var minute: StoredCandle?

  package init(
    symbol: String, time: Timestamp, priceScale: UInt8, sizeScale: UInt8, trade: LastTrade?, minute: StoredCandle?
  ) {
    self.symbol = symbol
    self.time = time
    self.priceScale = priceScale
    self.sizeScale = sizeScale
    self.trade = trade
    self.minute = minute
  }
}
