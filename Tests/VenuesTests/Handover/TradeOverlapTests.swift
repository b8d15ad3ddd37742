import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Trades of two connections")
struct TradeOverlapTests {
  private let now = Timestamp(microseconds: 1_700_000_000_000_000)

  private func key(_ number: UInt64, _ instrument: Int32 = 0) -> TradeKey {
    TradeKey(instrument: instrument, id: TradeID(number))
  }

  private func held(_ number: UInt64, _ instrument: Int32 = 0, time: Timestamp? = nil) -> TradeOverlap.Held {
    let trade = Trade(
      instrument: InstrumentID(Int(instrument)), id: TradeID(number), price: 1, size: 1, side: .buy, time: time ?? now)
    return .init(key: key(number, instrument), trade: trade, priceScale: 0, sizeScale: 0)
  }

  @Test("at the change only what the old connection did not bring is published, in its order; afterwards nothing twice")
  func once() {
    let overlap = TradeOverlap()
    for number: UInt64 in 1...5 { overlap.willPublish(key(number), at: now, now: now) }
    for number: UInt64 in 3...8 { overlap.hold(held(number)) }
    overlap.willPublish(key(6), at: now, now: now)
    // The same number in another market is another trade.
    overlap.hold(held(4, 1))
    let rest = overlap.change(now: now)
    #expect(rest.map(\.key) == [key(7), key(8), key(4, 1)])
    #expect(overlap.isKnown(key(5), at: now) && overlap.isKnown(key(6), at: now) && !overlap.isKnown(key(9), at: now))
    #expect(overlap.endsAt == now + TradeOverlap.tail && overlap.droppedTwice == 2)
  }

  @Test("what the new connection lacks shows once everything is to come there, and no more when it has come")
  func missing() {
    let overlap = TradeOverlap()
    overlap.willPublish(key(1), at: now, now: now)
    #expect(overlap.missingSince == nil)
    overlap.compare()
    overlap.hold(held(2))
    overlap.willPublish(key(2), at: now, now: now + 1)
    #expect(overlap.missingSince == nil)
    overlap.willPublish(key(3), at: now, now: now + 2)
    overlap.willPublish(key(4), at: now, now: now + 3)
    #expect(overlap.missingSince == now + 2)
    overlap.hold(held(3))
    #expect(overlap.missingSince == now + 3)
    overlap.compare()
    #expect(overlap.missingSince == nil)
  }

  @Test("a name that the venue uses again for a later trade is another trade, and the same trade may be dated apart")
  func usedAgain() {
    let overlap = TradeOverlap()
    overlap.willPublish(key(1), at: now, now: now)
    overlap.willPublish(key(2), at: now, now: now)
    overlap.hold(held(1, time: now + 10 * Microseconds.second))
    overlap.hold(held(2, time: now + 4 * Microseconds.second))
    #expect(overlap.change(now: now).map(\.key) == [key(1)])
    #expect(overlap.isKnown(key(1), at: now) && !overlap.isKnown(key(1), at: .distantFuture))
    #expect(!overlap.isKnown(key(1), at: Timestamp(microseconds: .min)))
  }

  @Test("trades without a name are neither kept nor left out")
  func nameless() {
    let overlap = TradeOverlap()
    let nameless = TradeKey(instrument: 0, id: TradeID([UInt8]().span.bytes))
    overlap.compare()
    overlap.willPublish(nameless, at: now, now: now)
    #expect(overlap.missingSince == nil && !overlap.isKnown(nameless, at: now))
  }
}
