import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Snapshot bridge")
struct SnapshotBridgeTests {
  private func level(_ price: Int64) -> [PriceLevel] { [PriceLevel(price: price, size: 1)] }

  private func receive(
    _ bridge: inout SnapshotBridge, _ first: Int64, _ last: Int64, at time: Int64? = nil
  ) -> BookKeeper.Verdict {
    bridge.receive(
      UpdateNumbers(first: first, last: last), bids: level(first)[...], asks: [],
      time: Timestamp(microseconds: time ?? first))
  }

  @Test("an update that was applied and comes again after its successors changes nothing")
  func again() {
    for rule in [SequenceRule.binanceFutures, Gate.updatesRule] {
      var bridge = SnapshotBridge(rule: rule)
      func receive(_ id: Int64, at time: Int64) -> BookKeeper.Verdict {
        bridge.receive(
          UpdateNumbers(first: id, last: id, previous: id - 1), bids: level(id)[...], asks: [],
          time: Timestamp(microseconds: time))
      }
      let isWhole = bridge.bridge(4) { _, _, _, _ in }
      #expect(isWhole)
      for id in Int64(5)...20 { _ = receive(id, at: id) }
      let verdicts = [receive(18, at: 18), receive(15, at: 15), receive(20, at: 20), receive(21, at: 21)]
      #expect(verdicts == [.again, .again, .old, .followed])
      // The number of another message, or of one too long ago.
      #expect(receive(19, at: 40) == .gap && !bridge.isLive)
    }
  }

  @Test("beyond its bounds the older half is dropped, and a snapshot from before the rest is stale")
  func bounded() {
    var bridge = SnapshotBridge(rule: .binanceSpot)
    for id in 1...Int64(SnapshotBridge.messageLimit + 1) { #expect(receive(&bridge, id, id) == .kept) }
    #expect(bridge.updates.count == SnapshotBridge.messageLimit / 2 + 1)
    #expect(bridge.isStale(100))
    let id = bridge.updates[0].numbers.first
    #expect(!bridge.isStale(id - 1))
    var applied: [Int64] = []
    let isWhole = bridge.bridge(id - 1) { _, update, bids, _ in
      applied += bids.map(\.price)
      #expect(bids[bids.startIndex].price == update.numbers.first)
    }
    #expect(isWhole)
    #expect(applied == Array(id...Int64(SnapshotBridge.messageLimit + 1)))

    bridge.reset()
    let many = Array(repeating: PriceLevel(price: 1, size: 1), count: 6000)
    for id in Int64(1)...10 {
      _ = bridge.receive(UpdateNumbers(first: id, last: id), bids: many[...], asks: [], time: .distantPast)
      #expect(bridge.updates.count <= 3)
    }
  }

  @Test("a snapshot from before what the book has had is stale, also where nothing has come since it was lost")
  func olderThanTheLost() {
    var bridge = SnapshotBridge(rule: .binanceSpot)
    for id in Int64(1)...5 { _ = receive(&bridge, id, id) }
    let isWhole = bridge.bridge(2) { _, _, _, _ in }
    #expect(isWhole)
    let verdict = receive(&bridge, 6, 6)
    #expect(verdict == .followed)
    bridge.reset()
    #expect(bridge.isStale(5))
    #expect(!bridge.isStale(6) && !bridge.isStale(7))
    // One that comes again is nothing. One that comes late says nothing of what was lost; two that follow each other
    // do: the venue has begun its numbers anew.
    let again = receive(&bridge, 2, 2)
    #expect(again == .again && bridge.updates.isEmpty)
    let late = receive(&bridge, 2, 2, at: 7)
    #expect(late == .kept)
    #expect(bridge.isStale(1) && bridge.isStale(2) && bridge.isStale(5))
    let next = receive(&bridge, 3, 3, at: 8)
    #expect(next == .kept)
    #expect(!bridge.isStale(1) && bridge.isStale(0))
  }

  @Test("a hole among the kept updates keeps what comes after it")
  func holeInBuffer() {
    var bridge = SnapshotBridge(rule: .binanceSpot)
    for id in [Int64(1), 2, 5, 6] { _ = receive(&bridge, id, id) }
    var isWhole = bridge.bridge(1) { _, _, _, _ in }
    #expect(!isWhole)
    #expect(!bridge.isLive)
    #expect(bridge.updates.map(\.numbers.first) == [5, 6])
    var applied: [Int64] = []
    isWhole = bridge.bridge(5) { verdict, _, bids, _ in if verdict != .old { applied += bids.map(\.price) } }
    #expect(isWhole)
    #expect(applied == [6])
  }

  @Test("chained numbers need only another rule")
  func chained() {
    // Binance futures: drop u < L; join U <= L <= u or pu == L; then pu == last.
    var bridge = SnapshotBridge(rule: .binanceFutures)
    func receive(_ first: Int64, _ last: Int64, _ previous: Int64) -> BookKeeper.Verdict {
      bridge.receive(
        UpdateNumbers(first: first, last: last, previous: previous), bids: [], asks: [], time: .distantPast)
    }
    #expect(receive(100, 110, 90) == .kept)
    var verdicts: [BookKeeper.Verdict] = []
    let isWhole = bridge.bridge(110) { verdict, _, _, _ in verdicts.append(verdict) }
    #expect(isWhole)
    #expect(verdicts == [.joined])
    #expect(receive(150, 160, 110) == .followed)
    #expect(receive(161, 170, 150) == .gap)
  }

  @Test("any stream with drops and any snapshot ends in the book of the truth", arguments: testSeeds(20))
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var bridge = SnapshotBridge(rule: .binanceSpot)
    var id: Int64 = 0
    // The book is its newest id: each update must take it from the id before to its own.
    var stands: Int64?
    for _ in 0..<2000 {
      let next = id + Int64.random(in: 1...4, using: &random)
      let numbers = UpdateNumbers(first: id + 1, last: next)
      id = next
      if Int.random(in: 0..<40, using: &random) > 0 {
        switch bridge.receive(numbers, bids: [], asks: [], time: .distantPast) {
        case .joined, .followed:
          #expect(stands.map { numbers.first <= $0 + 1 && numbers.last > $0 } == true, "seed \(seed)")
          stands = numbers.last
        case .gap: stands = nil
        default: break
        }
      }
      if !bridge.isLive, Int.random(in: 0..<5, using: &random) == 0 {
        let snapshot = max(0, id - Int64.random(in: 0...30, using: &random))
        guard !bridge.isStale(snapshot) else { continue }
        stands = snapshot
        let isWhole = bridge.bridge(snapshot) { verdict, update, _, _ in
          guard verdict != .old else { return }
          #expect(update.numbers.first <= stands! + 1 && update.numbers.last > stands!, "seed \(seed)")
          stands = update.numbers.last
        }
        if !isWhole { stands = nil }
      }
    }
    #expect(bridge.isLive == (stands != nil), "seed \(seed)")
  }
}
