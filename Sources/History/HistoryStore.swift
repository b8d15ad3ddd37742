import GRDB
import MarketData
import Synchronization

/// Stores what survives a restart of the gateway in the data file: closed candles, gaps, instruments and the newest
/// trades of each.
///
/// - **It writes** closed minutes, in batches of one transaction. Coarser candles are computed from them (`Rollup`), or
///   come from a venue. `StoredCandle.Quality` decides which of two candles is kept.
/// - **It does not write** minutes without a trade: if the gateway observed an instrument and there is no candle, there
///   was no trade.
/// - **A gap** lasts from the last moment before the gateway lost an instrument to the first moment at which it had it
///   again, including the time between two runs. A venue's candles close it.
///
/// All functions wait for the disk: call them on a thread that may wait. One object writes; any number of threads read.
package final class HistoryStore: Sendable {
  /// The most candles of one instrument and resolution that one write deletes.
  private static let pruneLimit = 1_440
  /// The instruments whose old candles one write deletes.
  private static let prunedPerWrite = 8

  package let file: DataFile
  package let retention: Retention
  private let state = Mutex(State())

  private struct State {
    var ids: [String: Int64] = [:]
    /// The row of this run, and when it began.
    var run: Int64?
    var started: Timestamp?
    /// The instrument whose old candles are deleted next.
    var pruneIndex = 0
  }

  package init(file: DataFile, retention: Retention) throws(DataFileError) {
    self.file = file
    self.retention = retention
    try reload()
  }

  /// The symbols of all stored instruments.
  package var symbols: Set<String> { state.withLock { Set($0.ids.keys) } }

  /// Whether an instrument is stored. O(1).
  package func knows(_ symbol: String) -> Bool { id(symbol) != nil }

  private func reload() throws(DataFileError) {
    let ids = try file.read { try StoredInstrumentTable.all($0) }
    state.withLock { state in
      state.ids = ids
      state.run = nil
      state.started = nil
    }
  }

  /// The row of this run; nil before it has begun.
  var run: Int64? { state.withLock { $0.run } }

  /// When this run began; nil before that.
  var started: Timestamp? { state.withLock { $0.started } }

  func id(_ symbol: String) -> Int64? { state.withLock { $0.ids[symbol] } }

  // MARK: A run of the gateway

  /// Begins a run: from the end of the last one, or the last moment of which it wrote everything, every instrument has
  /// a gap that continues until the gateway observes it again. It begins a second earlier: candles close a second late.
  /// - Returns: when the last run ended; nil if there was none.
  @discardableResult
  package func begin(now: Timestamp) throws(DataFileError) -> Timestamp? {
    let (run, last) = try file.write { db -> (Int64, Timestamp?) in
      let last = try Int64.fetchOne(db, sql: "SELECT max(coalesce(ended, alive)) FROM run")
        .map(StoredNumber.time)
      if let last {
        for (symbol, id) in try StoredInstrumentTable.all(db).sorted(by: { $0.value < $1.value }) {
          // Trades that were under way then were not seen.
          try GapTable.open(id, at: min(last, now) - Chart.grace, db)
          // The known part of a minute that was open then is better than no candle.
          for minute in try LatestTable.state(id, symbol: symbol, db)?.minutes ?? [] {
            try CandleTable(resolution: .minute).putUnlessGrown(minute.candle, instrument: id, db)
          }
        }
      }
      try db.execute(sql: "DELETE FROM run WHERE id <= (SELECT max(id) FROM run) - 1000")
      try db.execute(
        sql: "INSERT INTO run (started, alive) VALUES (?, ?)", arguments: [now.rawValue, now.rawValue])
      return (db.lastInsertedRowID, last)
    }
    state.withLock { ($0.run, $0.started) = (run, now) }
    return last
  }

  /// Whether the gateway observed all of a minute.
  fileprivate static func isWhole(_ id: Int64, _ interval: Range<Timestamp>, _ db: Database) throws -> Bool {
    try CoverageTable.start(id, .minute, db).map { $0 <= interval.lowerBound } ?? false
      && !GapTable.isOpen(id, interval, at: .minute, db)
  }

  /// Ends the run.
  package func end(now: Timestamp) throws(DataFileError) {
    guard let run = state.withLock({ $0.run }) else { return }
    try file.write { db in
      try db.execute(
        sql: "UPDATE run SET alive = ?1, ended = ?1 WHERE id = ?2", arguments: [now.rawValue, run])
    }
  }

  /// Replaces the file after `.damaged` was thrown, and begins a run in the empty one.
  package func replaceDamaged(stamp: String, now: Timestamp) throws(DataFileError) -> String {
    let name = try file.replaceDamaged(stamp: stamp)
    try reload()
    try begin(now: now)
    return name
  }

  // MARK: Writing

  /// Writes a batch in one transaction: all of it or nothing. Also computes coarser candles whose interval has ended,
  /// records that the run is alive, and deletes a few expired candles.
  ///
  /// Leaves out items of an instrument that no batch has described.
  /// - Parameter complete: the time until which the batches have everything, at which a gap begins if the run is killed
  ///   after this; nil: now.
  /// - Returns: how many items were left out.
  @discardableResult
  package func write(
    _ batch: HistoryBatch, now: Timestamp, complete: Timestamp? = nil
  ) throws(DataFileError) -> Int {
    let before = state.withLock { $0 }
    let (after, ignored) = try file.write { db -> (State, Int) in
      try Rollup.prepare(now: now, db)
      var writing = Writing(db: db, ids: before.ids, now: now)
      try writing.write(batch)
      var after = before
      after.ids = writing.ids
      let ids = writing.ids.values.sorted()
      try Rollup.advance(ids, now: now, db)
      try prune(ids, &after.pruneIndex, now: now, db)
      if let run = before.run {
        let alive = min(complete ?? now, now)
        try db.cachedStatement(sql: "UPDATE run SET alive = ? WHERE id = ?")
          .execute(arguments: [alive.rawValue, run])
      }
      return (after, writing.ignored)
    }
    state.withLock { state in
      // A damaged file may have been replaced in the meantime, and with it the rows.
      guard state.run == before.run else { return }
      state = after
    }
    return ignored
  }

  private func prune(_ ids: [Int64], _ index: inout Int, now: Timestamp, _ db: Database) throws {
    for _ in 0..<min(Self.prunedPerWrite, ids.count) {
      index = index + 1 < ids.count ? index + 1 : 0
      for resolution in Resolution.allCases {
        guard let cut = retention.cut(resolution, now: now) else { continue }
        let table = CandleTable(resolution: resolution)
        // Candles that a coarser one is computed from must not be deleted before that.
        try CoverageTable.raise(ids[index], resolution, to: cut, db)
        _ = try table.removeAll(ids[index], before: cut, limit: Self.pruneLimit, db)
        if resolution == .minute { try GapTable.removeFilled(ids[index], before: cut, db) }
      }
    }
  }
}

