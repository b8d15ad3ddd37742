import MarketData

/// The price of an asset for all time: a function of the seed and the moment alone. Markets that follow it agree with
/// each other, and one that is simulated again stands where it would stand if it had never stopped.
struct PricePath: Sendable {
  private let seed: UInt64

  /// - Parameter seed: that of the markets which shall agree.
  init(seed: UInt64, asset: String) {
    // FNV-1a.
    self.seed = asset.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  /// The time from knot to knot, µs, and how far the price goes between them at most, as a part of it. Together they
  /// are less than what a simulated price may be away from its reference.
  private static let octaves: [(span: Int64, part: Double)] = [
    (Microseconds.minute, 0.0005), (10 * Microseconds.minute, 0.0012), (Microseconds.hour, 0.003),
    (6 * Microseconds.hour, 0.006), (Microseconds.day, 0.012), (14 * Microseconds.day, 0.04),
    (120 * Microseconds.day, 0.06),
  ]

  /// The price as a multiple of the reference price, 0.87 to 1.13.
  func level(at time: Timestamp) -> Double {
    var sum = 1.0
    for (index, octave) in Self.octaves.enumerated() {
      // Nothing is simulated before 1970.
      let knot = time.microseconds / octave.span
      let part = Double(time.microseconds % octave.span) / Double(octave.span)
      let (left, right) = (draw(UInt64(index), knot), draw(UInt64(index), knot &+ 1))
      sum += octave.part * (left + (right - left) * part)
    }
    return sum
  }

  /// In −1…1.
  private func draw(_ octave: UInt64, _ knot: Int64) -> Double {
    let salt = octave &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(bitPattern: knot) &* 0xD6E8_FEB8_6659_FD93
    var random = MarketRandom(seed: seed &+ salt)
    return random.uniform() * 2 - 1
  }
}

/// How a simulated market stands to what was simulated before it.
package enum SimulatedOrigin: Sendable {
  /// A market of its own: seed and start give prices and ids, and another run begins them anew.
  case own
  /// The same with ids of trades from this one on, 1 or more.
  case numbered(from: Int64)
  /// Goes on where a run before it would be now: the prices of each asset follow its path of this seed, and ids of
  /// trades rise with the clock, 10,000 a second.
  case continued(seed: UInt64)

  /// The path of an asset; nil where prices have none.
  func path(of asset: String) -> PricePath? {
    if case .continued(let seed) = self { PricePath(seed: seed, asset: asset) } else { nil }
  }

  /// The id of the newest trade before `start`.
  /// - Parameter own: where nothing else is said.
  func lastTradeID(_ start: Timestamp, own: Int64) -> Int64 {
    switch self {
    case .own: own
    // The oldest of the trades before `start` is the first.
    case .numbered(let first): first + Int64(InstrumentMarket.recentLimit) - 1
    case .continued: max(1, (start.microseconds - Self.firstID) / 100)
    }
  }

  /// 2020-01-01.
  private static let firstID: Int64 = 1_577_836_800_000_000
}
