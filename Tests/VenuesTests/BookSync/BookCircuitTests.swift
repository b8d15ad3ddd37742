import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Circuit of a book")
struct BookCircuitTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)
  private func after(_ seconds: Int64) -> Timestamp { start + seconds * Microseconds.second }

  @Test("the first rebuild is at once, the next ever later, and after half a minute live at once again")
  func spacing() {
    var circuit = BookCircuit()
    var now = start
    var waits: [Int64] = []
    for _ in 0..<5 {
      circuit.isLive(now: now)
      now = now + Microseconds.second
      let next = circuit.lost(now: now)
      waits.append((next - now) / Microseconds.second)
      now = next
    }
    #expect(waits == [0, 1, 2, 4, 8])
    #expect(circuit.failure == nil)
    circuit.isLive(now: now)
    now = now + BookCircuit.settled
    #expect(circuit.lost(now: now) == now)
  }

  @Test(
    "a book that fails ten times in ten minutes is left alone, twice as long each time, a quarter of an hour at most")
  func opens() {
    var circuit = BookCircuit()
    var now = start
    // Live for half a minute each time, so that the spacing alone would let it fail for ever.
    for _ in 0..<9 {
      circuit.isLive(now: now)
      now = now + BookCircuit.settled
      #expect(circuit.lost(now: now) == now)
      #expect(circuit.failure == nil)
    }
    var rests: [Int64] = []
    for failures in 10..<16 {
      circuit.isLive(now: now)
      #expect(circuit.failure == nil)
      now = now + BookCircuit.settled
      let next = circuit.lost(now: now)
      #expect(circuit.failure == BookFailure(failures: failures, nextAttempt: next))
      rests.append((next - now) / Microseconds.minute)
      now = next
    }
    #expect(rests == [2, 4, 8, 15, 15, 15])
  }

  @Test("an attempt that holds for five minutes closes it, and all is forgotten")
  func closes() {
    var circuit = BookCircuit()
    var now = start
    for _ in 0..<10 { now = circuit.failed(now: now) }
    #expect(circuit.failure != nil)
    circuit.isLive(now: now)
    #expect(circuit.failure == nil)
    now = now + BookCircuit.proven
    #expect(circuit.lost(now: now) == now)
    #expect(circuit.failure == nil)
  }

  @Test("snapshots that bring no book count, too; failures that are long ago do not")
  func window() {
    var circuit = BookCircuit()
    for minute in 0..<60 {
      // One in ten minutes and a second is never ten in ten minutes.
      _ = circuit.failed(now: after(Int64(minute) * 601))
      #expect(circuit.failure == nil)
    }
    var quick = BookCircuit()
    var now = start
    for _ in 0..<9 { now = quick.failed(now: now) }
    #expect(quick.failure == nil)
    _ = quick.failed(now: now)
    #expect(quick.failure?.failures == 10)
  }

  @Test("the end of the connection is no failure of the book, and an open circuit stays open")
  func disconnects() {
    var circuit = BookCircuit()
    var now = start
    for _ in 0..<100 {
      circuit.isLive(now: now)
      circuit.disconnected()
      now = now + Microseconds.second
    }
    #expect(circuit.failure == nil)
    for _ in 0..<10 { now = circuit.failed(now: now) }
    circuit.disconnected()
    #expect(circuit.failure != nil)
    circuit.isLive(now: now)
    let next = circuit.lost(now: now + Microseconds.second)
    #expect(next - now == 4 * Microseconds.minute + Microseconds.second)
  }

  @Test("whatever fails when: attempts are never in a storm, and the wait has a bound", arguments: testSeeds(40))
  func never(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var circuit = BookCircuit()
    var now = start
    var attempts: [Timestamp] = []
    for _ in 0..<2_000 {
      let isLost = Bool.random(using: &random)
      if isLost {
        circuit.isLive(now: now)
        now = now + Int64.random(in: 0...(40 * Microseconds.second), using: &random)
        if Int.random(in: 0..<20, using: &random) == 0 { circuit.disconnected() }
      }
      let next = isLost ? circuit.lost(now: now) : circuit.failed(now: now)
      #expect(next >= now && next - now <= BookCircuit.longestRest, "seed \(seed)")
      now = next
      attempts.append(now)
    }
    // In no ten minutes more than the ten that open it and the one that was waited for.
    var first = 0
    for index in attempts.indices {
      while attempts[index] - attempts[first] >= BookCircuit.window { first += 1 }
      #expect(index - first + 1 <= BookCircuit.failureLimit + 2, "seed \(seed)")
    }
  }
}
