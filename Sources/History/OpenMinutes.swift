import Foundation
import MarketData

/// The open minutes of an instrument as one column: of each, eight integers of 64 bits, then the volume and the quote
/// volume with 128 bits, with the least significant byte first. An unknown quote volume or number of trades is −1.
enum OpenMinutes {
  /// The most minutes of an instrument.
  static let limit = Chart.openLimit
  private static let byteCount = 96

  static func data(_ minutes: [LatestState.OpenMinute]) -> Data? {
    guard !minutes.isEmpty else { return nil }
    var data = Data(capacity: limit * byteCount)
    func append(_ value: some FixedWidthInteger) {
      withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) }
    }
    for minute in minutes.suffix(limit) {
      let candle = minute.candle
      for value in [
        candle.start.rawValue, candle.open, candle.high, candle.low, candle.close, candle.trades ?? -1,
        Int64(candle.revision), minute.closeTime.rawValue,
      ] {
        append(value)
      }
      append(candle.volume)
      append(candle.quoteVolume ?? -1)
    }
    return data
  }

  /// Empty if the bytes are not valid.
  static func minutes(_ data: Data, priceScale: UInt8, sizeScale: UInt8) -> [LatestState.OpenMinute] {
    guard data.count % byteCount == 0, data.count <= limit * byteCount else { return [] }
    let bytes = Array(data)
    return stride(from: 0, to: bytes.count, by: byteCount).map { start in
      func integer<Value: FixedWidthInteger>(_ offset: Int, _ type: Value.Type) -> Value {
        bytes.withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: start + offset, as: Value.self)) }
      }
      func value(_ index: Int) -> Int64 { integer(8 * index, Int64.self) }
      let quoteVolume = integer(80, Int128.self)
      return .init(
        candle: StoredCandle(
          start: StoredNumber.time(value(0)), open: value(1), high: value(2), low: value(3), close: value(4),
          volume: StoredNumber.volume(integer(64, Int128.self)),
          quoteVolume: quoteVolume < 0 ? nil : StoredNumber.volume(quoteVolume),
          trades: value(5) < 0 ? nil : StoredNumber.trades(value(5)), priceScale: priceScale, sizeScale: sizeScale,
          quality: .partial, revision: UInt32(clamping: value(6))),
        closeTime: StoredNumber.time(value(7)))
    }
  }
}
