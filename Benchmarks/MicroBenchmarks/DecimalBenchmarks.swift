import Bytes
import TestSupport

/// Decimal text to scaled integers and back.
enum DecimalBenchmarks {
  static var all: [MicroBenchmark] {
    [
      MicroBenchmark(name: "decimal: parse a price (64123.50000000)") {
        let texts = TextTable(values.map { MarketGenerator.decimal($0, scale: 2) + "000000" })
        return PreparedBenchmark(bytes: texts.bytes.count) {
          var sum = 0
          texts.forEach { text in
            do { sum &+= Int(try DecimalText.parse(text, scale: 2)) } catch { sum &-= 1 }
          }
          return sum
        }
      },
      MicroBenchmark(name: "decimal: format a price (64123.50)") {
        let numbers = values
        let sink = Buffer()
        return PreparedBenchmark(bytes: numbers.count * 8) {
          sink.bytes.removeAll()
          for number in numbers { sink.bytes.append(decimal: number, scale: 2) }
          return sink.bytes.count
        }
      },
    ]
  }

  static var values: [Int64] {
    var random = SeededGenerator(seed: 11)
    return (0..<MicroBenchmark.batch).map { _ in Int64.random(in: 1_000_000...9_999_999, using: &random) }
  }
}

/// A buffer that closures share.
final class Buffer {
  var bytes = ByteBuffer(capacity: 1 << 16)
}
