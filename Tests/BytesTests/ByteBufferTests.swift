import Bytes
import TestSupport
import Testing

@Suite struct ByteBufferTests {
  private func text(_ write: (inout ByteBuffer) -> Void) -> String {
    var buffer = ByteBuffer()
    write(&buffer)
    return buffer.description
  }

  @Test("integers of every length are written as String writes them")
  func integers() {
    var values: [UInt64] = [0, .max]
    var power: UInt64 = 1
    for _ in 0..<20 {
      values += [power, power - 1, power &+ 1, power / 2]
      power = power &* 10
    }
    for value in values { #expect(text { $0.append(integer: value) } == "\(value)") }
    for value in [Int64.min, -1, -99, -100, .max] { #expect(text { $0.append(integer: value) } == "\(value)") }
  }

  @Test("decimals have exactly their scale's digits, and are read back as they were", arguments: testSeeds(3))
  func decimals(seed: UInt64) throws {
    #expect(text { $0.append(decimal: -5, scale: 2) } == "-0.05")
    #expect(text { $0.append(decimal: 0, scale: 3) } == "0.000")
    #expect(text { $0.append(decimal: .min, scale: 18) } == "-9.223372036854775808")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let value = Int64(bitPattern: random.next()) >> Int64(random.next() % 64)
      guard value != .min else { continue }
      let scale = UInt8(random.next() % 19)
      var buffer = ByteBuffer()
      buffer.append(decimal: value, scale: scale)
      let back = try DecimalText.parse(buffer.bytes, scale: scale)
      #expect(back == value, "seed \(seed), scale \(scale)")
    }
  }

  @Test("appending and consuming at random keeps the bytes in order", arguments: testSeeds(3))
  func queue(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var buffer = ByteBuffer()
    var model: [UInt8] = []
    for _ in 0..<2_000 {
      let added = (0..<Int(random.next() % 90)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      buffer.append(added)
      model += added
      let dropped = Int(random.next() % UInt64(min(model.count, 100) + 1))
      buffer.consume(dropped)
      model.removeFirst(dropped)
      guard Array(buffer.unsafeBytes) == model else {
        Issue.record("seed \(seed)")
        return
      }
    }
  }

  @Test("JSON text is escaped where it must be")
  func json() {
    #expect(text { $0.append(json: "a\"b\\c\n\r\t\u{1}é") } == "\"a\\\"b\\\\c\\n\\r\\t\\u0001é\"")
  }
}
