import TestSupport
import Transport
import VenueSimulator

/// What a world is made of; all of it from a seed.
package struct Scenario: Sendable, CustomStringConvertible {
  /// How much happens.
  package enum Size: Sendable {
    /// A few seconds of the world's time: hundreds of them in a test run.
    case small
    /// Up to half a minute, more clients, all venues.
    case large
  }

  package var seed: UInt64
  package var loops: Int
  package var venues: [String]
  /// Bases: `BTC`.
  package var bases: [String]
  /// Moments a second and instrument of each venue.
  package var rate: Double
  package var clients: Int
  /// How long clients do as they like and faults happen, ns.
  package var storm: UInt64
  package var network: FaultRates
  /// Faults of the venues themselves.
  package var venueFaults: [String: [Fault]]
  /// Steps of the gateway's wall clock: when, ns after the start, and by how much, µs.
  package var clockSteps: [(at: UInt64, by: Int64)]
  /// Clients only subscribe, and read what they get.
  package var isSteady = false
  /// How many times longer than usual clients wait between one thing that they do and the next.
  package var leisure = 1
  /// When the gateway runs out of descriptors, and for how long, ns.
  package var shortage: (at: UInt64, span: UInt64)?
  /// Nil: the gateway stops at once, after the comparison.
  package var drain: Drain?

  /// How a gateway sends its clients away over a while.
  package struct Drain: Sendable {
    package var seconds: Int
    /// In place of the calm and the comparison, while everything still goes wrong.
    package var isInStorm = false
    /// To another process, so that all its ports are free at once.
    package var handsOver = false
    /// In the middle it is told to stop at once.
    package var isCutShort = false
    /// When the gateway's process is stopped, ns after the beginning, and for how long.
    package var stop: (at: UInt64, span: UInt64)?
    package init(seconds: Int) { self.seconds = seconds }
  }

  package init(seed: UInt64, size: Size = .small) {
    var random = SeededGenerator(seed: seed)
    func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    func chance(_ percent: Int) -> Bool { pick(100) < percent }
    self.seed = seed
    let isLarge = size == .large
    loops = 1 + pick(3)
    let all = ["kraken", "coinbase", "binance", "okx"]
    var venues = isLarge && chance(40) ? all : [all[pick(all.count)]]
    if venues.count == 1, chance(isLarge ? 50 : 25) {
      venues.append(all.filter { $0 != venues[0] }[pick(all.count - 1)])
    }
    self.venues = venues
    bases = Array(["BTC", "ETH", "ZEC"].prefix(1 + pick(isLarge ? 3 : 2)))
    rate = isLarge ? Double(2 + pick(20)) : Double(2 + pick(6))
    clients = isLarge ? 2 + pick(9) : 2 + pick(4)
    storm = UInt64(isLarge ? 6 + pick(20) : 3 + pick(5)) * 1_000_000_000

    // One in eight worlds has a network that does nothing worse than cut what it carries into pieces.
    var rates = FaultRates()
    let isKind = chance(12)
    rates.fineGrain = Double(pick(80)) / 100
    rates.byteGrain = Double(pick(60)) / 100
    rates.longestLatency = [200_000, 2_000_000, 40_000_000, 300_000_000][pick(4)]
    rates.partialSend = Double(pick(30)) / 100
    if !isKind {
      rates.reset = Double(pick(40)) / 100
      rates.halfOpen = Double(pick(25)) / 100
      rates.stall = Double(pick(40)) / 100
      rates.longestStall = [200_000_000, 2_000_000_000, 14_000_000_000][pick(3)]
      rates.refuse = Double(pick(15)) / 100
      rates.swallow = Double(pick(8)) / 100
      rates.abortAccept = Double(pick(10)) / 100
      rates.narrow = Double(pick(30)) / 100
      rates.pause = Double(pick(3)) / 1_000
      rates.longestPause = [1_000_000, 20_000_000, 120_000_000][pick(3)]
      rates.faultWithin = storm
    }
    network = rates

    var venueFaults: [String: [Fault]] = [:]
    for venue in venues where !isKind {
      var faults: [Fault] = []
      for _ in 0..<pick(4) {
        let at = Double(pick(Int(storm / 1_000_000))) / 1_000
        // Of what the venue's own protocol can tell: nothing in Coinbase's says that an update is missing.
        let kinds: [Fault.Kind] =
          switch venue {
          case "kraken":
            [
              .drop, .silence, .gap, .checksum, .malformed, .slowHandshake, .halfOpen, .serverReset, .ban,
              .plannedShutdown, .pongsOnly, .answersOnly, .deaf,
            ]
          case "binance", "okx":
            [
              .drop, .silence, .gap, .malformed, .slowHandshake, .halfOpen, .serverReset, .ban, .plannedShutdown,
              .plannedShutdown, .pongsOnly, .answersOnly, .deaf,
            ]
          default:
            [
              .drop, .silence, .malformed, .slowHandshake, .halfOpen, .serverReset, .ban, .pongsOnly, .answersOnly,
              .deaf,
            ]
          }
        let kind = kinds[pick(kinds.count)]
        var fault = Fault(kind, at: at)
        switch kind {
        case .silence, .ban, .deaf: fault.seconds = Double(1 + pick(4))
        // Half of the times new connections are struck, too, for a while.
        case .pongsOnly, .answersOnly: if chance(50) { fault.seconds = Double(1 + pick(4)) }
        case .plannedShutdown: fault.seconds = Double(pick(8_000)) / 1_000 + 0.05
        case .slowHandshake: fault.seconds = Double(pick(2_000)) / 1_000 + 0.001
        default: break
        }
        faults.append(fault)
      }
      venueFaults[venue] = faults
    }
    self.venueFaults = venueFaults

    clockSteps = []
    if chance(25) {
      for _ in 0...pick(3) {
        let by: Int64 = [900_000, 5_000_000, 3_600_000_000, 86_400_000_000][pick(4)] * (pick(2) == 0 ? 1 : -1)
        clockSteps.append((UInt64(pick(Int(storm))), by))
      }
      clockSteps.sort { $0.at < $1.at }
    }
    if chance(15) { shortage = (UInt64(pick(Int(storm))), UInt64(100 + pick(2_000)) * 1_000_000) }
    if chance(25) {
      var plan = Drain(seconds: 1 + pick(6))
      plan.isInStorm = chance(50)
      plan.handsOver = chance(30)
      plan.isCutShort = chance(20)
      drain = plan
    }
  }

  /// A world in which nothing goes wrong by itself, for tests of one thing alone.
  package static func steady(seed: UInt64, loops: Int = 2) -> Scenario {
    var scenario = Scenario(seed: seed)
    scenario.isSteady = true
    scenario.loops = loops
    scenario.venues = ["kraken", "binance"]
    scenario.clients = 4
    scenario.storm = 12_000_000_000
    scenario.network = FaultRates()
    scenario.venueFaults = [:]
    scenario.clockSteps = []
    scenario.shortage = nil
    scenario.drain = nil
    return scenario
  }

  /// A world for a whole day: venues and clients that come and go, all kinds of faults again and again, at a pace that
  /// a machine gets through in minutes.
  package static func day(seed: UInt64) -> Scenario {
    var scenario = Scenario(seed: seed)
    scenario.loops = 2
    scenario.venues = ["kraken", "coinbase", "binance", "okx"]
    scenario.bases = ["BTC", "ZEC"]
    scenario.rate = 1
    scenario.clients = 4
    scenario.leisure = 20
    scenario.network = FaultRates()
    scenario.network.fineGrain = 0.1
    scenario.network.reset = 0.3
    scenario.network.halfOpen = 0.1
    scenario.network.stall = 0.3
    scenario.network.faultWithin = 3_600_000_000_000
    scenario.clockSteps = []
    scenario.shortage = nil
    scenario.drain = nil
    scenario.venueFaults = [:]
    for (index, venue) in scenario.venues.enumerated() {
      let offset = Double(index) * 97
      var faults = [
        Fault(.drop, at: 700 + offset, every: 1_500), Fault(.malformed, at: 100 + offset, every: 400),
        Fault(.serverReset, at: 900 + offset, every: 5_400), Fault(.halfOpen, at: 2_000 + offset, every: 7_200),
        Fault(.silence, seconds: 4, at: 1_200 + offset, every: 3_000),
        Fault(.ban, seconds: 3, at: 3_000 + offset, every: 9_000),
      ]
      // Nothing in Coinbase's protocol says that an update is missing.
      if venue != "coinbase" { faults.append(Fault(.gap, at: 60 + offset, every: 240)) }
      if venue == "kraken" { faults.append(Fault(.checksum, at: 80 + offset, every: 600)) }
      if venue == "binance" || venue == "okx" {
        faults.append(Fault(.plannedShutdown, seconds: 5, at: 1_000 + offset, every: 4_000))
      }
      scenario.venueFaults[venue] = faults
    }
    return scenario
  }

  package var description: String {
    """
    seed \(seed): \(loops) loops, \(venues.joined(separator: "+")) \(bases.joined(separator: ",")) at \(rate)/s, \(clients) \
    clients, \(storm / 1_000_000_000) s; reset \(network.reset) half-open \(network.halfOpen) stall \(network.stall)\
    \(clockSteps.isEmpty ? "" : ", clock \(clockSteps.map { $0.by / 1_000 }) ms")\
    \(shortage == nil ? "" : ", out of descriptors")\
    \(drain.map { ", drains for \($0.seconds) s\($0.isInStorm ? " in the storm" : "")" } ?? "")
    """
  }
}
