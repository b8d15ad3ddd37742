import Bytes
import MarketData
import Venues

/// Writes trades, or the best bid and ask, of recordings as CSV or NDJSON: numbers as the venue's digits, times as
/// ISO 8601.
package final class RecordingExport {
  package enum Subject: String, Sendable, CaseIterable { case trades, top }
  package enum Format: String, Sendable, CaseIterable { case csv, ndjson }

  private struct Top: Equatable {
    var bid: PriceLevel?
    var ask: PriceLevel?
    var priceScale: UInt8
    var sizeScale: UInt8
  }

  private let subject: Subject
  private let format: Format
  private let symbols: Set<String>
  private let output: (borrowing ByteBuffer) throws(RecordingError) -> Void
  private var line = ByteBuffer(capacity: 512)
  /// By symbol: what was last written.
  private var tops: [String: Top] = [:]
  /// Lines written, the header not among them.
  package private(set) var count = 0

  /// - Parameters:
  ///   - symbols: the gateway's symbols; empty for all.
  ///   - output: takes the lines, with their breaks.
  package init(
    _ subject: Subject, _ format: Format, symbols: Set<String> = [],
    output: @escaping (borrowing ByteBuffer) throws(RecordingError) -> Void
  ) {
    self.subject = subject
    self.format = format
    self.symbols = symbols
    self.output = output
  }

  private var columns: [StaticString] {
    switch subject {
    case .trades: ["received", "time", "symbol", "id", "price", "size", "side"]
    case .top: ["received", "time", "symbol", "bid", "bid_size", "ask", "ask_size"]
    }
  }

  /// Writes the header of CSV.
  package func begin() throws(RecordingError) {
    guard format == .csv else { return }
    line.removeAll()
    for (index, column) in columns.enumerated() {
      if index > 0 { line.append(",") }
      line.append(column)
    }
    line.append("\n")
    try output(line)
  }

  /// Writes what a replayed record brought.
  package func take(_ replayer: Replayer, at now: Timestamp) throws(RecordingError) {
    let pipeline = replayer.pipeline
    for index in pipeline.changes.items.indices {
      switch (subject, pipeline.changes.items[index]) {
      case (.trades, .trades(let id, let range)):
        let instrument = pipeline.market[id].instrument
        guard isWanted(instrument) else { continue }
        for position in range { try write(pipeline.changes.trades[position], of: instrument, at: now) }
      case (.top, .bookDelta(let id, _, _, _)), (.top, .bookSnapshot(let id)), (.top, .bookState(let id, _)):
        try writeTop(of: pipeline.market[id], at: now)
      default: break
      }
    }
  }

  private func isWanted(_ instrument: Instrument) -> Bool { symbols.isEmpty || symbols.contains(instrument.symbol) }

  private func write(_ trade: Trade, of instrument: Instrument, at now: Timestamp) throws(RecordingError) {
    begin(instrument, trade.time, now)
    text(3, trade.id.text)
    number(4, trade.price, instrument.priceScale)
    number(5, trade.size, instrument.sizeScale)
    text(6, trade.side == .buy ? "buy" : "sell")
    try end()
  }

  /// Writes a book's best prices if they changed; a book that is out of sync has none.
  private func writeTop(of state: InstrumentState, at now: Timestamp) throws(RecordingError) {
    let instrument = state.instrument
    guard isWanted(instrument), state.bookState != .absent else { return }
    let isLive = state.bookState == .live
    let top = Top(
      bid: isLive ? state.book.bestBid : nil, ask: isLive ? state.book.bestAsk : nil,
      priceScale: instrument.priceScale, sizeScale: instrument.sizeScale)
    guard tops[instrument.symbol] != top else { return }
    tops[instrument.symbol] = top
    begin(instrument, state.bookTime, now)
    for (column, level) in [(3, top.bid), (5, top.ask)] {
      if let level {
        number(column, level.price, instrument.priceScale)
        number(column + 1, level.size, instrument.sizeScale)
      } else {
        nothing(column)
        nothing(column + 1)
      }
    }
    try end()
  }

  // MARK: Lines

  private func begin(_ instrument: Instrument, _ time: Timestamp, _ now: Timestamp) {
    line.removeAll()
    if format == .ndjson { line.append("{") }
    text(0, RecordingTime.text(now))
    if time == .distantPast { nothing(1) } else { text(1, RecordingTime.text(time)) }
    text(2, instrument.symbol)
  }

  private func end() throws(RecordingError) {
    line.append(format == .ndjson ? "}\n" : "\n")
    count += 1
    try output(line)
  }

  private func key(_ column: Int) {
    if column > 0 { line.append(",") }
    guard format == .ndjson else { return }
    line.append("\"")
    line.append(columns[column])
    line.append("\":")
  }

  private func text(_ column: Int, _ value: String) {
    key(column)
    if format == .ndjson {
      line.append(json: value)
    } else if value.utf8.contains(where: { $0 == 0x22 || $0 == 0x2C || $0 < 0x20 }) {
      line.append("\"")
      for byte in value.utf8 {
        if byte == 0x22 { line.append(byte) }
        line.append(byte)
      }
      line.append("\"")
    } else {
      line.append(value)
    }
  }

  /// In quotes in JSON, so that no reader rounds it.
  private func number(_ column: Int, _ value: Int64, _ scale: UInt8) {
    key(column)
    if format == .ndjson { line.append("\"") }
    line.append(decimal: value, scale: scale)
    if format == .ndjson { line.append("\"") }
  }

  private func nothing(_ column: Int) {
    key(column)
    if format == .ndjson { line.append("null") }
  }
}
