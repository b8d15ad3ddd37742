import Bytes
import MarketData

/// `sparkline`: the last price of each of n equal slices of 24 h, and the newest point as it moves.
enum SparklineChannel {
  /// `"range":"24h","from":…,"step_s":900,"points":[…],"trend":"up"`, without braces. `trend` compares the ends.
  static func appendSnapshot(_ line: Sparkline, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append("\"range\":\"24h\",\"from\":")
    out.append(integer: line.from.microseconds)
    out.append(",\"step_s\":")
    out.append(integer: line.step / Microseconds.second)
    out.append(",\"points\":[")
    var isFirst = true
    for point in line.points {
      if isFirst { out.append(UInt8(ascii: "\"")) } else { out.append(",\"") }
      isFirst = false
      out.append(decimal: point, scale: instrument.priceScale)
      out.append(UInt8(ascii: "\""))
    }
    out.append(UInt8(ascii: "]"))
    if let first = line.points.first, let last = line.points.last {
      if last > first {
        out.append(",\"trend\":\"up\"")
      } else if last < first {
        out.append(",\"trend\":\"down\"")
      } else {
        out.append(",\"trend\":\"flat\"")
      }
    }
  }

  /// `{"index":95,"price":"…","from":…}`
  static func appendUpdate(_ tip: SparklineTip, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append("{\"index\":")
    out.append(integer: Int64(tip.index))
    out.append(",\"price\":\"")
    out.append(decimal: tip.price, scale: instrument.priceScale)
    out.append("\",\"from\":")
    out.append(integer: tip.from.microseconds)
    out.append(UInt8(ascii: "}"))
  }
}
