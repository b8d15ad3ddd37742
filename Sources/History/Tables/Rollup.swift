import GRDB
import MarketData

/// Computes coarser candles from finer ones: each when its interval has ended, and again when a finer one changes.
enum Rollup {
  /// How long after its end an interval is computed, µs: its last minute may still change, and must reach the file.
  static let delay = 5 * Microseconds.second

  /// A coarse interval of an instrument.
  struct Interval: Hashable {
    var instrument: Int64
    var resolution: Resolution
    var number: Int64
  }

  /// Records in a new file that intervals before now are computed when their candles arrive, not by `advance`.
  static func prepare(now: Timestamp, _ db: Database) throws {
    for resolution in Resolution.allCases.dropFirst() where try done(resolution, db) == nil {
      try setDone(resolution, resolution.number(of: now - delay), db)
    }
  }

  /// Computes the intervals that have ended since the last time, for all instruments. It runs in the same transaction
  /// as the candles, so that a crash leaves nothing out. O(instruments) when an interval has ended.
  static func advance(_ instruments: [Int64], now: Timestamp, _ db: Database) throws {
    for resolution in Resolution.allCases.dropFirst() {
      let end = resolution.number(of: now - delay)
      guard let until = try done(resolution, db), end > until else { continue }
      for instrument in instruments {
        try compute(instrument, resolution, until..<end, db)
      }
      try setDone(resolution, end, db)
    }
  }

  /// Computes intervals again that have been computed before; others wait for `advance`.
  static func refresh(_ intervals: Set<Interval>, _ db: Database) throws {
    for resolution in Resolution.allCases.dropFirst() {
      guard let until = try done(resolution, db) else { continue }
      let here = intervals.lazy.filter { $0.resolution == resolution && $0.number < until }
      for interval in here.sorted(by: { ($0.instrument, $0.number) < ($1.instrument, $1.number) }) {
        try compute(interval.instrument, resolution, interval.number..<(interval.number + 1), db)
      }
    }
  }

  /// The coarse intervals that depend on candles of `resolution` in `range`.
  static func intervals(
    _ instrument: Int64, touching range: Range<Timestamp>, at resolution: Resolution
  ) -> Set<Interval> {
    var result: Set<Interval> = []
    guard !range.isEmpty else { return result }
    for coarse in Resolution.allCases[(resolution.rawValue + 1)...] {
      for number in coarse.number(of: range.lowerBound)...coarse.number(of: range.upperBound - 1) {
        result.insert(Interval(instrument: instrument, resolution: coarse, number: number))
      }
    }
    return result
  }

  private static func compute(
    _ instrument: Int64, _ resolution: Resolution, _ numbers: Range<Int64>, _ db: Database
  ) throws {
    guard let finer = resolution.finer else { return }
    let range = resolution.start(of: numbers.lowerBound)..<resolution.start(of: numbers.upperBound)
    let coverage = try CoverageTable.start(instrument, finer, db)
    var parts: [StoredCandle] = []
    func finish() throws {
      guard let first = parts.first else { return }
      let number = resolution.number(of: first.start)
      let interval = resolution.start(of: number)..<resolution.start(of: number + 1)
      var quality = StoredCandle.Quality.partial
      if let coverage, coverage <= interval.lowerBound,
        try !GapTable.isOpen(instrument, interval, at: finer, db),
        parts.allSatisfy({ $0.quality != .partial })
      {
        quality = parts.allSatisfy { $0.quality == .own } ? .own : .mixed
      }
      if let candle = StoredCandle.combined(parts, start: interval.lowerBound, quality: quality) {
        try CandleTable(resolution: resolution).put(candle, instrument: instrument, isComputed: true, db)
      }
      parts.removeAll(keepingCapacity: true)
    }
    try CandleTable(resolution: finer).forEach(instrument, range, db) { candle in
      if let first = parts.first, resolution.number(of: first.start) != resolution.number(of: candle.start) {
        try finish()
      }
      parts.append(candle)
    }
    try finish()
  }

  private static func done(_ resolution: Resolution, _ db: Database) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT until FROM rollup WHERE resolution = ?"),
      arguments: [Int64(resolution.rawValue)]
    ).map { resolution.number(of: resolution.start(of: $0)) }
  }

  private static func setDone(_ resolution: Resolution, _ number: Int64, _ db: Database) throws {
    try db.cachedStatement(sql: "INSERT OR REPLACE INTO rollup (resolution, until) VALUES (?, ?)")
      .execute(arguments: [Int64(resolution.rawValue), number])
  }
}
