import Bytes
import Testing

@testable import MarketData

@Suite("Past settlements of funding")
struct FundingHistoryTests {
  private static func settlement(_ hour: Int64, _ rate: Int64) -> FundingSettlement {
    FundingSettlement(
      time: Timestamp(microseconds: hour * Microseconds.hour), rate: Decimal64(mantissa: rate, scale: 6))
  }

  private static func hours(_ history: FundingHistory) -> [Int64] {
    history.settlements.map { $0.time.microseconds / Microseconds.hour }
  }

  @Test("they are in order, once each, and a later list corrects an earlier one")
  func order() {
    var history = FundingHistory()
    let now = Timestamp(microseconds: 100 * Microseconds.hour)
    var changes = [history.take([Self.settlement(16, 3), Self.settlement(0, 1), Self.settlement(8, 2)], now: now)]
    #expect(Self.hours(history) == [0, 8, 16])
    changes.append(history.take([Self.settlement(8, 2)], now: now))
    changes.append(history.take([Self.settlement(8, 5), Self.settlement(24, 4)], now: now))
    #expect(changes == [true, false, true], "the second has nothing new")
    #expect(history.settlements.map(\.rate.mantissa) == [1, 5, 3, 4])
    #expect(Array(history.last(2)) == [Self.settlement(16, 3), Self.settlement(24, 4)])
    #expect(history.last(9).count == 4)
  }

  @Test("what is still to come is left out, and the oldest ones go first")
  func bounds() {
    var history = FundingHistory()
    let now = Timestamp(microseconds: 2_000 * Microseconds.hour)
    var changes = [history.take([Self.settlement(2_001, 1)], now: now)]
    #expect(history.settlements.isEmpty)
    changes.append(history.take((0..<1_500).map { Self.settlement($0, $0) }, now: now))
    #expect(history.settlements.count == FundingHistory.limit && Self.hours(history).first == 500)
    changes.append(history.take([Self.settlement(3, 3)], now: now))
    #expect(changes == [false, true, false], "the last is older than all that are kept")
  }
}
