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

  func of(_ instrument: SimulatedInstrument) -> Speller { Speller(spelling: self, instrument: instrument) }
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

/// Prints the numbers of one instrument as its venue does.
struct Speller {
  let spelling: Spelling
  let instrument: SimulatedInstrument

  /// The venue's name for it.
  var name: String { instrument.venueSymbol }

  func price(_ value: Int64) -> Spelled { number(value, instrument.priceScale) }
  func size(_ value: Int64) -> Spelled { number(value, instrument.sizeScale) }
  func number(_ value: Int64, _ scale: UInt8) -> Spelled { Spelled(value: value, scale: scale, spelling: spelling) }
  func number(_ value: Decimal64) -> Spelled { number(value.mantissa, value.scale) }
  func price(_ level: PriceLevel?) -> Spelled { price(level?.price ?? 0) }
  func size(_ level: PriceLevel?) -> Spelled { size(level?.size ?? 0) }
  var tick: Spelled { price(instrument.tick) }
  var lot: Spelled { size(instrument.lot) }
  var minimum: Spelled { size(instrument.minimumSize) }

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

  /// Open, high, low and close with commas between: the order of most venues.
  func prices(_ bar: SimulatedDay.Minute) -> JSONText {
    "\(price(bar.open)),\(price(bar.high)),\(price(bar.low)),\(price(bar.close))"
  }

  /// What a bar traded in quote units, with eight digits at most.
  func turnover(_ bar: SimulatedDay.Minute) -> Spelled { number(instrument.quoteUnits(bar.turnover)) }
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

  /// Appends the shorter of the plain and the exponent form, with a digit after the point: `92288.5`, `1054.0`, `2.2e3`, `1.0e-4`.
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
