import Bytes
import MarketData
import Testing

@testable import Operations

@Suite("Delivery times")
struct DeliveryTimesTests {
  private let now = Timestamp(microseconds: 1_790_000_000_000_000)

  private func came(_ times: inout DeliveryTimes, age: Int64? = nil, at uptime: UInt64, slot: Int = 0) {
    var changes = MarketChanges()
    if let age {
      let id = InstrumentID(0)
      changes.trades = [
        Trade(instrument: id, id: TradeID(1), price: 1, size: 1, side: .buy, time: now + -age)
      ]
      changes.items = [.trades(id, 0..<1)]
    }
    times.came(changes, slot: slot, now: now, uptime: uptime)
  }

  @Test("a turn that writes counts once, from the oldest message that it is for; one that writes nothing does not")
  func turns() {
    var times = DeliveryTimes()
    came(&times, at: 1_000)
    came(&times, at: 3_000)
    times.wrote(at: 9_000)
    times.endTurn(isHeld: false)
    #expect(times.toSocket.count == 1 && times.toSocket.sum == 8_000)
    #expect(!times.isPending)
    times.wrote(at: 20_000)
    #expect(times.toSocket.count == 1)
  }

  @Test("what another loop did not take keeps its time until it does, and does not count for this loop's clients")
  func held() {
    var times = DeliveryTimes()
    came(&times, at: 1_000)
    times.endTurn(isHeld: true)
    came(&times, at: 50_000)
    #expect(times.offered == 1_000)
    times.wrote(at: 60_000)
    #expect(times.toSocket.sum == 10_000)
    times.endTurn(isHeld: false)
    #expect(times.offered == 0)
  }

  @Test("the age of a trade is counted by feed, and is 0 where the venue's clock is ahead")
  func arrival() {
    var times = DeliveryTimes()
    came(&times, age: 25_000, at: 1, slot: 1)
    came(&times, age: -5_000, at: 1, slot: 1)
    #expect(times.toArrival[0].count == 0)
    #expect(times.toArrival[1].count == 2)
    #expect(times.toArrival[1].sum == 25_000_000)
  }
}
