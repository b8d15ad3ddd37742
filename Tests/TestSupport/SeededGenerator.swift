/// A small, fast, seeded random generator (SplitMix64), so that a failing run can be repeated from its seed.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { self.state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// The seeds of a randomised test: `count` fixed ones, or only the one in `TIDEGATE_SEED`, to repeat a failure.
package func testSeeds(_ count: Int) -> [UInt64] {
  if let text = environment("TIDEGATE_SEED"), let seed = UInt64(text) { return [seed] }
  return (0..<UInt64(count)).map { $0 &* 0x2545_F491_4F6C_DD1D &+ 1 }
}
