import Bytes
import MarketData

extension CandleFormat {
  /// Reads the answer to a request. Rows that cannot be read cost themselves alone.
  /// - Parameters:
  ///   - status: 0 if there was no answer; then `body` is the reason as text.
  ///   - now: the gateway's clock, which says what has ended.
  package func read(
    _ body: RawSpan, status: Int, to query: CandleQuery, now: Timestamp
  ) throws(CandleError) -> CandleAnswer {
    guard status == 200 else { throw Self.error(status, body) }
    var answer = CandleAnswer()
    var rows = 0
    do throws(FeedError) {
      var reader = FieldReader(body)
      try Self.descend(&reader, path[...], "candles")
      switch query.instrument.kind == .spot ? layout : contractLayout ?? layout {
      case .columns(let columns): try readColumns(&reader, columns, query, now, &answer, &rows)
      case let layout: try readRows(&reader, layout, query, now, &answer, &rows)
      }
    } catch {
      throw Self.error(status, body, error.detail)
    }
    answer.candles.sort { $0.time < $1.time }
    var unique: [Candle] = []
    unique.reserveCapacity(answer.candles.count)
    for candle in answer.candles where unique.last?.time != candle.time { unique.append(candle) }
    answer.candles = unique
    answer.isComplete = answer.rejected == 0 && (rows == 0 || answer.outside < rows)
    return answer
  }

  private static func error(_ status: Int, _ body: RawSpan, _ detail: String = "") -> CandleError {
    let text = body.withUnsafeBytes { String(decoding: $0.prefix(200), as: UTF8.self) }
    if status == 0 { return CandleError(.unanswered, text) }
    // Kraken, Bybit, KuCoin and Bitfinex say so with status 200 or 500.
    let words = [
      "Too many", "too many", "ate limit", "RATE_LIMIT", "ateLimit", "\"429000\"", "\"50011\"", ":10006", ":10028",
    ]
    let isLimited = [429, 418].contains(status) || words.contains { text.firstRange(of: $0) != nil }
    let what = status == 200 ? detail : "status \(status)"
    return CandleError(isLimited ? .limited : .refused, "\(what): \(text)")
  }

  /// Goes to where the rows stand.
  static func descend(
    _ reader: inout FieldReader, _ path: ArraySlice<Step>, _ what: StaticString
  ) throws(FeedError) {
    for step in path {
      guard reader.peek() == .object else { throw FeedError(.shape, "no object") }
      try reader.objectStart()
      var isFound = false
      search: while let key = try reader.nextKey() {
        switch step {
        case .key(let name): isFound = reader.equals(key, name)
        case .firstArray: isFound = reader.peek() == .array
        }
        if isFound { break search }
        try reader.skipValue()
      }
      if !isFound { throw FeedError(.shape, "no \(what)") }
    }
  }

  // MARK: Rows

  /// The fields of one row, as far as they have been met.
  private struct Row {
    var time: Timestamp?
    var open: Int64?
    var high: Int64?
    var low: Int64?
    var close: Int64?
    var baseVolume: Int128?
    var quoteVolume: Int128?
    var trades: Int64?
    var isClosed = true
    var isBad = false

    /// Takes a field's text, without its quotes.
    mutating func take(_ column: Column, _ text: RawSpan, _ instrument: Instrument) {
      func price() -> Int64? {
        CandleNumber.parse(text, scale: Int(instrument.priceScale)).flatMap { Int64(exactly: $0) }
      }
      func time(_ unit: Int64) -> Timestamp? {
        CandleNumber.parse(text, scale: 0).flatMap { Int64(exactly: $0) }.flatMap { Timestamp(reading: $0, unit: unit) }
      }
      func volume(_ scale: Int) -> Int128? {
        CandleNumber.parse(text, scale: scale).flatMap { (0...Candle.volumeLimit).contains($0) ? $0 : nil }
      }
      switch column {
      case .seconds: self.time = time(Microseconds.second)
      case .milliseconds: self.time = time(Microseconds.millisecond)
      case .open: open = price()
      case .high: high = price()
      case .low: low = price()
      case .close: close = price()
      case .baseVolume:
        baseVolume = volume(Int(instrument.sizeScale))
        isBad = isBad || baseVolume == nil
      case .contracts:
        let (contract, isWhole) = (instrument.contractSize, instrument.sizeScale >= instrument.contractSize.scale)
        let count = isWhole ? volume(Int(instrument.sizeScale - contract.scale)) : nil
        baseVolume = count.map { $0.multipliedReportingOverflow(by: Int128(contract.mantissa)) }
          .flatMap { !$0.overflow && $0.partialValue <= Candle.volumeLimit ? $0.partialValue : nil }
        isBad = isBad || baseVolume == nil
      case .quoteVolume:
        quoteVolume = volume(Int(instrument.priceScale) + Int(instrument.sizeScale))
        isBad = isBad || quoteVolume == nil
      case .trades:
        trades = CandleNumber.parse(text, scale: 0).flatMap { Int64(exactly: $0) }
          .flatMap { (0...Candle.tradeLimit).contains($0) ? $0 : nil }
        isBad = isBad || trades == nil
      case .closed(let word):
        isClosed =
          text.byteCount == word.utf8CodeUnitCount
          && text.withUnsafeBytes { bytes in
            (0..<bytes.count).allSatisfy { bytes[$0] == word.utf8Start[$0] }
          }
      case .other: break
      }
    }
  }

