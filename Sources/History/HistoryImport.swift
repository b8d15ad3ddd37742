import Foundation
import MarketData

/// Imports lines of text into a store, in transactions of some thousand candles.
package struct HistoryImport {
  /// The candles of one transaction.
  private static let batchSize = 5_000
  /// The most problems that are reported.
  private static let problemLimit = 20

  private let store: HistoryStore
  private let now: Timestamp
  private var columns = HistoryText.columns
  private var waiting: [String: [Resolution: [StoredCandle]]] = [:]
  private var waitingCount = 0
  private var instruments: [String: Instrument] = [:]
  /// The number of lines that are neither empty nor a header.
  package private(set) var lines = 0
  package private(set) var taken = 0
  /// The problems of the first lines that were left out.
  package private(set) var problems: [String] = []

  package init(store: HistoryStore, now: Timestamp) {
    self.store = store
    self.now = now
  }

  /// Takes one line of CSV, its header included, or NDJSON.
  package mutating func take(_ line: String) throws(DataFileError) {
    let line = line.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !line.isEmpty else { return }
    if line.hasPrefix("symbol,") {
      columns = line.split(separator: ",").map(String.init)
      return
    }
    lines += 1
    guard let fields = HistoryText.fields(line, columns: columns), let symbol = fields["symbol"],
      let resolution = fields["interval"].flatMap({ Resolution(name: $0) })
    else { return note("its columns are not \(HistoryText.header)") }
    guard let instrument = try instrument(symbol) else {
      return note("\(symbol) is unknown: a gateway must follow it first")
    }
    switch HistoryText.candle(fields, priceScale: instrument.priceScale, sizeScale: instrument.sizeScale) {
    case .failure(let problem): note("\(problem.field) is missing or not valid")
    case .success(let candle):
      guard resolution.start(of: resolution.number(of: candle.start)) == candle.start else {
        return note("no \(resolution.name) candle begins at \(HistoryText.time(candle.start))")
      }
      waiting[symbol, default: [:]][resolution, default: []].append(candle)
      waitingCount += 1
      taken += 1
      if waitingCount >= Self.batchSize { try flush() }
    }
  }

  /// Writes the waiting candles.
  package mutating func finish() throws(DataFileError) { try flush() }

  private mutating func instrument(_ symbol: String) throws(DataFileError) -> Instrument? {
    if let known = instruments[symbol] { return known }
    let instrument = try store.instrument(symbol)
    instruments[symbol] = instrument
    return instrument
  }

  private mutating func flush() throws(DataFileError) {
    var batch = HistoryBatch()
    for (symbol, byResolution) in waiting.sorted(by: { $0.key < $1.key }) {
      for (resolution, candles) in byResolution.sorted(by: { $0.key < $1.key }) {
        batch.deliveries.append(.init(symbol: symbol, resolution: resolution, candles: candles, covers: nil))
      }
    }
    waiting = [:]
    waitingCount = 0
    if !batch.isEmpty { try store.write(batch, now: now) }
  }

  private mutating func note(_ problem: String) {
    if problems.count < Self.problemLimit { problems.append("line \(lines): \(problem)") }
  }
}
