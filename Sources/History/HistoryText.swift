import Foundation
import MarketData

/// Candles as lines of text, for export and import.
package enum HistoryText {
  package enum Format: String, Sendable { case csv, ndjson }

  /// The columns of CSV, which are the fields of NDJSON, too. Times are RFC 3339, numbers exact decimals; unknown
  /// values are empty or absent.
  package static let columns = [
    "symbol", "interval", "time", "open", "high", "low", "close", "volume", "quote_volume", "trades", "source",
  ]
  package static var header: String { columns.joined(separator: ",") }

  /// One candle, without a line feed.
  package static func line(
    _ symbol: String, _ resolution: Resolution, _ candle: StoredCandle, _ format: Format
  ) -> String {
    let price = Int(candle.priceScale)
    let size = Int(candle.sizeScale)
    let values: [String?] = [
      symbol, resolution.name, time(candle.start), decimal(Int128(candle.open), price),
      decimal(Int128(candle.high), price), decimal(Int128(candle.low), price), decimal(Int128(candle.close), price),
      decimal(candle.volume, size), candle.quoteVolume.map { decimal($0, price + size) }, candle.trades.map { "\($0)" },
      candle.quality.name,
    ]
    switch format {
    case .csv: return values.map { $0 ?? "" }.joined(separator: ",")
    case .ndjson:
      let fields = zip(columns, values).compactMap { column, value in
        value.map { column == "trades" ? "\"\(column)\":\($0)" : "\"\(column)\":\"\($0)\"" }
      }
      return "{\(fields.joined(separator: ","))}"
    }
  }

  /// The fields of a line by column; nil if it has other columns.
  package static func fields(_ line: String, columns: [String]) -> [String: String]? {
    if line.hasPrefix("{") {
      guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else { return nil }
      return object.compactMapValues { value in
        (value as? String) ?? (value as? NSNumber)?.stringValue
      }
    }
    let values = line.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingCharacters(in: .whitespacesAndNewlines)
    }
    guard values.count == columns.count else { return nil }
    return Dictionary(zip(columns, values)) { first, _ in first }.filter { !$0.value.isEmpty }
  }

  /// The candle of such fields at the scales of its instrument; the wrong field if they do not make one.
  package static func candle(
    _ fields: [String: String], priceScale: UInt8, sizeScale: UInt8
  ) -> Result<StoredCandle, Problem> {
    var missing = ""
    func number(_ name: String, _ scale: Int) -> Int128? {
      guard let text = fields[name], let value = parse(text, scale) else {
        missing = name
        return nil
      }
      return value
    }
    func price(_ name: String) -> Int64? { number(name, Int(priceScale)).flatMap { Int64(exactly: $0) } }
    guard let text = fields["time"], let start = timestamp(text) else { return .failure(Problem("time")) }
    guard let open = price("open"), let high = price("high"), let low = price("low"), let close = price("close"),
      let volume = number("volume", Int(sizeScale))
    else { return .failure(Problem(missing.isEmpty ? "price" : missing)) }
    guard low > 0, low <= min(open, close), high >= max(open, close), volume >= 0 else {
      return .failure(Problem("low, high or volume"))
    }
    let quote = fields["quote_volume"].flatMap { parse($0, Int(priceScale) + Int(sizeScale)) }
    guard volume <= Candle.volumeLimit, quote ?? 0 <= Candle.volumeLimit else { return .failure(Problem("volume")) }
    let trades = fields["trades"].flatMap { Int64($0) }
    guard (0...Candle.tradeLimit).contains(trades ?? 0) else { return .failure(Problem("trades")) }
    return .success(
      StoredCandle(
        start: start, open: open, high: high, low: low, close: close, volume: volume, quoteVolume: quote,
        trades: trades, priceScale: priceScale, sizeScale: sizeScale,
        quality: fields["source"].flatMap { StoredCandle.Quality(name: $0) } ?? .venue))
  }

  /// The wrong field of a line.
  package struct Problem: Error, Equatable {
    package let field: String
    init(_ field: String) { self.field = field }
  }

  // MARK: Values

  /// `value` × 10^-`scale`.
  static func decimal(_ value: Int128, _ scale: Int) -> String {
    var digits = String(value.magnitude)
    if digits.count <= scale { digits = String(repeating: "0", count: scale - digits.count + 1) + digits }
    let sign = value < 0 ? "-" : ""
    return scale == 0 ? sign + digits : "\(sign)\(digits.dropLast(scale)).\(digits.suffix(scale))"
  }

  /// The number in units of 10^-`scale`; nil if the text is not a plain decimal, or has more digits.
  static func parse(_ text: String, _ scale: Int) -> Int128? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0 &- 48 < 10 } }) else {
      return nil
    }
    var fraction = parts.count == 2 ? String(parts[1]) : ""
    while fraction.count > scale, fraction.last == "0" { fraction.removeLast() }
    guard fraction.count <= scale else { return nil }
    return Int128(parts[0] + fraction + String(repeating: "0", count: scale - fraction.count))
  }

  /// `2026-11-22T19:05:00Z`.
  package static func time(_ time: Timestamp) -> String {
    Date(timeIntervalSince1970: Double(time.microseconds / Microseconds.second)).formatted(.iso8601)
  }

  package static func timestamp(_ text: String) -> Timestamp? {
    guard let date = try? Date(text, strategy: .iso8601) else { return nil }
    return Int64(exactly: date.timeIntervalSince1970.rounded(.down)).flatMap {
      Timestamp(reading: $0, unit: Microseconds.second)
    }
  }
}
