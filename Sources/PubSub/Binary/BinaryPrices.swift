import Bytes
import MarketData

// The data of binary records of prices, trades and books. Each function encodes what the JSON function of the same
// channel encodes, from the same values. Differences wrap around in 64 bits, so that every value can be encoded.

extension PulseChannel {
  /// - Parameter now: the time of the record.
  static func appendBinary(
    _ price: Int64, _ mark: ChannelMark, time: Timestamp, now: Timestamp, to out: inout ByteBuffer
  ) {
    out.append(BinaryPulse.mark)
    out.append(zigzag: price)
    out.append(varint: 0)
    out.append(zigzag: now.microseconds &- time.microseconds)
    mark.appendBinary(to: &out)
  }

  static func appendBinary(
    _ pulse: Pulse, changePercent: Int64?, mark: ChannelMark?, now: Timestamp, to out: inout ByteBuffer
  ) {
    let change = pulse.previous.flatMap { Ratio.percent(pulse.price &- $0, of: $0, digits: 4) }
    var flags: UInt8 = 0
    if pulse.previous != nil { flags |= BinaryPulse.previous }
    if change != nil { flags |= BinaryPulse.change }
    if changePercent != nil { flags |= BinaryPulse.dayChange }
    if mark != nil { flags |= BinaryPulse.mark }
    out.append(flags)
    out.append(zigzag: pulse.price)
    if let previous = pulse.previous { out.append(zigzag: previous &- pulse.price) }
    if let change { out.append(zigzag: change.mantissa) }
    if let changePercent { out.append(zigzag: changePercent) }
    out.append(varint: UInt64(clamping: pulse.merged))
    out.append(zigzag: now.microseconds &- pulse.time.microseconds)
    mark?.appendBinary(to: &out)
  }

  private enum BinaryPulse {
    static let previous: UInt8 = 1
    static let change: UInt8 = 2
    static let dayChange: UInt8 = 4
    static let mark: UInt8 = 8
  }
}

extension QuoteChannel {
  static func appendBinarySyncing(_ reason: String, time: Timestamp, now: Timestamp, to out: inout ByteBuffer) {
    out.append(bits: 0)
    out.append(bits: 0)
    out.append(zigzag: now.microseconds &- time.microseconds)
    ChannelMark.appendSyncing(reason, to: &out)
  }

  /// A side of size 0 has no price.
  static func appendBinary(_ quote: Quote, now: Timestamp, to out: inout ByteBuffer) {
    out.append(bits: quote.bidSize)
    if quote.bidSize != 0 { out.append(zigzag: quote.bid) }
    out.append(bits: quote.askSize)
    if quote.askSize != 0 { out.append(zigzag: quote.bidSize != 0 ? quote.ask &- quote.bid : quote.ask) }
    out.append(zigzag: now.microseconds &- quote.time.microseconds)
  }
}

extension TradesChannel {
  static func appendBinary(
    _ trades: ArraySlice<Trade>, mark: ChannelMark? = nil, now: Timestamp, to out: inout ByteBuffer
  ) {
    var (number, price, time): (UInt64, Int64, Int64) = (0, 0, now.microseconds)
    var index = trades.startIndex
    while index < trades.endIndex {
      // A run of trades with the same flags.
      let flags = binaryFlags(of: trades[index])
      var end = index + 1
      while end < trades.endIndex, binaryFlags(of: trades[end]) == flags { end += 1 }
      out.append(varint: UInt64(end - index) << 5 | UInt64(flags))
      for trade in trades[index..<end] {
        if flags & 2 != 0, let own = trade.id.number {
          out.append(zigzag: Int64(bitPattern: own &- number))
          number = own
        } else {
          let start = out.count
          // Ids have at most 40 bytes, so their length is one.
          out.append(0 as UInt8)
          trade.id.append(to: &out)
          let length = UInt8(out.count - start - 1)
          out.unsafeMutableBytes[start] = length
        }
        out.append(zigzag: trade.price &- price)
        out.append(bits: trade.size)
        out.append(zigzag: trade.time.microseconds &- time)
        (price, time) = (trade.price, trade.time.microseconds)
      }
      index = end
    }
    guard let mark else { return }
    out.append(varint: 0)
    mark.appendBinary(to: &out)
  }

  private static func binaryFlags(of trade: Trade) -> UInt8 {
    var flags: UInt8 = trade.side == .sell ? 1 : 0
    // An id that is a number, written as one.
    if let number = trade.id.number, TradeID(number) == trade.id { flags |= 2 }
    switch trade.breakBefore {
    case .none: break
    case .gap: flags |= 4
    case .renumbered: flags |= 8
    }
    return trade.isLate ? flags | 16 : flags
  }

  static func appendBinary(_ hole: TradeHole, isEnd: Bool, now: Timestamp, to out: inout ByteBuffer) {
    // No trades, no mark.
    out.append(varint: 0)
    out.append(0 as UInt8)
    out.append((isEnd ? 2 : 1) as UInt8)
    out.append(zigzag: hole.first)
    out.append(zigzag: hole.last &- hole.first)
    if isEnd {
      out.append(zigzag: hole.found)
      out.append(zigzag: hole.missing ?? 0)
    } else {
      out.append((hole.count == nil ? 0 : 1) | (hole.isSearched ? 2 : 0) as UInt8)
      if let count = hole.count { out.append(zigzag: count) }
    }
    out.append(zigzag: hole.from.microseconds &- now.microseconds)
    out.append(zigzag: hole.to.microseconds &- hole.from.microseconds)
  }
}

extension BookChannel {
  private static let syncing: UInt8 = 1
  private static let spread: UInt8 = 2
  private static let members: UInt8 = 4

  static func appendBinarySyncing(
    _ reason: String, members: String, time: Timestamp, now: Timestamp, to out: inout ByteBuffer
  ) {
    out.append(syncing | (members.isEmpty ? 0 : Self.members))
    out.append(varint: 0)
    out.append(varint: 0)
    out.append(zigzag: now.microseconds &- time.microseconds)
    out.append(binary: reason)
    if !members.isEmpty { out.append(binary: members) }
  }

  /// A snapshot or an update.
  /// - Parameters:
  ///   - spread: in percent with four digits, if the message has it.
  ///   - members: of a composite, as JSON fields with a comma before each; empty: none.
  static func appendBinary(
    bids: [PriceLevel], asks: [PriceLevel], spread: Int64? = nil, members: String, time: Timestamp, now: Timestamp,
    to out: inout ByteBuffer
  ) {
    out.append((spread == nil ? 0 : Self.spread) | (members.isEmpty ? 0 : Self.members))
    appendBinary(bids, after: 0, to: &out)
    appendBinary(asks, after: bids.first?.price ?? 0, to: &out)
    out.append(zigzag: now.microseconds &- time.microseconds)
    if let spread { out.append(zigzag: spread) }
    if !members.isEmpty { out.append(binary: members) }
  }

  private static func appendBinary(_ levels: [PriceLevel], after first: Int64, to out: inout ByteBuffer) {
    out.append(varint: UInt64(levels.count))
    var previous = first
    for level in levels {
      out.append(zigzag: level.price &- previous)
      out.append(bits: level.size)
      previous = level.price
    }
  }
}
