import Bytes
import Foundation

/// Reads sparklines and candles.
extension JSONScanner {
  mutating func sparkline() throws -> Sparkline {
    var line = Sparkline(symbol: "", range: .day)
    var move = SparklineMove()
    try object { key, json in
      switch key {
      case "range": line.range = SparklineRange(rawValue: try json.word())
      case "from": line.start = try json.int64()
      case "step_s": line.stepSeconds = try json.int64()
      case "covered_from": line.coveredFrom = try json.date()
      case "gaps": line.gaps = try json.gaps()
      case "points":
        try json.arrayStart()
        while try json.nextElement() {
          guard line.points.count < Sparkline.pointsLimit else { throw MessageError.tooMany(offset: json.offset) }
          line.points.append(try json.exact())
        }
      default: try json.read(&move, key)
      }
    }
    line.take(move)
    return line
  }

  /// `[{"from":…,"to":…},…]`
  private mutating func gaps() throws -> [Range<Date>] {
    var gaps: [Range<Date>] = []
    try arrayStart()
    while try nextElement() {
      guard gaps.count < Sparkline.pointsLimit else { throw MessageError.tooMany(offset: offset) }
      var from: Date?, to: Date?
      try object { key, json in
        switch key {
        case "from": from = try json.date()
        case "to": to = try json.date()
        default: try json.skipValue()
        }
      }
      if let from, let to, from < to { gaps.append(from..<to) }
    }
    return gaps
  }

  mutating func candles() throws -> [CandleSeries.Candle] {
    var candles: [CandleSeries.Candle] = []
    try object { key, json in
      guard key == "candles" else { return try json.skipValue() }
      try json.arrayStart()
      while try json.nextElement() {
        guard candles.count < CandleSeries.limit else { throw MessageError.tooMany(offset: json.offset) }
        candles.append(try json.candle())
      }
    }
    return candles
  }

  private mutating func candle() throws -> CandleSeries.Candle {
    var time: Int64?
    var open: ExactDecimal?, high: ExactDecimal?, low: ExactDecimal?, close: ExactDecimal?
    var volume: ExactDecimal?, quoteVolume: ExactDecimal?
    var trades: Int?
    var isClosed: Bool?
    var revision: Int?
    var source: CandleSource?
    try object { key, json in
      switch key {
      case "time": time = try json.int64()
      case "open": open = try json.exact()
      case "high": high = try json.exact()
      case "low": low = try json.exact()
      case "close": close = try json.exact()
      case "volume": volume = try json.exact()
      case "quote_volume": quoteVolume = try json.exact()
      case "trades": trades = Int(clamping: try json.int64())
      case "closed": isClosed = try json.bool()
      case "rev": revision = Int(clamping: try json.int64())
      case "source": source = CandleSource(rawValue: try json.word())
      default: try json.skipValue()
      }
    }
    return CandleSeries.Candle(
      open: try needed(open, "open"), high: try needed(high, "high"), low: try needed(low, "low"),
      close: try needed(close, "close"), volume: volume, quoteVolume: quoteVolume, trades: trades,
      isClosed: try needed(isClosed, "closed"), revision: try needed(revision, "rev"),
      source: try needed(source, "source"), start: try needed(time, "time"))
  }

  mutating func sparklineChange() throws -> StreamData {
    var index: Int64?, from: Int64?, price: ExactDecimal?
    var move = SparklineMove()
    try object { key, json in
      switch key {
      case "index": index = try json.int64()
      case "price": price = try json.exact()
      case "from": from = try json.int64()
      default: try json.read(&move, key)
      }
    }
    return .sparklineChange(
      index: try needed(index, "index"), price: try needed(price, "price"), from: from, move)
  }

  private mutating func read(_ move: inout SparklineMove, _ key: String) throws {
    switch key {
    case "open": move.open = try exact()
    case "change": move.change = try exact()
    case "change_pct": move.percent = try exact()
    case "trend": move.trend = try word()
    default: try skipValue()
    }
  }
}
