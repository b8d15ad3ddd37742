import Bytes
import Foundation
import MarketData
import Venues

/// Wall and CPU time since it was made.
package struct ReplayClock: Sendable {
  private let wall = ReplayClock.read(CLOCK_MONOTONIC)
  private let cpu = ReplayClock.read(CLOCK_PROCESS_CPUTIME_ID)

  package init() {}
  var wallSeconds: Double { ReplayClock.read(CLOCK_MONOTONIC) - wall }
  /// Of the whole process.
  package var cpuSeconds: Double { ReplayClock.read(CLOCK_PROCESS_CPUTIME_ID) - cpu }

  private static func read(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// What a replay counts as it goes.
struct ReplayTally {
  /// Connections that are counted one by one.
  private static let connectionLimit = 1 << 16

  var recordCount = 0
  var frameBytes = 0
  var byKind: [RecordKind: Int] = [:]
  var connections: Set<Int> = []
  var first: Timestamp?
  var last: Timestamp?
  /// Names of the recording that are not replayed, and why.
  var skipped: [String: String] = [:]
  /// Symbols that the engine refused, and why.
  var failed: [String: String] = [:]
  /// Newest live trade's price and the scale it is at, by instrument.
  var lastPrices: [Int32: Decimal64] = [:]
  /// How often each book went out of sync, by instrument and cause.
  var resyncs: [Int32: [ResyncReason: Int]] = [:]
  /// Records that gaps say are missing.
  var lost = 0
  /// What symbols had counted, and checksums, when counting began.
  var before: [SymbolCounts] = []
  var checksumsBefore: [Int] = []
  var badLinesBefore = 0
  /// Requests that the recording has no answer to.
  var unanswered = 0

  mutating func note(_ record: RecordingReader.Record, bytes: Int) {
    recordCount += 1
    byKind[record.kind, default: 0] += 1
    if record.kind == .text || record.kind == .binary { frameBytes += bytes }
    if record.kind != .http, record.kind != .gap, connections.count < Self.connectionLimit {
      connections.insert(record.connection)
    }
    first = first ?? record.time
    last = record.time
  }

  mutating func note(_ changes: borrowing MarketChanges, from start: Int, market: Market) {
    for index in start..<changes.items.count {
      switch changes.items[index] {
      case .trades(let id, let range):
        lastPrices[id.rawValue] = Decimal64(
          mantissa: changes.trades[range.upperBound - 1].price, scale: market[id].instrument.priceScale)
      case .bookState(let id, .syncing(let reason?)): resyncs[id.rawValue, default: [:]][reason, default: 0] += 1
      default: break
      }
    }
  }
}

/// The result of a replay: counts, final books, rejected messages, and speed.
package struct ReplayResult: Sendable {
  package struct Level: Sendable, Equatable {
    package var price: String
    package var size: String
  }

  package struct Symbol: Sendable {
    /// The venue's own name.
    package var name: String
    package var counts: SymbolCounts
    package var checksumsOK = 0
    package var unknownDeletes = 0
    /// Nil if there was no live trade.
    package var lastTradePrice: String?
    /// The best five, best first.
    package var finalBids: [Level]
    package var finalAsks: [Level]
    package var bidLevels: Int
    package var askLevels: Int
    package var isCrossedAtEnd: Bool
    package var isLiveAtEnd: Bool
    /// Why its book is not in sync at the end, in a few words; nil if it is.
    package var outOfSyncBecause: String?
    /// How often its book went out of sync, by cause.
    package var resyncs: [ResyncReason: Int]

    /// Whether messages of its book came.
    var hasBook: Bool { counts.deltas > 0 || counts.snapshots > 0 }
  }

  /// Rejected messages whose reason is kept.
  static let exampleLimit = 3

  /// The file's name.
  package var recording: String
  package var seconds: Double
  package var records: [RecordKind: Int]
  package var connections: Int
  package var frameBytes: Int
  package var symbols: [Symbol]
  /// Names of the recording that were not replayed, and why.
  package var skipped: [String: String]
  /// Symbols that were refused, and why.
  package var failed: [String: String]
  /// Records that could not be written, as gap records say. A file that is missing or does not follow counts as one.
  package var lostRecords: Int
  /// Files that ended in the middle of a record; they were replayed up to it.
  package var cutOff: [String] = []
  /// Lines that could not be read and were left out, and what was wrong with the first.
  package var badLines = 0
  package var firstBadLine: RecordingError?
  /// Why what follows could not be read; nil if all was.
  package var stoppedBy: RecordingError?
  /// Whether the connection was closed at the end. Books are shown as they were before.
  package var isClosedAtEnd = false
  /// Messages of channels that are not used here.
  package var ignoredMessages = 0
  /// Levels left out of messages that were good otherwise.
  package var leftOutLevels = 0
  /// Rejected messages and answers by kind, without kinds that did not occur; and what was wrong with some of the
  /// newest.
  package var unreadable: [(kind: FeedError.Kind, count: Int)] = []
  package var unreadableExamples: [String] = []
  package var wallSeconds: Double
  package var cpuSeconds: Double

  package var frames: Int { (records[.text] ?? 0) + (records[.binary] ?? 0) }
  package var messagesPerSecond: Double { wallSeconds > 0 ? Double(frames) / wallSeconds : 0 }

  /// Whether no book is in sync at the end, whatever else came.
  package var isDead: Bool { !symbols.contains(where: \.isLiveAtEnd) }

  /// Whether all of it was read, understood and is in sync.
  package var isFlawless: Bool {
    stoppedBy == nil && badLines == 0 && cutOff.isEmpty && lostRecords == 0 && skipped.isEmpty && failed.isEmpty
      && unreadable.isEmpty && leftOutLevels == 0
      && symbols.allSatisfy { $0.resyncs.allSatisfy { $0.key == .disconnected } && ($0.isLiveAtEnd || !$0.hasBook) }
  }

  init(path: String, tally: ReplayTally, symbols: [Symbol], wallSeconds: Double, cpuSeconds: Double) {
    recording = path.split(separator: "/").last.map(String.init) ?? path
    seconds = Double((tally.last ?? .distantPast) - (tally.first ?? .distantPast)) / 1e6
    records = tally.byKind
    connections = tally.connections.count
    frameBytes = tally.frameBytes
    skipped = tally.skipped
    failed = tally.failed
    lostRecords = tally.lost
    self.symbols = symbols
    self.wallSeconds = wallSeconds
    self.cpuSeconds = cpuSeconds
  }
}

extension ReplayResult.Symbol {
  init(_ state: InstrumentState, _ counts: SymbolCounts, _ tally: ReplayTally) {
    let instrument = state.instrument
    func text(_ value: Int64, _ scale: UInt8) -> String {
      var buffer = ByteBuffer(capacity: 24)
      buffer.append(decimal: value, scale: scale)
      return buffer.description
    }
    func best(_ side: [PriceLevel]) -> [ReplayResult.Level] {
      side.suffix(5).reversed().map {
        .init(price: text($0.price, instrument.priceScale), size: text($0.size, instrument.sizeScale))
      }
    }
    let id = instrument.id.rawValue
    self.init(
      name: instrument.venueSymbol, counts: counts,
      checksumsOK: state.checksumsOK
        - (instrument.id.index < tally.checksumsBefore.count ? tally.checksumsBefore[instrument.id.index] : 0),
      unknownDeletes: state.book.unknownDeletes,
      lastTradePrice: tally.lastPrices[id].map { text($0.mantissa, $0.scale) },
      finalBids: best(state.book.bids), finalAsks: best(state.book.asks), bidLevels: state.book.bids.count,
      askLevels: state.book.asks.count, isCrossedAtEnd: state.book.isCrossed, isLiveAtEnd: state.bookState == .live,
      resyncs: tally.resyncs[id] ?? [:])
    outOfSyncBecause = Self.reason(state.bookState, counts)
  }

  private static func reason(_ state: BookState, _ counts: SymbolCounts) -> String? {
    switch state {
    case .live: nil
    case .syncing(let reason?): reason.description
    case .absent, .syncing(nil):
      if counts.snapshots > 0 {
        "no snapshot that fits"
      } else {
        counts.deltas > 0 ? "no snapshot came" : "no book came"
      }
    }
  }
}

extension SymbolCounts {
  mutating func add(_ other: SymbolCounts) {
    deltas += other.deltas
    snapshots += other.snapshots
    sequenceOK += other.sequenceOK
    gaps += other.gaps
    dropped += other.dropped
    bridged += other.bridged
    trades += other.trades
    backlogTrades += other.backlogTrades
    missedTrades += other.missedTrades
  }

  mutating func subtract(_ other: SymbolCounts) {
    deltas -= other.deltas
    snapshots -= other.snapshots
    sequenceOK -= other.sequenceOK
    gaps -= other.gaps
    dropped -= other.dropped
    bridged -= other.bridged
    trades -= other.trades
    backlogTrades -= other.backlogTrades
    missedTrades -= other.missedTrades
    tradeHoles -= other.tradeHoles
    foundTrades -= other.foundTrades
  }
}
