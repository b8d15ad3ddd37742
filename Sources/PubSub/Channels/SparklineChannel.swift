import Bytes
import MarketData

/// `sparkline`: the last price of each of n equal slices of a range, and the newest point as it moves.
enum SparklineChannel {
  /// `"range":"24h","from":…,"step_s":900,"points":[…],"open":"…","trend":"up","change":"1.5","change_pct":"0.12",
  /// "covered_from":…,"gaps":[{"from":…,"to":…}]`, without braces. The trend and the change compare the same two
  /// prices: `open` and the last point.
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
    append(line.change, of: instrument, to: &out)
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

  /// `{"index":95,"price":"…","from":…,"open":"…","trend":"up","change":"1.5","change_pct":"0.12"}`
  static func appendUpdate(
    _ tip: SparklineTip, _ change: PriceChange?, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append("{\"index\":")
    out.append(integer: Int64(tip.index))
    out.append(",\"price\":\"")
    out.append(decimal: tip.price, scale: instrument.priceScale)
    out.append("\",\"from\":")
    out.append(integer: tip.from.microseconds)
    append(change, of: instrument, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  private static func append(_ change: PriceChange?, of instrument: Instrument, to out: inout ByteBuffer) {
    guard let change else { return }
    if let open = change.open {
      out.append(",\"open\":\"")
      out.append(decimal: open, scale: instrument.priceScale)
      out.append(UInt8(ascii: "\""))
    }
    let trend = change.trend
    out.append(trend > 0 ? ",\"trend\":\"up\"" : trend < 0 ? ",\"trend\":\"down\"" : ",\"trend\":\"flat\"")
    if let amount = change.change {
      out.append(",\"change\":\"")
      out.append(amount)
      out.append(UInt8(ascii: "\""))
    }
    if let percent = change.percent {
      out.append(",\"change_pct\":\"")
      out.append(decimal: percent, scale: WindowFigures.percentDigits)
      out.append(UInt8(ascii: "\""))
    }
  }
}
