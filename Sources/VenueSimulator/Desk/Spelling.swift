import Bytes
import MarketData

/// How a venue prints numbers.
enum Spelling: Sendable {
  /// `0.0100`
  case bare
  /// `"0.0100"`
  case quoted
  /// `"0.01"`
  case shortest
  /// `0.01`, and `1.1e-7`: as JavaScript does.
  case script
  /// `1.0e-2` or `0.01`, whichever is shorter, with a digit after the point.
  case float
  /// `"0.0100000"`: three zeros more than there are digits.
  case padded
  /// `"0.01"`, and `"84143.0"`: with a digit after the point.
  case pointed

  func of(_ state: InstrumentMarket) -> Speller { Speller(spelling: self, state: state) }
}

/// A number, and how it is printed.
struct Spelled {
  let value: Int64
  let scale: UInt8
  let spelling: Spelling

  func append(to out: inout ByteBuffer) {
    switch spelling {
    case .bare: out.append(decimal: value, scale: scale)
    case .quoted: out.append(quoted: value, scale: scale)
    case .shortest: out.append(shortest: value, scale: scale)
    case .script: out.append(script: value, scale: scale)
    case .float: out.append(float: value, scale: scale)
    case .padded:
      out.append("\"")
      out.append(decimal: value, scale: scale)
      out.append(scale > 0 ? "000\"" : ".000\"")
    case .pointed: out.append(pointed: value, scale: scale)
    }
  }
}

/// Prints what there is to say of one instrument as its venue does.
struct Speller {
  let spelling: Spelling
  let state: InstrumentMarket

  var instrument: SimulatedInstrument { state.instrument }
  /// The venue's name for it.
  var name: String { instrument.venueSymbol }
  var base: String { instrument.base }
  var quote: String { instrument.quote }

  func price(_ value: Int64) -> Spelled { number(value, instrument.priceScale) }
  func size(_ value: Int64) -> Spelled { number(value, instrument.sizeScale) }
  func number(_ value: Int64, _ scale: UInt8) -> Spelled { Spelled(value: value, scale: scale, spelling: spelling) }
  func number(_ value: Decimal64) -> Spelled { number(value.mantissa, value.scale) }

  var tick: Spelled { price(instrument.tick) }
  var lot: Spelled { size(instrument.lot) }
  var minimum: Spelled { size(instrument.minimumSize) }

  // MARK: - The best offers; 0 where a side is empty

  var bid: Spelled { price(state.book.bestBid?.price ?? 0) }
  var bidSize: Spelled { size(state.book.bestBid?.size ?? 0) }
  var ask: Spelled { price(state.book.bestAsk?.price ?? 0) }
  var askSize: Spelled { size(state.book.bestAsk?.size ?? 0) }

  // MARK: - The last 24 h

  var open: Spelled { price(state.day.open) }
  var high: Spelled { price(state.day.high) }
  var low: Spelled { price(state.day.low) }
  var last: Spelled { price(state.day.last) }
  var vwap: Spelled { price(state.day.vwap) }
  /// What the price has risen: in quote units, as a part with so many digits, and in percent with so many.
  var change: Spelled { price(state.day.last - state.day.open) }
  func rise(_ digits: UInt8) -> Spelled { number(state.day.rise(in: Int64(DecimalText.power(digits))), digits) }
  func percent(_ digits: UInt8) -> Spelled { number(state.day.rise(in: Int64(DecimalText.power(digits + 2))), digits) }
  var volume: Spelled { size(state.day.volume) }
  /// In quote units, with eight digits at most.
  var quoteVolume: Spelled { number(state.quoteVolume) }

  /// `[[PRICE,SIZE],…]`, with what `end` says behind a size.
  func pairs(_ levels: some Sequence<PriceLevel>, end: (PriceLevel) -> StaticString = { _ in "" }) -> JSONText {
    let (prices, sizes) = (instrument.priceScale, instrument.sizeScale)
    return .with { out in
      out.append("[")
      out.append(separated: levels) { level, out in
        out.append("[")
        Spelled(value: level.price, scale: prices, spelling: spelling).append(to: &out)
        out.append(",")
        Spelled(value: level.size, scale: sizes, spelling: spelling).append(to: &out)
        out.append(end(level))
        out.append("]")
      }
      out.append("]")
    }
  }
}

