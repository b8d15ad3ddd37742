/// The simulator's own seeded generator (SplitMix64) and the few distributions it draws from.
///
/// Only additions, multiplications and comparisons of IEEE doubles: the same seed gives the same market on every
/// machine.
struct MarketRandom {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// In 0..<1, 53 bits.
  mutating func uniform() -> Double { Double(next() >> 11) * 0x1p-53 }

  /// In 0..<`bound`; `bound` is at least 1.
  mutating func below(_ bound: Int) -> Int { Int(next().multipliedFullWidth(by: UInt64(bound)).high) }

  mutating func chance(_ probability: Double) -> Bool { uniform() < probability }

  /// Exponentially distributed with mean 1, by von Neumann's comparison of runs: no logarithm, so no platform's
  /// rounding.
  mutating func exponential() -> Double {
    var whole = 0.0
    while true {
      let first = uniform()
      var last = first
      var run = 1
      while true {
        let draw = uniform()
        guard draw < last else { break }
        last = draw
        run += 1
      }
      if run & 1 == 1 { return whole + first }
      whole += 1
    }
  }

  /// Nearly normal with mean 0 and variance 1: the sum of twelve uniform draws, within ±6.
  mutating func gaussian() -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += uniform() }
    return sum
  }
}
