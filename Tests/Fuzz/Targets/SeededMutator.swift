/// Damages inputs for runs without libFuzzer: the same seed makes the same inputs.
package struct SeededMutator {
  private var state: UInt64
  private let words: [[UInt8]]

  package init(seed: UInt64, words: [[UInt8]]) {
    self.state = seed
    self.words = words
  }

  package init(seed: UInt64, words: [String]) { self.init(seed: seed, words: words.map { Array($0.utf8) }) }

  /// SplitMix64.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

  /// One of `inputs`, changed in one to eight places, at most `limit` bytes.
  package mutating func mutate(_ inputs: [[UInt8]], limit: Int) -> [UInt8] {
    var bytes = inputs.isEmpty ? [] : inputs[below(inputs.count)]
    for _ in 0..<(1 << below(4)) {
      let at = below(bytes.count + 1)
      switch below(9) {
      case 0 where at < bytes.count: bytes[at] = UInt8(truncatingIfNeeded: next())
      case 1 where at < bytes.count: bytes[at] ^= 1 << UInt8(below(8))
      case 2 where at < bytes.count: bytes.removeSubrange(at..<min(bytes.count, at + 1 + below(8)))
      case 3: bytes.insert(UInt8(truncatingIfNeeded: next()), at: at)
      case 4 where !words.isEmpty: bytes.insert(contentsOf: words[below(words.count)], at: at)
      case 5: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 1 + below(64))], at: below(bytes.count + 1))
      case 6 where !inputs.isEmpty:
        let other = inputs[below(inputs.count)]
        bytes = Array(bytes[..<at]) + other[below(other.count + 1)...]
      case 7 where at < bytes.count:
        // A digit becomes another, or many: lengths, numbers, times.
        guard (0x30...0x39).contains(bytes[at]) else { continue }
        bytes.replaceSubrange(
          at...at, with: [UInt8](repeating: 0x30 + UInt8(below(10)), count: below(2) == 0 ? 1 : 1 + below(20)))
      case 8: bytes.removeSubrange(at...)
      default: continue
      }
    }
    return Array(bytes.prefix(limit))
  }
}
