import MarketData

/// The speed of a replay.
package struct ReplaySpeed: Sendable, Equatable, LosslessStringConvertible {
  /// A multiple of the recorded speed, 0.01…10,000; nil: as fast as possible.
  package let factor: Double?

  /// The recorded speed.
  package static let recorded = ReplaySpeed(factor: 1)
  package static let fastest = ReplaySpeed(factor: nil)
  package static let allowed = "max, or times as fast as recorded, 0.01x to 10000x"

  private init(factor: Double?) { self.factor = factor }

  /// `1`, `10x`, `0.5x`, `max`
  package init?(_ text: String) {
    let text = text.lowercased()
    if text == "max" {
      self = .fastest
      return
    }
    let number = text.hasSuffix("x") ? text.dropLast() : text[...]
    guard number.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
      let factor = Double(number), (0.01...10_000).contains(factor)
    else { return nil }
    self.init(factor: factor)
  }

  package var description: String {
    guard let factor else { return "max" }
    return factor == factor.rounded() ? "\(Int(factor))" : "\(factor)"
  }

  /// The longest wait, µs: a hundred years, which fit into a clock's nanoseconds.
  private static let longestWait = 36_500 * Microseconds.day

  /// When a record is due that was recorded `span` µs after the first one, in µs after the first one.
  package func wait(for span: Int64) -> Int64 {
    let wait = Double(span) / (factor ?? .infinity)
    guard wait < Double(Self.longestWait) else { return Self.longestWait }
    return factor == 1 ? span : Int64(wait.rounded())
  }
}
