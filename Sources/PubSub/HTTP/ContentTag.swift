import Bytes
import MarketData

/// A number that identifies the content of an answer: equal for equal content. A client that has the content can be
/// answered without making the text.
///
/// FNV-1a with 64 bits over values, not over text: a market's part takes about 30 steps, while its text has 10,000
/// bytes. Counters that restart with the process are hashed together with the name of the run.
package struct ContentTag: Sendable, Equatable {
  package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  /// - Parameter run: the name of the run whose counters are added, or the name of the content.
  package init(run: String) { add(run) }

  package mutating func add(_ number: UInt64) {
    var rest = number
    for _ in 0..<8 {
      value = (value ^ (rest & 0xFF)) &* 0x0000_0100_0000_01b3
      rest >>= 8
    }
  }

  package mutating func add(_ number: Int64) { add(UInt64(bitPattern: number)) }

  /// With its length, so that two texts never give the tag of two others.
  package mutating func add(_ text: String) {
    add(UInt64(text.utf8.count))
    for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
  }

  /// Takes an array, because a loop over a generic sequence costs other modules 30 ns a byte.
  package mutating func add(_ bytes: [UInt8]) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    add(UInt64(bytes.count))
  }

  /// A value that may be absent; absent is not zero.
  mutating func add(_ number: Int64?) {
    add(number == nil ? 0 as UInt64 : 1)
    if let number { add(number) }
  }

  mutating func add(_ decimal: Decimal64?) {
    add(decimal?.mantissa)
    if let decimal { add(UInt64(decimal.scale)) }
  }

  mutating func add(_ ticker: Ticker) {
    add(ticker.last)
    add(ticker.bid)
    add(ticker.ask)
    add(ticker.open)
    add(ticker.high)
    add(ticker.low)
    add(ticker.volume)
    add(ticker.quoteVolume)
    add(ticker.vwap)
    add(ticker.change)
    add(ticker.changePercent)
    add(ticker.trades)
    add(ticker.time.microseconds)
  }

  mutating func add(_ day: DayTicker) {
    add(day.ticker)
    add(UInt64(day.own.rawValue))
    add(day.source.rawValue)
    add(day.coveredFrom?.microseconds)
  }

  mutating func add(_ derivative: Derivative) {
    for fact in [
      derivative.mark, derivative.index, derivative.fundingRate, derivative.predictedRate, derivative.openInterest,
      derivative.openInterestQuote,
    ] {
      add(fact?.value)
      add((fact?.source.rawValue).map { Int64($0) })
      add(fact?.time.microseconds)
    }
    add(derivative.fundingInterval?.value)
    add(derivative.fundingInterval?.time.microseconds)
    add(derivative.nextFunding?.value.microseconds)
    add(derivative.nextFunding?.time.microseconds)
    add(derivative.isContinuous ? 1 as UInt64 : 0)
  }

  mutating func add(_ pulse: Pulse) {
    add(pulse.price)
    add(pulse.previous)
    add(Int64(pulse.merged))
    add(pulse.time.microseconds)
  }
}
