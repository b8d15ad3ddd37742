import Bytes
import MarketData

/// A price as people read and say it: `$48.23`, "48 dollars and 23 cents".
struct PriceWords: Sendable, Equatable {
  /// A currency with a sign and a smaller unit.
  private struct Currency {
    var sign: String
    var one: String
    var many: String
    var oneCent: String
    var cents: String
  }

  private static let currencies: [String: Currency] = [
    "USD": Currency(sign: "$", one: "dollar", many: "dollars", oneCent: "cent", cents: "cents"),
    "EUR": Currency(sign: "€", one: "euro", many: "euros", oneCent: "cent", cents: "cents"),
    "GBP": Currency(sign: "£", one: "pound", many: "pounds", oneCent: "penny", cents: "pence"),
  ]
  /// The digits that a price below 1 shows after its zeros.
  private static let significantDigits: UInt8 = 4

  /// `$`; empty if the currency has no sign.
  let sign: String
  /// `1,048.23`
  let digits: String
  /// `USDT`, which follows the digits; empty if there is a sign.
  let code: String
  /// "48 dollars and 23 cents", "0.1234 dollars", "48.23 USDT"
  let spoken: String

  /// - Parameters:
  ///   - price: 0 or more, a count of 10^-`scale`.
  ///   - currency: the asset that prices are in.
  init(_ price: Int64, scale: UInt8, currency: String) {
    let digits = Self.digitsShown(price, scale)
    let rounded = Ratio.rescaled(price, from: scale, to: digits)
    let (value, shownScale) = rounded.map { ($0, digits) } ?? (price, scale)
    let power = Int64(clamping: DecimalText.power(shownScale))
    let (whole, rest) = value.quotientAndRemainder(dividingBy: power)
    let fraction = shownScale == 0 ? "" : "." + Self.padded(rest, to: Int(shownScale))
    self.digits = Self.grouped(whole) + fraction
    let known = Self.currencies[currency]
    sign = known?.sign ?? ""
    code = known == nil ? currency : ""
    guard let known else {
      spoken = "\(whole)\(fraction) \(currency)"
      return
    }
    guard shownScale == 2 else {
      spoken = "\(whole)\(fraction) \(known.many)"
      return
    }
    let dollars = "\(whole) \(whole == 1 ? known.one : known.many)"
    let cents = "\(rest) \(rest == 1 ? known.oneCent : known.cents)"
    spoken = rest == 0 ? dollars : whole == 0 ? cents : "\(dollars) and \(cents)"
  }

  /// Two digits for prices of at least 1. Below 1, enough for four digits after the zeros, but not more than the price
  /// has.
  private static func digitsShown(_ price: Int64, _ scale: UInt8) -> UInt8 {
    let one = DecimalText.power(min(scale, DecimalText.scaleLimit))
    guard price.magnitude > 0, price.magnitude < one else { return 2 }
    let zeros = scale - UInt8(String(price.magnitude).utf8.count)
    return min(scale, zeros + significantDigits)
  }

  private static func padded(_ value: Int64, to count: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }

  private static func grouped(_ value: Int64) -> String {
    var text = ""
    for (index, digit) in String(value).reversed().enumerated() {
      if index > 0, index % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }

  /// `14:32 UTC`, preceded by the day if it is not the day of `now`: `21 Nov 14:32 UTC`.
  static func time(_ time: Timestamp, now: Timestamp) -> String {
    let (day, rest) = split(time.microseconds, by: Microseconds.day)
    let (hour, minute) = (rest / Microseconds.minute).quotientAndRemainder(dividingBy: 60)
    let clock = padded(hour, to: 2) + ":" + padded(minute, to: 2)
    guard day != split(now.microseconds, by: Microseconds.day).quotient else { return clock + " UTC" }
    let date = date(day)
    return "\(date.day) \(months[date.month - 1]) \(clock) UTC"
  }

  /// The quotient, rounded down, and the remainder, 0 or more.
  private static func split(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// The day and month of a day since 1970: the era's algorithm of Howard Hinnant's "chrono-compatible low-level date
  /// algorithms", in which a year begins in March.
  private static func date(_ day: Int64) -> (day: Int, month: Int) {
    let shifted = day + 719_468
    let ofEra = split(shifted, by: 146_097).remainder
    let leapDays = ofEra / 1_460 - ofEra / 36_524 + ofEra / 146_096
    let year = (ofEra - leapDays) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    return (Int(ofYear - (153 * month + 2) / 5 + 1), Int(month < 10 ? month + 3 : month - 9))
  }
}
