import Foundation
import TestSupport
import Testing

@testable import TidegateClient

@Suite("Exact decimals")
struct ExactDecimalTests {
  private static func number(_ text: String) throws -> ExactDecimal { try #require(ExactDecimal(text), "\(text)") }

  @Test("a number prints with its digits, and is equal, ordered and hashed by value")
  func values() throws {
    let a = try Self.number("0.10")
    let b = try Self.number("0.1")
    #expect(a.description == "0.10" && a.doubleValue == 0.1)
    #expect(a == b && a.hashValue == b.hashValue && !(a < b) && Set([a, b]).count == 1)
    #expect(try b < Self.number("64123.50000001") && Self.number("1e-7") < b)
    #expect(try Self.number("0.123456789012345678901") < Self.number("0.2"))
    #expect(try Self.number("-0.0").isZero && Self.number("-0") == 0)
    #expect(try Self.number("-0").hashValue == ExactDecimal.zero.hashValue)
    #expect(try Self.number("1e20") == Self.number("100000000000000000000.000"))
    #expect(
      try Self.number("1e20").hashValue == Self.number("100000000000000000000.000").hashValue)
    #expect(try Self.number("5.0000000000000000000000").hashValue == Self.number("5").hashValue)
  }

  @Test(
    "text is read and written",
    arguments: [
      ("1e-7", "0.0000001"), ("-12.50", "-12.50"), ("+3", "3"), (".5", "0.5"), ("5.", "5"), ("007", "7"),
      ("1E2", "100"), ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
      ("9223372036854775808", "9223372036854775808"), ("0.000000000000000000001", "0.000000000000000000001"),
      ("-0.00", "0.00"),
    ])
  func texts(text: String, shown: String) throws { #expect(try Self.number(text).description == shown) }

  @Test(
    "a percentage is rounded half to even",
    arguments: [
      ("0.22", "65173.29", 4, "0.0003"), ("1", "3", 2, "33.33"), ("2", "3", 2, "66.67"), ("-2", "3", 2, "-66.67"),
      ("0.5", "100", 0, "0"), ("1.5", "100", 0, "2"), ("2.5", "100", 0, "2"), ("-1.5", "100", 0, "-2"),
      ("0", "7", 4, "0.0000"), ("5", "5", 2, "100.00"), ("1e300", "1", 0, "1" + String(repeating: "0", count: 302)),
      ("0.000000000000000000001", "0.000000000000000000003", 3, "33.333"),
    ])
  func percentages(part: String, whole: String, digits: Int, text: String) throws {
    #expect(try Self.number(part).percent(of: Self.number(whole), digits: digits)?.description == text)
  }

  @Test("there is no percentage of nothing, or of less", arguments: ["0", "-1", "-0.000000000000000000001"])
  func noPercentage(whole: String) throws { #expect(try ExactDecimal(1).percent(of: Self.number(whole)) == nil) }

  @Test(
    "no percentage is further than half a digit from the exact one, however long the numbers", arguments: testSeeds(20))
  func percentageError(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func number(isPositive: Bool) throws -> ExactDecimal {
      let whole = (0..<Int.random(in: 1...25, using: &random)).map { _ in String(Int.random(in: 0...9, using: &random))
      }
      let part = (0..<Int.random(in: 0...22, using: &random)).map { _ in String(Int.random(in: 0...9, using: &random)) }
      let sign = !isPositive && Bool.random(using: &random) ? "-" : ""
      return try Self.number(sign + whole.joined() + (part.isEmpty ? "" : "." + part.joined()))
    }
    for _ in 0..<200 {
      let (part, whole) = (try number(isPositive: false), try number(isPositive: true))
      let digits = Int.random(in: 0...6, using: &random)
      guard let percent = part.percent(of: whole, digits: digits) else {
        #expect(whole.isZero)
        continue
      }
      // What the percentage lacks, and half of its last digit, both × `whole`.
      let error = percent * whole - part * 100
      let half = try whole * Self.number("5e-\(digits + 1)")
      #expect(error <= half && -error <= half, "seed \(seed): \(part) of \(whole)")
      if error == half || -error == half {
        #expect(Int(String(percent.description.last!))! % 2 == 0, "seed \(seed): \(part) of \(whole)")
      }
    }
  }

  @Test(
    "what is no number is refused",
    arguments: [
      "", ".", "-", "e5", "1e", "1.2.3", "nan", "inf", "0x1p3", " 1", "1 ", "1e400", "٣", "1e٣", "1_000", "--1",
      "1e+-2",
      "1e99999999999999999999",
    ])
  func notNumbers(text: String) { #expect(ExactDecimal(text) == nil) }

  @Test("text longer than any number's is refused, and the largest powers are not")
  func limits() throws {
    #expect(ExactDecimal(String(repeating: "9", count: 401)) == nil)
    #expect(ExactDecimal(String(repeating: "9", count: 310)) == nil)
    #expect(try Self.number("1e308").doubleValue == 1e308)
    #expect(try Self.number("1e-308") + Self.number("1e308") > 0)
  }

  /// A number of few digits: its text, and the same times 10^6.
  private static func random(_ random: inout SeededGenerator) -> (text: String, scaled: Int128) {
    let digits = Int.random(in: 0...6, using: &random)
    let mantissa = Int64.random(in: -999_999_999...999_999_999, using: &random)
    let magnitude = String(mantissa.magnitude)
    let padded = String(repeating: "0", count: max(0, digits + 1 - magnitude.count)) + magnitude
    let split = padded.index(padded.endIndex, offsetBy: -digits)
    let text = (mantissa < 0 ? "-" : "") + padded[..<split] + (digits > 0 ? "." + padded[split...] : "")
    let power = (0..<(6 - digits)).reduce(Int128(1)) { result, _ in result * 10 }
    return (text, Int128(mantissa) * power)
  }

  @Test("order, sums and products are those of integers, small and wide alike", arguments: testSeeds(40))
  func arithmetic(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let (one, left) = Self.random(&random)
      let (other, right) = Self.random(&random)
      let (a, b) = (try Self.number(one), try Self.number(other))
      #expect((a < b) == (left < right) && (a == b) == (left == right), "seed \(seed): \(one) \(other)")
      #expect((a + b) - b == a && a - a == 0, "seed \(seed): \(one) \(other)")
      let unit = try Self.number("1e-6")
      #expect(a + b == (try Self.number(String(left + right))) * unit, "seed \(seed): \(one) + \(other)")
      #expect(a * b == (try Self.number(String(left * right))) * unit * unit, "seed \(seed): \(one) × \(other)")
      // The wide path, which small numbers do not take.
      let (x, y) = (a.wide, b.wide)
      #expect(ExactDecimal(WideNumber.sum(x, y)) == a + b, "seed \(seed): \(one) + \(other)")
      #expect(ExactDecimal(WideNumber.product(x, y)) == a * b, "seed \(seed): \(one) × \(other)")
      #expect((WideNumber.order(x, y) < 0) == (a < b), "seed \(seed): \(one) \(other)")
      #expect(try Self.number((a * b).description) == a * b, "seed \(seed)")
    }
  }

  @Test("sums at the ends of 64 bits are exact")
  func ends() throws {
    let largest = ExactDecimal(Int64.max)
    #expect((largest + 1).description == "9223372036854775808")
    #expect((-ExactDecimal(Int64.min)).description == "9223372036854775808")
    #expect(((largest + 1) - 1) == largest && (largest + 1 - 1).description == "9223372036854775807")
    #expect((largest * largest).description == "85070591730234615847396907784232501249")
    #expect(ExactDecimal(UInt64.max).description == "18446744073709551615")
    #expect(try Self.number("65173.40") - Self.number("65173.18") == Self.number("0.22"))
  }

  @Test("bridges to Decimal and JSON lose nothing")
  func bridges() throws {
    for text in ["0", "-12.5", "64123.50000001", "9223372036854775808.5", "0.00000000000000000001"] {
      let number = try Self.number(text)
      #expect(number.decimalValue == Decimal(string: text), "\(text)")
      #expect(number.decimalValue.flatMap { ExactDecimal($0) } == number, "\(text)")
      let json = try JSONEncoder().encode([number])
      #expect(try JSONDecoder().decode([ExactDecimal].self, from: json).first?.description == text)
    }
    #expect(try Self.number("1e200").decimalValue == nil)
    #expect(throws: (any Error).self) { try JSONDecoder().decode([ExactDecimal].self, from: Data(#"["x"]"#.utf8)) }
  }
}
