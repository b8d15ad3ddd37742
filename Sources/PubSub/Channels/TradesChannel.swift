import Bytes
import MarketData

/// `trades`: every execution, in order. An event channel.
enum TradesChannel {
  /// The number of trades in a snapshot, which are stored for each instrument.
  static let recent = 50
  /// The largest number of trades in one update of a rate-limited stream; when it is reached, they are published early.
  static let gatheredLimit = 500

  /// `{"trades":[…]}`
  /// - Parameter mark: the state of the trades, if it is to be told.
  static func append(
    _ trades: ArraySlice<Trade>, of instrument: Instrument, mark: ChannelMark? = nil, to out: inout ByteBuffer
  ) {
    out.append("{\"trades\":")
    appendList(trades, of: instrument, to: &out)
    mark?.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// `[…]`
  static func appendList(_ trades: ArraySlice<Trade>, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "["))
    var isFirst = true
    for trade in trades {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      append(trade, of: instrument, to: &out)
    }
    out.append(UInt8(ascii: "]"))
  }

  static func append(_ trade: Trade, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append("{\"id\":\"")
    trade.id.append(to: &out)
    out.append("\",\"price\":\"")
    out.append(decimal: trade.price, scale: instrument.priceScale)
    out.append("\",\"size\":\"")
    out.append(decimal: trade.size, scale: instrument.sizeScale)
    switch trade.side {
    case .buy: out.append("\",\"side\":\"buy\",\"time\":")
    case .sell: out.append("\",\"side\":\"sell\",\"time\":")
    }
    out.append(integer: trade.time.microseconds)
    switch trade.breakBefore {
    case .none: break
    case .gap: out.append(",\"gap\":true")
    case .renumbered: out.append(",\"gap\":true,\"renumbered\":true")
    }
    out.append(UInt8(ascii: "}"))
  }
}

/// The last trades of an instrument, oldest first; at most `TradesChannel.recent`. Allocates only at its first trade.
struct RecentTrades {
  private var ring: [Trade] = []
  /// The index of the oldest trade once the ring is full.
  private var start = 0
  /// The number of trades that were ever appended.
  private(set) var appended: UInt64 = 0

  var isEmpty: Bool { ring.isEmpty }

  mutating func append(_ trade: Trade) {
    appended &+= 1
    if ring.count < TradesChannel.recent {
      if ring.isEmpty { ring.reserveCapacity(TradesChannel.recent) }
      ring.append(trade)
    } else {
      ring[start] = trade
      start = (start + 1) % TradesChannel.recent
    }
  }

  /// The last `limit` trades, oldest first. O(limit), allocates.
  func last(_ limit: Int) -> ArraySlice<Trade> {
    (ring[start...] + ring[..<start]).suffix(limit)
  }

  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    for index in ring.indices {
      ring[index].price = ring[index].price.multipliedReportingOverflow(by: priceBy).partialValue
      ring[index].size = ring[index].size.multipliedReportingOverflow(by: sizeBy).partialValue
    }
  }
}
