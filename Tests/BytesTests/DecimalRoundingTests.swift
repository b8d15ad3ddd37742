import Bytes
import Testing

@Suite("Numbers with too many digits")
struct DecimalRoundingTests {
  private func rounded(_ text: String) -> Result<Decimal64, DecimalError> {
    let bytes = Array(text.utf8)
    do throws(DecimalError) {
      return .success(try DecimalText.rounded(bytes.span.bytes))
    } catch {
      return .failure(error)
    }
  }

  @Test("what fits is exact; the rest has 18 significant digits, rounded half to even")
  func table() {
    func value(_ mantissa: Int64, _ scale: UInt8) -> Result<Decimal64, DecimalError> {
      .success(Decimal64(mantissa: mantissa, scale: scale))
    }
    let cases: [(String, Result<Decimal64, DecimalError>)] = [
      ("0.00010", value(1, 4)), ("-2.1714e-4", value(-21_714, 8)), ("5e3", value(5_000, 0)), ("-0.0", value(0, 0)),
      // Open interest of OKX, with noise.
      ("2216113.01000000309", value(221_611_301_000_000_309, 11)),
      ("1939251795.54769270396321", value(19_392_517_955_476_927, 7)),
      ("1234567890.123456785", value(1_234_567_890_123_456_785, 9)),
      ("12345678901234567850", .failure(.overflow)), ("0.1234567890123456785", value(123_456_789_012_345_678, 18)),
      ("0.1234567890123456795", value(12_345_678_901_234_568, 17)), ("9.9999999999999999999", value(10, 0)),
      ("1e-30", value(0, 0)), ("0.0000000000000000005", value(0, 18)), ("1e40", .failure(.overflow)),
      ("", .failure(.malformed)), ("1.2.3", .failure(.malformed)), ("1e", .failure(.malformed)),
      ("12345678901234567890123x", .failure(.malformed)), ("1.23456789012345678901e", .failure(.malformed)),
    ]
    for (text, expected) in cases {
      let found = rounded(text)
      if case .success(let value) = expected, value.mantissa == 0, case .success(let other) = found {
        #expect(other.mantissa == 0, "\(text)")
      } else {
        #expect(found == expected, "\(text)")
      }
    }
  }
}