/// One bar of an answer, and how its venue prints it.
struct SpelledCandle {
  let candle: SimulatedCandle
  let i: Speller

  /// When it opens, since 1970.
  var seconds: Int64 { candle.start.rawValue / Microseconds.second }
  var milliseconds: Int64 { candle.start.rawValue / Microseconds.millisecond }
  /// Of its end, less one: `1788081179999`.
  var lastMillisecond: Int64 { (candle.start.rawValue + candle.interval) / Microseconds.millisecond - 1 }
  var isClosed: Bool { candle.isClosed }
  var trades: Int64 { candle.bar.trades }
  var open: Spelled { i.price(candle.bar.open) }
  var high: Spelled { i.price(candle.bar.high) }
  var low: Spelled { i.price(candle.bar.low) }
  var close: Spelled { i.price(candle.bar.close) }
  /// Open, high, low and close with commas between: the order of most venues.
  var prices: JSONText { "\(open),\(high),\(low),\(close)" }
  var vwap: Spelled { i.price(candle.vwap) }
  var volume: Spelled { i.size(candle.bar.volume) }
  /// In quote units, with eight digits at most.
  var turnover: Spelled { i.number(i.instrument.quoteUnits(candle.bar.turnover)) }
  /// With half of the volume and of the turnover.
  var half: SpelledCandle {
    var half = candle
    half.bar.volume /= 2
    half.bar.turnover /= 2
    return SpelledCandle(candle: half, i: i)
  }
}

extension ByteBuffer {
  /// Appends a number without zeros at the end, but with one digit after the point at least: `"84143.0"`, `"0.00036"`.
  fileprivate mutating func append(pointed value: Int64, scale: UInt8) {
    var (value, scale) = (value, scale)
    while scale > 1, value % 10 == 0 {
      value /= 10
      scale -= 1
    }
    if scale == 0 { (value, scale) = (value * 10, 1) }
    append(quoted: value, scale: scale)
  }

  /// Appends the shorter of the plain and the exponent form, with a digit after the point: `92288.5`, `1054.0`,
  /// `2.2e3`, `1.0e-4`.
  mutating func append(float value: Int64, scale: UInt8) {
    guard value != 0 else { return append("0.0") }
    var mantissa = value
    var scale = Int(scale)
    while mantissa % 10 == 0 {
      mantissa /= 10
      scale -= 1
    }
    let digits = String(mantissa.magnitude)
    let exponent = digits.count - 1 - scale
    let rest = digits.dropFirst()
    let scientific = "\(digits.prefix(1)).\(rest.isEmpty ? "0" : rest)e\(exponent)"
    let plain: String
    if scale <= 0 {
      plain = digits + String(repeating: "0", count: -scale) + ".0"
    } else if exponent >= 0 {
      plain = "\(digits.dropLast(scale)).\(digits.suffix(scale))"
    } else {
      plain = "0." + String(repeating: "0", count: -exponent - 1) + digits
    }
    if value < 0 { append("-") }
    append(scientific.utf8.count < plain.utf8.count ? scientific : plain)
  }

  /// Appends a number as JavaScript prints it: no zeros at its end, and below 10^-6 with an exponent (`1.1e-7`).
  mutating func append(script value: Int64, scale: UInt8) {
    var digits = value
    var scale = Int(scale)
    while scale > 0, digits % 10 == 0 {
      digits /= 10
      scale -= 1
    }
    if digits < 0 { append("-") }
    let text = String(digits.magnitude)
    let exponent = text.utf8.count - 1 - scale
    guard digits != 0, exponent < -6 else { return append(decimal: Int64(digits.magnitude), scale: UInt8(scale)) }
    append(String(text.prefix(1)))
    if text.utf8.count > 1 {
      append(".")
      append(String(text.dropFirst()))
    }
    append("e")
    append(integer: Int64(exponent))
  }
}
