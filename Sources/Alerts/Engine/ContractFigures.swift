import Bytes
import MarketData

/// The figures of one perpetual or dated future that rules watch, computed from what its venue says: a value, for the
/// loop that has the market. Time is a parameter.
///
/// A window has 60 equal parts, as that of a change of the price. Bounded by the measures and 62 entries of each.
package struct ContractFigures: Sendable {
  package typealias Measure = AlertThreshold.Measure

  fileprivate struct Line: Sendable {
    let measure: Measure
    var levels: LevelWindow?
    var sums: SumWindow?
    /// The figure that was handed over last; nil: none since the feed became live.
    var shown: Int64?
  }

  private var lines: [Line] = []
  private var rate: Decimal64?
  private var openInterest: Decimal64?

  package init() {}

  package var isEmpty: Bool { lines.isEmpty }

  /// Watches these measures from now on; those that were watched go on.
  package mutating func watch(_ measures: [Measure], at now: Timestamp) {
    lines = measures.map { measure in
      if var known = lines.first(where: { $0.measure == measure }) {
        // A new rule gets the present value.
        known.shown = nil
        return known
      }
      return Line(measure, at: now)
    }
  }

  /// The feed is not live: nothing of what was is known to go on.
  package mutating func reset(at now: Timestamp) {
    (rate, openInterest) = (nil, nil)
    lines = lines.map { Line($0.measure, at: now) }
  }

  /// The venue's present figure; nil: it has sent none.
  package mutating func take(fundingRate: Decimal64?, openInterest: Decimal64?, at now: Timestamp) {
    roll(to: now)
    rate = fundingRate
    self.openInterest = openInterest
  }

  /// A position was closed.
  /// - Parameter value: in the quote currency.
  package mutating func liquidated(_ value: Decimal64, at now: Timestamp) {
    roll(to: now)
    guard let value = Ratio.rescaled(value.mantissa, from: value.scale, to: Measure.liquidationDigits) else { return }
    for index in lines.indices { lines[index].sums?.add(value) }
  }

  /// The figures that have changed since the call before, at the scales of their measures.
  package mutating func changes(at now: Timestamp) -> [(measure: Measure, value: Int64)] {
    roll(to: now)
    var found: [(measure: Measure, value: Int64)] = []
    for index in lines.indices {
      guard let value = value(of: lines[index]), value != lines[index].shown else { continue }
      lines[index].shown = value
      found.append((lines[index].measure, value))
    }
    return found
  }

  private mutating func roll(to now: Timestamp) {
    for index in lines.indices {
      lines[index].levels?.roll(to: now, last: openInterest)
      lines[index].sums?.roll(to: now)
    }
  }

  private func value(of line: Line) -> Int64? {
    if let sums = line.sums { return sums.total }
    if let levels = line.levels {
      guard let openInterest, let then = levels.reference else { return nil }
      return Self.percent(openInterest, of: then)
    }
    // In percent.
    return rate.flatMap {
      Ratio.quotient(Int128($0.mantissa), by: 1, powerOfTen: Int(Measure.fundingDigits) + 2 - Int($0.scale))
    }
  }

  /// How much `now` is more than `then`, in percent with `Measure.percentDigits`.
  private static func percent(_ now: Decimal64, of then: Decimal64) -> Int64? {
    guard then.mantissa > 0 else { return nil }
    let scale = max(now.scale, then.scale)
    // Below 2^63 × 10^18.
    let new = Int128(now.mantissa) * Int128(DecimalText.power(scale - now.scale))
    let old = Int128(then.mantissa) * Int128(DecimalText.power(scale - then.scale))
    return Ratio.quotient(new - old, by: old, powerOfTen: 2 + Int(Measure.percentDigits))
  }
}

extension ContractFigures.Line {
  fileprivate init(_ measure: AlertThreshold.Measure, at now: Timestamp) {
    self.measure = measure
    switch measure {
    case .openInterest(let minutes): levels = LevelWindow(minutes: minutes, at: now)
    case .liquidations(let minutes): sums = SumWindow(minutes: minutes, at: now)
    default: break
    }
  }
}

/// The last level of each part of a window.
private struct LevelWindow: Sendable {
  let width: Int64
  private var part: Int64
  private var levels: [Decimal64?] = Array(repeating: nil, count: Int(ChangeWindow.parts) + 2)

  init(minutes: UInt16, at now: Timestamp) {
    width = Int64(minutes) * Microseconds.minute / ChangeWindow.parts
    part = floorDivide(now.microseconds, width)
  }

  /// Ends the parts before `now` with `last`.
  mutating func roll(to now: Timestamp, last: Decimal64?) {
    let present = floorDivide(now.microseconds, width)
    guard present > part else { return }
    for ended in max(part, present - Int64(levels.count))..<present { levels[slot(ended)] = last }
    part = present
  }

  /// That of 60 to 61 parts ago; nil: unknown.
  var reference: Decimal64? { levels[slot(part - ChangeWindow.parts - 1)] }

  private func slot(_ part: Int64) -> Int { Int(floorModulo(part, Int64(levels.count))) }
}

/// A sum over the present part and the 59 before it.
private struct SumWindow: Sendable {
  let width: Int64
  private var part: Int64
  private var sums: [Int64] = Array(repeating: 0, count: Int(ChangeWindow.parts))
  private(set) var total: Int64 = 0

  init(minutes: UInt16, at now: Timestamp) {
    width = Int64(minutes) * Microseconds.minute / ChangeWindow.parts
    part = floorDivide(now.microseconds, width)
  }

  mutating func roll(to now: Timestamp) {
    let present = floorDivide(now.microseconds, width)
    guard present > part else { return }
    for begun in max(part + 1, present - Int64(sums.count) + 1)...present { sums[slot(begun)] = 0 }
    part = present
    total = sums.reduce(0, Self.plus)
  }

  mutating func add(_ value: Int64) {
    sums[slot(part)] = Self.plus(sums[slot(part)], value)
    total = Self.plus(total, value)
  }

  private static func plus(_ a: Int64, _ b: Int64) -> Int64 {
    let (sum, overflow) = a.addingReportingOverflow(b)
    return overflow ? .max : sum
  }

  private func slot(_ part: Int64) -> Int { Int(floorModulo(part, Int64(sums.count))) }
}

extension AlertThreshold.Measure {
  static let fundingDigits: UInt8 = 8
  static let percentDigits: UInt8 = 4
  static let liquidationDigits: UInt8 = 2

  /// The digits after the point of a figure that only perpetuals and dated futures have; nil for others.
  var contractDigits: UInt8? {
    switch self {
    case .funding: Self.fundingDigits
    case .openInterest: Self.percentDigits
    case .liquidations: Self.liquidationDigits
    case .price, .spread, .spreadPercent, .depth, .change: nil
    }
  }
}
