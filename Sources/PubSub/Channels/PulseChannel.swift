import Bytes
import MarketData

/// `pulse`: that the price moved, at most ten times a second. The first pulse of an instrument has no `previous` and so
/// no `direction` or `change_pct`.
enum PulseChannel {
  /// `{"price":"…","merged":0,"time":…,"state":"syncing","reason":"…"}`: the price did not move, but its state changed.
  static func append(
    _ price: Int64, _ mark: ChannelMark, time: Timestamp, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append("{\"price\":\"")
    out.append(decimal: price, scale: instrument.priceScale)
    out.append("\",\"merged\":0,\"time\":")
    out.append(integer: time.microseconds)
    mark.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// - Parameters:
  ///   - changePercent: the change of 24 h to the pulse's price, with two digits, if known.
  ///   - mark: the state of the price, if it is to be told.
  static func append(
    _ pulse: Pulse, changePercent: Int64?, of instrument: Instrument, mark: ChannelMark? = nil,
    to out: inout ByteBuffer
  ) {
    out.append(UInt8(ascii: "{"))
    if let previous = pulse.previous {
      if pulse.price >= previous {
        out.append("\"direction\":\"up\",\"price\":\"")
      } else {
        out.append("\"direction\":\"down\",\"price\":\"")
      }
      out.append(decimal: pulse.price, scale: instrument.priceScale)
      out.append("\",\"previous\":\"")
      out.append(decimal: previous, scale: instrument.priceScale)
      out.append("\",")
      if let change = Ratio.percent(pulse.price &- previous, of: previous, digits: 4) {
        out.append("\"change_pct\":\"")
        out.append(change)
        out.append("\",")
      }
    } else {
      out.append("\"price\":\"")
      out.append(decimal: pulse.price, scale: instrument.priceScale)
      out.append("\",")
    }
    if let changePercent {
      out.append("\"change_pct_24h\":\"")
      out.append(decimal: changePercent, scale: 2)
      out.append("\",")
    }
    out.append("\"merged\":")
    out.append(integer: Int64(pulse.merged))
    out.append(",\"time\":")
    out.append(integer: pulse.time.microseconds)
    mark?.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }
}