  private func readRows(
    _ reader: inout FieldReader, _ layout: Layout, _ query: CandleQuery, _ now: Timestamp,
    _ answer: inout CandleAnswer, _ rows: inout Int
  ) throws(FeedError) {
    guard reader.peek() == .array else { throw FeedError(.shape, "no array of candles") }
    try reader.arrayStart()
    while try reader.nextElement() {
      // An error in place of the rows: Bitfinex' `["error",10020,"…"]`.
      guard reader.peek() == .array || reader.peek() == .object else { throw FeedError(.shape, "no row") }
      let slice = try reader.rawValue("candle")
      var inner = reader.reader(slice)
      var row = Row()
      do throws(FeedError) {
        switch layout {
        case .array(let columns): try read(&inner, columns, &row, query.instrument)
        case .object(let columns):
          let fields = try FieldObject(&inner, "candle")
          for (name, column) in columns {
            guard var value = fields.reader(name) else { continue }
            try readField(&value, column, &row, query.instrument)
          }
        case .columns: break
        }
      } catch {
        row.isBad = true
      }
      rows += 1
      take(row, query, now, &answer)
    }
  }

  private func read(
    _ reader: inout FieldReader, _ columns: [Column], _ row: inout Row, _ instrument: Instrument
  ) throws(FeedError) {
    try reader.arrayStart()
    for column in columns {
      guard try reader.nextElement() else { throw FeedError(.shape, "a row that is too short") }
      try readField(&reader, column, &row, instrument)
    }
  }

  private func readField(
    _ reader: inout FieldReader, _ column: Column, _ row: inout Row, _ instrument: Instrument
  ) throws(FeedError) {
    guard column != .other, reader.peek() == .string || reader.peek() == .number else { return try reader.skipValue() }
    let text = try reader.name("candle")
    row.take(column, reader.text(text), instrument)
  }

  private func readColumns(
    _ reader: inout FieldReader, _ columns: [(name: StaticString, column: Column)], _ query: CandleQuery,
    _ now: Timestamp, _ answer: inout CandleAnswer, _ rows: inout Int
  ) throws(FeedError) {
    guard reader.peek() == .object else { throw FeedError(.shape, "no object of columns") }
    let fields = try FieldObject(&reader, "candles")
    var table: [Row] = []
    var lengths: Set<Int> = []
    for (name, column) in columns {
      guard var values = fields.reader(name) else { throw FeedError.missing(name, in: "candles") }
      var index = 0
      try values.arrayStart()
      while try values.nextElement() {
        if index == table.count { table.append(Row()) }
        try readField(&values, column, &table[index], query.instrument)
        index += 1
      }
      lengths.insert(index)
    }
    guard lengths.count == 1 else { throw FeedError(.shape, "columns of different lengths") }
    rows = table.count
    for row in table { take(row, query, now, &answer) }
  }

  private func take(_ row: Row, _ query: CandleQuery, _ now: Timestamp, _ answer: inout CandleAnswer) {
    guard !row.isBad, let time = row.time, let open = row.open, let high = row.high, let low = row.low,
      let close = row.close, let volume = row.baseVolume,
      low > 0, low <= min(open, close), high >= max(open, close), volume >= 0,
      query.interval.start(of: time) == time
    else {
      answer.rejected += 1
      return
    }
    let hasEnded = row.isClosed && time < Self.newest(query.interval, now: now)
    guard hasEnded, query.window.contains(time) else {
      answer.outside += 1
      return
    }
    guard volume > 0 else { return }
    answer.candles.append(
      Candle(
        instrument: query.instrument.id, interval: query.interval, time: time, open: open, high: high, low: low,
        close: close, volume: volume, quoteVolume: row.quoteVolume, trades: row.trades, source: .venue, isClosed: true))
  }
}
