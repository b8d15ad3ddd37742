import Bytes
import MarketData

/// `candles`: the last candles of one interval, and each that changes. A closed one changes again only with a higher
/// `rev`.
enum CandlesChannel {
  /// The approximate size of a candle on the wire.
  static let bytes = 220

  /// `{"interval":"1m","candles":[…]}`, in order of time, except those that late trades changed.
  static func append(
    _ candles: ArraySlice<Candle>, _ interval: CandleInterval, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append(UInt8(ascii: "{"))
    appendFields(candles, interval, of: instrument, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// The same without braces.
  static func appendFields(
    _ candles: ArraySlice<Candle>, _ interval: CandleInterval, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append("\"interval\":\"")
    out.append(interval.name)
    out.append("\",\"candles\":[")
    var isFirst = true
    for candle in candles {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      append(candle, of: instrument, to: &out)
    }
    out.append(UInt8(ascii: "]"))
  }

  private static func append(_ candle: Candle, of instrument: Instrument, to out: inout ByteBuffer) {
    let sizeScale = Int(instrument.sizeScale)
    out.append("{\"time\":")
    out.append(integer: candle.time.microseconds)
    append(candle.open, named: "open", instrument, to: &out)
    append(candle.high, named: "high", instrument, to: &out)
    append(candle.low, named: "low", instrument, to: &out)
    append(candle.close, named: "close", instrument, to: &out)
    if let volume = Ratio.decimal(candle.volume, scale: sizeScale, digits: sizeScale) {
      append(volume, named: "volume", to: &out)
    }
    if let sum = candle.quoteVolume,
      let quoteVolume = Ratio.decimal(
        sum, scale: Int(instrument.priceScale) + sizeScale, digits: WindowFigures.quoteVolumeDigits)
    {
      append(quoteVolume, named: "quote_volume", to: &out)
    }
    if let trades = candle.trades {
      out.append(",\"trades\":")
      out.append(integer: trades)
    }
    out.append(candle.isClosed ? ",\"closed\":true,\"rev\":" : ",\"closed\":false,\"rev\":")
    out.append(integer: UInt64(candle.rev))
    out.append(",\"source\":\"")
    out.append(candle.source.name)
    out.append("\"}")
  }

  private static func append(
    _ price: Int64, named name: StaticString, _ instrument: Instrument, to out: inout ByteBuffer
  ) {
    append(Decimal64(mantissa: price, scale: instrument.priceScale), named: name, to: &out)
  }

  private static func append(_ value: Decimal64, named name: StaticString, to out: inout ByteBuffer) {
    out.append(",\"")
    out.append(name)
    out.append("\":\"")
    out.append(value)
    out.append(UInt8(ascii: "\""))
  }
}
