import Alerts
import MarketData

/// Numbers of the data file, bounded where they are read: a damaged file, or one that another program wrote, must not
/// make a later sum overflow. The nearest possible number takes the place of an impossible one, so that the rest of the
/// row can be used. An id has no nearest one, which could be another's: a row without a possible id is left out.
enum StoredNumber {
  /// The highest id, number or revision: as many may still be given.
  static let countLimit: Int64 = 1 << 62

  static func time(_ value: Int64) -> Timestamp { Timestamp(clamping: value) }

  /// An id, a number or a revision: 0…`countLimit`.
  static func count(_ value: Int64) -> Int64 { min(max(value, 0), countLimit) }

  /// What a row is of; nil where it names nothing: 1…`countLimit`.
  static func id(_ value: Int64) -> Int64? { (1...countLimit).contains(value) ? value : nil }

  /// An owner of alerts; nil where it names nobody. As many again may still be given.
  static func owner(_ value: Int64) -> AlertOwner? {
    (1...Int64(Int32.max)).contains(value) ? AlertOwner(rawValue: UInt32(value)) : nil
  }

  /// Digits after the point.
  static func scale(_ value: Int64) -> UInt8 { UInt8(min(max(value, 0), 18)) }

  /// The scales of a column that joins those of prices and sizes.
  static func scales(_ value: Int64) -> (price: UInt8, size: UInt8) { (scale(value >> 8 & 31), scale(value & 31)) }

  static func trades(_ value: Int64) -> Int64 { min(max(value, 0), Candle.tradeLimit) }

  static func volume(_ value: Int128) -> Int128 { min(max(value, -Candle.volumeLimit), Candle.volumeLimit) }
}