/// One transaction's work.
private struct Writing {
  let db: Database
  var ids: [String: Int64]
  let now: Timestamp
  var ignored = 0
  /// Intervals to compute again.
  private var stale: Set<Rollup.Interval> = []

  init(db: Database, ids: [String: Int64], now: Timestamp) {
    self.db = db
    self.ids = ids
    self.now = now
  }

  mutating func write(_ batch: HistoryBatch) throws {
    for description in batch.instruments {
      ids[description.symbol] = try StoredInstrumentTable.put(
        description.instrument, as: description.symbol, now: now, db)
    }
    for observation in batch.observations {
      guard let id = id(observation.symbol) else { continue }
      if observation.isObserved {
        try CoverageTable.begin(id, at: observation.time, db)
        try GapTable.close(id, at: observation.time, db)
      } else {
        try GapTable.open(id, at: observation.time, db)
      }
    }
    for junction in batch.junctions {
      guard let id = id(junction.symbol) else { continue }
      let range = junction.start..<max(junction.start, junction.end)
      try GapTable.remove(id, in: range, db)
      stale.formUnion(Rollup.intervals(id, touching: range, at: .minute))
    }
    for minute in batch.minutes {
      guard let id = id(minute.symbol) else { continue }
      try put(minute.candle, id)
    }
    for delivery in batch.deliveries {
      guard let id = id(delivery.symbol) else { continue }
      try put(delivery, id)
    }
    for state in batch.latest {
      guard let id = id(state.symbol) else { continue }
      try LatestTable.put(state, instrument: id, db)
    }
    try Rollup.refresh(stale, db)
  }

  private mutating func id(_ symbol: String) -> Int64? {
    if let id = ids[symbol] { return id }
    ignored += 1
    return nil
  }

  private mutating func put(_ candle: StoredCandle, _ id: Int64) throws {
    var candle = candle
    let interval = candle.start..<(candle.start + Resolution.minute.length)
    if candle.quality == .own, try !HistoryStore.isWhole(id, interval, db) { candle.quality = .partial }
    try CandleTable(resolution: .minute).put(candle, instrument: id, db)
    stale.formUnion(Rollup.intervals(id, touching: interval, at: .minute))
  }

  private mutating func put(_ delivery: HistoryBatch.Delivery, _ id: Int64) throws {
    let table = CandleTable(resolution: delivery.resolution)
    for candle in delivery.candles {
      try table.put(candle, instrument: id, db)
      let interval = candle.start..<(candle.start + delivery.resolution.length)
      stale.formUnion(Rollup.intervals(id, touching: interval, at: delivery.resolution))
    }
    guard let covers = delivery.covers, !covers.isEmpty else { return }
    try GapTable.fill(id, covers, at: delivery.resolution, db)
    try CoverageTable.extend(id, covers, at: delivery.resolution, db)
    stale.formUnion(Rollup.intervals(id, touching: covers, at: delivery.resolution))
  }
}
