import Bytes
import Foundation
import TestSupport
import Testing

@Suite struct DecimalTextTests {
  private func parse(_ text: String, scale: UInt8) -> Result<Int64, DecimalError> {
    let bytes = Array(text.utf8)
    do throws(DecimalError) {
      let value = try DecimalText.parse(bytes.span.bytes, scale: scale)
      return .success(value)
    } catch {
      return .failure(error)
    }
  }

  @Test("what venues send is read exactly or refused with the reason")
  func table() {
    let cases: [(String, UInt8, Result<Int64, DecimalError>)] = [
      ("0", 8, .success(0)), ("1e-7", 8, .success(10)), ("2.2E-7", 8, .success(22)), ("5e3", 0, .success(5_000)),
      ("-0.5", 1, .success(-5)), ("+7", 0, .success(7)), ("007.10", 1, .success(71)), ("0.00000001", 8, .success(1)),
      ("9223372036854775807", 0, .success(.max)), ("9223372036854775808", 0, .failure(.overflow)),
      ("92233720368547758.07", 2, .success(.max)), ("1", 19, .failure(.overflow)),
      ("0.123", 2, .failure(.tooPrecise(needed: 3))), ("0.1200", 2, .success(12)), ("", 2, .failure(.malformed)),
      ("0.-10000", 4, .failure(.malformed)), ("1e", 2, .failure(.malformed)), (".", 2, .failure(.malformed)),
      ("1.2.3", 2, .failure(.malformed)), ("-", 2, .failure(.malformed)), ("1 ", 2, .failure(.malformed)),
      ("0e99999999999", 2, .success(0)), ("1e-99999999999", 2, .failure(.tooPrecise(needed: 255))),
    ]
    for (text, scale, expected) in cases { #expect(parse(text, scale: scale) == expected, "\(text) at \(scale)") }
  }

  @Test("where a number must be plainly written, every other spelling is refused")
  func plain() throws {
    func read(_ text: String) -> Decimal64? {
      let bytes = Array(text.utf8)
      return try? DecimalText.parsePlain(bytes.span.bytes)
    }
    for (text, mantissa, scale) in [
      ("0", 0, 0), ("-0", 0, 0), ("0.50", 5, 1), ("-12.03", -1_203, 2), ("100", 100, 0),
      ("9223372036854775807", .max, 0),
    ] as [(String, Int64, UInt8)] {
      #expect(read(text) == Decimal64(mantissa: mantissa, scale: scale), "\(text)")
    }
    for text in [
      "1e5", "1E5", "1e-5", "+1", ".5", "5.", "007", "00", "-", "-.5", "", " 1", "1 ", "0x1", "1_000", "1,5", "1.2.3",
      "NaN",
      "９", "9223372036854775808", "0." + String(repeating: "0", count: 18) + "1",
    ] { #expect(read(text) == nil, "\(text)") }
  }

  @Test("random decimals have the value that Foundation's Decimal gives them", arguments: testSeeds(4))
  func againstDecimal(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<3_000 {
      var text = random.next() % 4 == 0 ? "-" : ""
      for _ in 0..<(random.next() % 12 + 1) { text += "\(random.next() % 10)" }
      if random.next() % 3 > 0 {
        text += "."
        for _ in 0..<(random.next() % 10 + 1) { text += "\(random.next() % 3 == 0 ? random.next() % 10 : 0)" }
      }
      if random.next() % 5 == 0 { text += "e\(Int64(random.next() % 9) - 4)" }
      let scale = UInt8(random.next() % 19)
      var scaled = Decimal()
      var exact = try #require(Decimal(string: text))
      _ = NSDecimalMultiplyByPowerOf10(&scaled, &exact, Int16(scale), .plain)
      var rounded = Decimal()
      NSDecimalRound(&rounded, &scaled, 0, .plain)
      let expected = rounded == scaled ? Int64("\(scaled)") : nil
      #expect((try? parse(text, scale: scale).get()) == expected, "\(text) at scale \(scale), seed \(seed)")
    }
  }
}
