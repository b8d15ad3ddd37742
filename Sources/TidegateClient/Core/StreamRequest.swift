/// A request for streams, and the type of their values.
///
///     client.subscribe(.book("kraken:BTC-USD", depth: .levels25))
///     client.subscribe(.pulse("kraken:BTC-USD", "coinbase:ETH-USD", every: .seconds(1)))
///
/// A symbol is `kraken:BTC-USD`. `kraken:*` and `*:BTC-USD` stand for all symbols that match when the gateway receives
/// the request. `composite:BTC-USD` combines all spot markets of a pair: it has all channels of a market but trades.
/// `every` is the shortest time between two updates of a stream, up to a minute; the gateway uses the nearest of its
/// rates that is not faster. Nil: the gateway's default.
public struct StreamRequest<Value: Sendable>: Sendable {
  let items: [StreamItem]
  let read: @Sendable (Payload) -> Value?

  init(items: [StreamItem], read: @escaping @Sendable (Payload) -> Value?) {
    self.items = items
    self.read = read
  }

  init(
    _ channel: Channel, _ symbols: [String], every: Duration?, _ read: @escaping @Sendable (Payload) -> Value?,
    _ change: (inout StreamItem) -> Void = { _ in }
  ) {
    self.read = read
    items = symbols.map { symbol in
      var item = StreamItem(channel: channel, symbol: symbol, cadence: every.map(Cadence.milliseconds))
      change(&item)
      return item
    }
  }

  /// The same streams as values of any kind, to be joined with others by ``StreamRequest/all(_:)``.
  public var untyped: StreamRequest<Payload> { StreamRequest<Payload>(items: items) { $0 } }
}

/// The shortest time between two updates, as in the protocol.
enum Cadence {
  static func milliseconds(_ duration: Duration) -> Int {
    Int(min(max(duration.nanoseconds / 1_000_000, 0), 60_000))
  }
}

extension StreamRequest where Value == OrderBook {
  /// Order books, merged.
  public static func book(_ symbols: String..., depth: BookDepth = .levels25, every: Duration? = nil) -> Self {
    book(symbols, depth: depth, every: every)
  }

  /// Order books, merged.
  public static func book(_ symbols: [String], depth: BookDepth = .levels25, every: Duration? = nil) -> Self {
    Self(.book, symbols, every: every, { if case .book(let book) = $0 { book } else { nil } }) { $0.depth = depth }
  }
}

extension StreamRequest where Value == [Trade] {
  /// Trades, oldest first. The first value of a stream has the latest trades, at most 50.
  public static func trades(_ symbols: String..., every: Duration? = nil) -> Self { trades(symbols, every: every) }

  /// Trades, oldest first. The first value of a stream has the latest trades, at most 50.
  public static func trades(_ symbols: [String], every: Duration? = nil) -> Self {
    Self(.trades, symbols, every: every, { if case .trades(let trades) = $0 { trades } else { nil } })
  }
}

extension StreamRequest where Value == Quote {
  /// Best bid and ask.
  public static func quote(_ symbols: String..., every: Duration? = nil) -> Self { quote(symbols, every: every) }

  /// Best bid and ask.
  public static func quote(_ symbols: [String], every: Duration? = nil) -> Self {
    Self(.quote, symbols, every: every, { if case .quote(let quote) = $0 { quote } else { nil } })
  }
}

extension StreamRequest where Value == Ticker {
  /// The last price and the last 24 hours.
  public static func ticker(_ symbols: String..., every: Duration? = nil) -> Self { ticker(symbols, every: every) }

  /// The last price and the last 24 hours.
  public static func ticker(_ symbols: [String], every: Duration? = nil) -> Self {
    Self(.ticker, symbols, every: every, { if case .ticker(let ticker) = $0 { ticker } else { nil } })
  }
}

extension StreamRequest where Value == Pulse {
  /// The direction of the price.
  public static func pulse(_ symbols: String..., every: Duration? = nil) -> Self { pulse(symbols, every: every) }

  /// The direction of the price.
  public static func pulse(_ symbols: [String], every: Duration? = nil) -> Self {
    Self(.pulse, symbols, every: every, { if case .pulse(let pulse) = $0 { pulse } else { nil } })
  }
}

extension StreamRequest where Value == Sparkline {
  /// The price over a span of time.
  /// - Parameter points: 2…1440.
  public static func sparkline(
    _ symbols: String..., range: SparklineRange = .day, points: Int = 96, every: Duration? = nil
  ) -> Self {
    sparkline(symbols, range: range, points: points, every: every)
  }

  /// The price over a span of time.
  /// - Parameter points: 2…1440.
  public static func sparkline(
    _ symbols: [String], range: SparklineRange = .day, points: Int = 96, every: Duration? = nil
  ) -> Self {
    Self(.sparkline, symbols, every: every, { if case .sparkline(let line) = $0 { line } else { nil } }) {
      $0.range = range
      $0.points = points
    }
  }
}

extension StreamRequest where Value == CandleSeries {
  /// Candles, merged by time and revision.
  public static func candles(_ symbols: String..., interval: CandleInterval = .minute, every: Duration? = nil) -> Self {
    candles(symbols, interval: interval, every: every)
  }

  /// Candles, merged by time and revision.
  public static func candles(
    _ symbols: [String], interval: CandleInterval = .minute, every: Duration? = nil
  ) -> Self {
    Self(.candles, symbols, every: every, { if case .candles(let series) = $0 { series } else { nil } }) {
      $0.interval = interval
    }
  }
}

extension StreamRequest where Value == [FeedReport] {
  /// The connections to the exchanges.
  public static var status: Self {
    Self(.status, [""], every: nil, { if case .status(let feeds) = $0 { feeds } else { nil } })
  }
}

extension StreamRequest where Value == Payload {
  /// Streams of several kinds in one subscription.
  public static func all(_ requests: StreamRequest<Payload>...) -> Self { all(requests) }

  /// Streams of several kinds in one subscription.
  public static func all(_ requests: [StreamRequest<Payload>]) -> Self {
    Self(items: requests.flatMap(\.items)) { $0 }
  }
}
