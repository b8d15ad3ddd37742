import TestSupport
import Testing

@testable import Access

@Suite("Admission table")
struct AdmissionTableTests {
  /// The same with a dictionary per question and no bound.
  private struct Model {
    var connections: [Int: Int] = [:]
    /// Times at which a lane of a key took something, µs.
    var taken: [String: [Int64]] = [:]
    var lastHeard: [Int: Int] = [:]
  }

  @Test("it counts as a naive model does", arguments: testSeeds(20))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = AdmissionTable<Int>(capacity: 64)
    var model = Model()
    let rate = Rate(perSecond: 5)
    var now: Int64 = 1_000_000_000
    for step in 0..<4_000 {
      now += Int64.random(in: 0...60_000, using: &random)
      let key = Int.random(in: 0..<40, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let expected = model.connections[key, default: 0] < 3
        let isIn = table.enter(key, limit: 3)
        #expect(isIn == expected, "seed \(seed), step \(step)")
        if expected { model.connections[key, default: 0] += 1 }
      case 1:
        guard model.connections[key, default: 0] > 0 else { continue }
        table.leave(key)
        model.connections[key]! -= 1
      default:
        let lane = AdmissionTable<Int>.Lane.allCases.randomElement(using: &random)!
        // A bucket of 5 tokens that gains one per 200 ms, counted from all that was ever taken.
        var level = 0.0
        var last = Int64.min / 2
        for time in model.taken["\(lane)\(key)"] ?? [] {
          level = max(0, level - Double(time - last) / 200_000) + 1
          last = time
        }
        level = max(0, level - Double(now - last) / 200_000)
        let wait = table.take(lane, rate, key, now: now)
        #expect((wait == nil) == (level <= 4 + 1e-9), "seed \(seed), step \(step): \(level)")
        if let wait {
          #expect(abs(Double(wait) - (level - 4) * 200_000) < 1.5, "seed \(seed), step \(step)")
        } else {
          model.taken["\(lane)\(key)", default: []].append(now)
        }
      }
      #expect(table.connections(of: key) == model.connections[key, default: 0], "seed \(seed), step \(step)")
    }
  }

  @Test("a full table forgets the key unheard of for longest, and never one with connections", arguments: testSeeds(20))
  func bound(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = AdmissionTable<Int>(capacity: 16)
    var connections: [Int: Int] = [:]
    /// Keys without connections, the longest unheard of first.
    var idle: [Int] = []
    let rate = Rate(perSecond: 1)
    for step in 0..<3_000 {
      let key = Int.random(in: 0..<64, using: &random)
      let isKnown = connections[key] != nil || idle.contains(key)
      if Bool.random(using: &random), let (old, count) = connections.randomElement(using: &random) {
        table.leave(old)
        connections[old] = count > 1 ? count - 1 : nil
        if count == 1 { idle.append(old) }
        continue
      }
      if !isKnown, connections.count + idle.count == 16 {
        guard !idle.isEmpty else {
          let isIn = table.enter(key, limit: 9)
          let wait = table.take(.requests, rate, key, now: Int64(step))
          #expect(!isIn && wait != nil, "seed \(seed), step \(step)")
          continue
        }
        idle.removeFirst()
      }
      idle.removeAll { $0 == key }
      if Bool.random(using: &random), connections.count < 16 {
        let isIn = table.enter(key, limit: .max)
        #expect(isIn, "seed \(seed), step \(step)")
        connections[key, default: 0] += 1
      } else {
        _ = table.take(.requests, rate, key, now: Int64(step))
        if connections[key] == nil { idle.append(key) }
      }
      #expect(table.count == connections.count + idle.count, "seed \(seed), step \(step)")
      for (key, count) in connections { #expect(table.connections(of: key) == count, "seed \(seed), step \(step)") }
    }
  }

  @Test("what is forgotten gets its burst back, what is remembered does not")
  func forgets() {
    var table = AdmissionTable<Int>(capacity: 2)
    let rate = Rate(perSecond: 1)
    let waits = [1, 1, 2, 3].map { table.take(.requests, rate, $0, now: 0) }
    #expect(waits == [nil, 1_000_000, nil, nil] && table.count == 2)
    let more = [2, 1].map { table.take(.requests, rate, $0, now: 0) }
    #expect(more == [1_000_000, nil])
  }
}
