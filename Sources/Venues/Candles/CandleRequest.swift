import MarketData

/// Candles that are asked of a venue: one page.
package struct CandleQuery: Sendable {
  package var instrument: Instrument
  package var interval: CandleInterval
  /// The open times that are wanted; whole intervals, at most `CandleFormat.rowLimit` of them.
  package var window: Range<Timestamp>

  package init(instrument: Instrument, interval: CandleInterval, window: Range<Timestamp>) {
    self.instrument = instrument
    self.interval = interval
    self.window = window
  }

  /// Intervals in the window.
  var count: Int64 { (window.upperBound - window.lowerBound) / interval.length }
  /// The open time of the newest interval that is wanted.
  var last: Timestamp { window.upperBound - interval.length }
}

/// A REST request for candles, to be sent to the base URL of the venue's REST API.
package struct CandleRequest: Sendable, Equatable {
  /// Path and query.
  package var target: String
  /// A JSON text that is sent with POST; nil: it is a GET.
  package var body: String?

  package init(_ target: String, body: String? = nil) {
    self.target = target
    self.body = body
  }
}

/// What a venue's answer came to.
package struct CandleAnswer: Sendable, Equatable {
  /// Closed candles of the window in the order of time, each interval at most once; none for intervals without a trade.
  package var candles: [Candle] = []
  /// Rows of other times, of the open interval included. Some venues answer with more than was asked for.
  package var outside = 0
  /// Rows that could not be read or cannot be: a high below a low, a time between two intervals.
  package var rejected = 0
  /// Whether intervals of the window without a candle had no trade. Not where rows were rejected, nor where the venue
  /// answered for another time altogether.
  package var isComplete = true

  package init() {}
}

/// Why candles could not be had.
package struct CandleError: Error, Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// Asked too often; the request may be sent again later.
    case limited
    /// The venue said no, or sent something else.
    case refused
    /// There was no answer.
    case unanswered
  }
  package var kind: Kind
  /// A few words, and the beginning of what the venue said.
  package var detail: String

  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }
}
