import Bytes

/// One threshold or staleness of a rule, as the engine stores it: 32 bytes.
struct Leaf {
  enum Kind: UInt8 { case above, below, crossesUp, crossesDown, crosses, stale }

  /// The last state of the figure that mattered.
  enum Phase: UInt8 {
    /// The condition is false. For a crossing: the side is unknown, or the figure is on the bound.
    case outside
    /// The condition is true.
    case inside
    /// For a crossing: the figure is below the bound by at least the hysteresis, or above it.
    case under, over
  }

  /// The bound; for a staleness: its time, µs.
  var bound: Int64 = 0
  var hysteresis: Int64 = 0
  var rule: UInt32 = 0
  /// The series; for a staleness: the source.
  var series: UInt32 = 0
  /// Raised whenever what the leaf waits for changes: older entries of heaps are void.
  var stamp: UInt32 = 0
  var boundScale: UInt8 = 0
  var hysteresisScale: UInt8 = 0
  var kind = Kind.above
  var phase = Phase.outside
}

/// The levels of its series that a leaf waits for; nil: none on that side.
struct LeafWatch {
  var upper: Int64?
  var lower: Int64?
}

/// The four levels at which a leaf's phase may change, as counts of its series' scale.
struct LeafLevels {
  /// At or above: reached from below.
  var up: Int64
  /// At or below: reached from above.
  var down: Int64
  /// At or below: clearly under.
  var clearlyUnder: Int64
  /// At or above: clearly over.
  var clearlyOver: Int64

  init(_ leaf: Leaf, scale: UInt8) {
    up = Self.count(leaf.bound, leaf.boundScale, nil, at: scale, roundingUp: true)
    down = Self.count(leaf.bound, leaf.boundScale, nil, at: scale, roundingUp: false)
    if leaf.hysteresis == 0 {
      clearlyUnder = up == .min ? .min : up - 1
      clearlyOver = down == .max ? .max : down + 1
    } else {
      clearlyUnder = Self.count(
        leaf.bound, leaf.boundScale, (-leaf.hysteresis, leaf.hysteresisScale), at: scale, roundingUp: false)
      clearlyOver = Self.count(
        leaf.bound, leaf.boundScale, (leaf.hysteresis, leaf.hysteresisScale), at: scale, roundingUp: true)
    }
  }

  /// `value` + `other` as a count of 10^-`scale`, rounded to one side and clamped to `Int64`.
  private static func count(
    _ value: Int64, _ valueScale: UInt8, _ other: (value: Int64, scale: UInt8)?, at scale: UInt8, roundingUp: Bool
  ) -> Int64 {
    // Both at the finest of the three scales: below 2^63 × 10^18 × 2, within 128 bits.
    let finest = max(valueScale, other?.scale ?? 0, scale)
    var sum = Int128(value) * Int128(DecimalText.power(finest - valueScale))
    if let other { sum += Int128(other.value) * Int128(DecimalText.power(finest - other.scale)) }
    let (quotient, remainder) = sum.quotientAndRemainder(dividingBy: Int128(DecimalText.power(finest - scale)))
    let rounded = quotient + (roundingUp ? (remainder > 0 ? 1 : 0) : (remainder < 0 ? -1 : 0))
    return Int64(clamping: rounded)
  }
}

extension Leaf {
  /// Updates the phase for `value`; returns whether the leaf became true or was crossed.
  mutating func take(_ value: Int64, _ levels: LeafLevels) -> Bool {
    switch kind {
    case .above:
      let isInside = phase == .inside ? value > levels.clearlyUnder : value >= levels.up
      defer { phase = isInside ? .inside : .outside }
      return isInside && phase != .inside
    case .below:
      let isInside = phase == .inside ? value < levels.clearlyOver : value <= levels.down
      defer { phase = isInside ? .inside : .outside }
      return isInside && phase != .inside
    case .crossesUp, .crossesDown, .crosses:
      var isCrossed = false
      if phase == .under, value >= levels.up {
        isCrossed = true
        phase = .outside
      } else if phase == .over, value <= levels.down {
        isCrossed = true
        phase = .outside
      }
      if phase == .outside {
        if kind != .crossesDown, value <= levels.clearlyUnder { phase = .under }
        if kind != .crossesUp, value >= levels.clearlyOver { phase = .over }
      }
      return isCrossed
    case .stale: return false
    }
  }

  /// The levels that can change the phase next.
  func watch(_ levels: LeafLevels) -> LeafWatch {
    switch (kind, phase) {
    case (.above, .inside): LeafWatch(lower: levels.clearlyUnder)
    case (.above, _): LeafWatch(upper: levels.up)
    case (.below, .inside): LeafWatch(upper: levels.clearlyOver)
    case (.below, _): LeafWatch(lower: levels.down)
    case (.stale, _): LeafWatch()
    case (_, .under): LeafWatch(upper: levels.up)
    case (_, .over): LeafWatch(lower: levels.down)
    case (.crossesUp, _): LeafWatch(lower: levels.clearlyUnder)
    case (.crossesDown, _): LeafWatch(upper: levels.clearlyOver)
    default: LeafWatch(upper: levels.clearlyOver, lower: levels.clearlyUnder)
    }
  }
}
