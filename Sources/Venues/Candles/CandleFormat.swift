import Bytes
import MarketData

/// How a venue's REST API is asked for candles, and what its answers look like. Sans-IO, a value per venue.
///
/// The rules for all venues:
/// - A page is a window of at most `rowLimit` intervals with both ends given, so that nothing depends on which rows a
///   venue drops where there are too many.
/// - Of an answer, what lies outside the window goes, and so does the interval that is still open: some venues send
///   more than was asked for, some answer for another time without a word.
/// - Rows with a volume of zero go, too: where nothing was traded there is no candle, whether the venue fills such
///   intervals or not.
package struct CandleFormat: Sendable {
  /// A field of a row.
  enum Column: Sendable, Equatable {
    case seconds, milliseconds, open, high, low, close, baseVolume, quoteVolume, trades
    /// The volume in contracts.
    case contracts
    /// A text that says whether the interval has ended: this one, if it has.
    case closed(StaticString)
    case other

    static func == (a: Column, b: Column) -> Bool { "\(a)" == "\(b)" }
  }

  /// What a row is.
  enum Layout: Sendable {
    /// An array with these fields in this order, and any number of others after them.
    case array([Column])
    /// An object with these fields and any others.
    case object([(name: StaticString, column: Column)])
    /// Not rows but columns: arrays of the same length in one object.
    case columns([(name: StaticString, column: Column)])
  }

  /// Where the rows stand in an answer.
  enum Step: Sendable {
    case key(StaticString)
    /// The first field that holds an array: its name is the market's.
    case firstArray
  }

  /// What the venue calls each interval; an interval that it does not have, or begins at another hour than UTC
  /// midnight, is missing.
  let names: [CandleInterval: String]
  /// Intervals in one page.
  package let rowLimit: Int
  /// The least time between two requests from one address, µs: at most half of what the venue allows, since books and
  /// lists are asked for, too.
  package let pace: Int64
  /// How many of the newest intervals there are; nil: all since the listing.
  var reach: @Sendable (CandleInterval) -> Int64? = { _ in nil }
  let path: [Step]
  let layout: Layout
  /// Of a contract, where its rows are other ones.
  var contractLayout: Layout?
  let spell: @Sendable (_ query: CandleQuery, _ name: String) -> CandleRequest

  /// Bytes of an answer that are accepted.
  package static let bodyLimit = 4 << 20
  /// How long after its end an interval counts as closed, µs: venues correct the newest candle for a moment.
  static let settling = 5 * Microseconds.second

  /// Whether the venue has candles of this length.
  package func has(_ interval: CandleInterval) -> Bool { names[interval] != nil }

  /// The oldest open time that the venue answers for; nil: any.
  package func oldest(_ interval: CandleInterval, now: Timestamp) -> Timestamp? {
    // One less, as time passes between the request and its answer.
    reach(interval).map { interval.start(of: now) - ($0 - 1) * interval.length }
  }

  /// When the newest interval that can be asked for has ended.
  package static func newest(_ interval: CandleInterval, now: Timestamp) -> Timestamp {
    interval.start(of: now - settling)
  }

  /// Precondition: the venue has the interval, and the window is of 1 to `rowLimit` whole intervals.
  package func request(_ query: CandleQuery) -> CandleRequest {
    guard let name = names[query.interval] else { preconditionFailure("the venue has no \(query.interval.name)") }
    precondition((1...Int64(rowLimit)).contains(query.count), "a page is 1 to \(rowLimit) intervals")
    return spell(query, name)
  }

  /// The windows to ask for so that `range` is covered, the newest first; empty where the venue has nothing of it.
  package func pages(_ range: Range<Timestamp>, _ interval: CandleInterval, now: Timestamp) -> [Range<Timestamp>] {
    let start = interval.start(of: max(range.lowerBound, oldest(interval, now: now) ?? range.lowerBound))
    var end = min(
      interval.start(of: range.upperBound + (interval.length - 1)), Self.newest(interval, now: now))
    var pages: [Range<Timestamp>] = []
    while end > start {
      let page = max(start, end - Int64(rowLimit) * interval.length)..<end
      pages.append(page)
      end = page.lowerBound
    }
    return pages
  }
}
