import Foundation
import MarketData

/// The last trades of an instrument as one column. Each has the length of its id, the id, the side, and price, size and
/// time with the least significant byte first.
enum LastTrades {
  /// The most trades of an instrument, and the most bytes of an id.
  static let limit = 50
  static let idLimit = 40

  static func data(_ trades: [LatestState.LastTrade]) -> Data {
    var bytes: [UInt8] = []
    for trade in trades.suffix(limit) {
      let id = Array(trade.id.utf8.prefix(idLimit))
      bytes.append(UInt8(id.count))
      bytes += id
      bytes.append(trade.isBuy ? 1 : 0)
      for value in [trade.price, trade.size, trade.time.rawValue] {
        withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
      }
    }
    return Data(bytes)
  }

  /// Empty if the bytes are not valid.
  static func trades(_ data: Data) -> [LatestState.LastTrade] {
    var rest = Array(data)[...]
    var trades: [LatestState.LastTrade] = []
    func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
      bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
    while let length = rest.first.map(Int.init) {
      guard length <= idLimit, rest.count >= length + 26, trades.count < limit else { return [] }
      let id = rest.dropFirst().prefix(length)
      let fixed = rest.dropFirst(1 + length).prefix(25)
      let values = (0..<3).map { integer(fixed.dropFirst(1 + 8 * $0).prefix(8)) }
      trades.append(
        .init(
          id: String(decoding: id, as: UTF8.self), price: values[0], size: values[1], isBuy: fixed.first == 1,
          time: StoredNumber.time(values[2])))
      rest = rest.dropFirst(26 + length)
    }
    return trades
  }
}
