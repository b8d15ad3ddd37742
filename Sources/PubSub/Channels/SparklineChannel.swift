import Bytes
import MarketData

/// `sparkline`: the last price of each of n equal slices of a range, and the newest point as it moves.
enum SparklineChannel {
  /// `"range":"24h","from":…,"step_s":900,"points":[…],"trend":"up","change":"1.5","change_pct":"0.12","covered_from":…,
  /// "gaps":[{"from":…,"to":…}]`, without braces. The trend and the change compare the same two points: the ends.
  static func appendSnapshot(_ line: Sparkline, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append("\"range\":\"")
    out.append(line.range.name)
    out.append("\",\"from\":")
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
    if let change = line.change, let first = line.points.first {
      out.append(change > 0 ? ",\"trend\":\"up\"" : change < 0 ? ",\"trend\":\"down\"" : ",\"trend\":\"flat\"")
      out.append(",\"change\":\"")
      out.append(decimal: change, scale: instrument.priceScale)
      out.append(UInt8(ascii: "\""))
      if let percent = Ratio.percent(change, of: first, digits: 2) {
        out.append(",\"change_pct\":\"")
        out.append(percent)
        out.append(UInt8(ascii: "\""))
      }
    }
    if let coveredFrom = line.coveredFrom {
      out.append(",\"covered_from\":")
      out.append(integer: coveredFrom.microseconds)
    }
    out.append(",\"gaps\":[")
    for (index, gap) in line.gaps.enumerated() {
      out.append(index == 0 ? "{\"from\":" : ",{\"from\":")
      out.append(integer: gap.from.microseconds)
      out.append(",\"to\":")
      out.append(integer: gap.to.microseconds)
      out.append(UInt8(ascii: "}"))
    }
    out.append(UInt8(ascii: "]"))
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
