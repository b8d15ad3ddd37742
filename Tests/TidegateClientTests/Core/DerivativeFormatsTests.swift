import Foundation
import Testing

@testable import TidegateClient

@Suite("Perpetuals as the client shows them")
struct DerivativeFormatsTests {
  @Test("a derivative has what the message has, and nothing of the one before")
  func derivative() throws {
    var it = CoreHarness(StreamRequest.derivative("kraken:BTC-USD").untyped)
    it.live("derivative")
    let step = it.receive(
      CoreHarness.message(
        "snapshot", "derivative",
        #"{"mark":"64123.45678","funding_rate":"-0.000076","funding_interval_s":28800,"next_funding":1790003604000000,"continuous":true,"open_interest":"2","computed":["next_funding"],"polled":["open_interest"],"as_of":{"mark":1790000004000000}}"#,
        seq: 1))
    guard case .derivative(let value)? = step.values.first else {
      Issue.record("\(step.events)")
      return
    }
    #expect(value.mark?.description == "64123.45678" && value.fundingRate?.description == "-0.000076")
    #expect(value.fundingInterval == .seconds(28_800) && value.isContinuous && value.index == nil)
    #expect(value.nextFunding == Date(timeIntervalSince1970: 1_790_003_604))
    #expect(value.polled == ["open_interest"] && value.computed == ["next_funding"])
    #expect(value.asOf == ["mark": Date(timeIntervalSince1970: 1_790_000_004)])
    let next = it.receive(
      CoreHarness.message("update", "derivative", #"{"index":"1","as_of":{}}"#, prev: 1, seq: 2))
    guard case .derivative(let second)? = next.values.first else {
      Issue.record("\(next.events)")
      return
    }
    #expect(second.index?.description == "1" && second.mark == nil && !second.isContinuous)
  }

  private static func liquidation(_ time: Int, _ kind: String = "bankruptcy") -> String {
    #"{"position":"long","side":"sell","price":"0.021436","price_kind":"\#(kind)","size":"6666","value":"142.892376","time":\#(time)}"#
  }

  /// In µs since 1970; a date is exact to 1 µs.
  private static func times(_ step: CoreHarness.Step) -> [[Int]] {
    step.values.compactMap {
      guard case .liquidations(let list) = $0 else { return nil }
      return list.map { Int(($0.time.timeIntervalSince1970 * 1_000_000).rounded()) }
    }
  }

  @Test("each liquidation is an event, once; after a snapshot only those that are new are")
  func liquidations() {
    var it = CoreHarness(StreamRequest.liquidations("kraken:BTC-USD").untyped)
    it.live("liquidations")
    let first = it.receive(
      CoreHarness.message(
        "snapshot", "liquidations", "{\"liquidations\":[\(Self.liquidation(1))],\"complete\":false}", seq: 1))
    #expect(Self.times(first) == [[1]])
    guard case .value(.liquidations(let list), let info)? = first.events.first else {
      Issue.record("\(first.events)")
      return
    }
    #expect(info.isComplete == false && list[0].position == .long && list[0].side == .sell && list[0].id == nil)
    #expect(list[0].priceKind == .bankruptcy && list[0].value?.description == "142.892376")
    let second = it.receive(
      CoreHarness.message(
        "update", "liquidations",
        "{\"liquidations\":[\(Self.liquidation(2)),\(Self.liquidation(3, "settled"))]}", prev: 1, seq: 2))
    #expect(Self.times(second) == [[2, 3]])
    let again = it.receive(
      CoreHarness.message(
        "snapshot", "liquidations",
        #"{"liquidations":[\#(Self.liquidation(1)),\#(Self.liquidation(2)),\#(Self.liquidation(3, "settled")),\#(Self.liquidation(4))],"complete":false}"#,
        seq: 3))
    #expect(Self.times(again) == [[4]])
    let gap = it.receive(
      CoreHarness.message(
        "update", "liquidations", "{\"liquidations\":[\(Self.liquidation(6))]}", prev: 4, seq: 5))
    #expect(gap.events.contains { if case .gap = $0 { true } else { false } }, "\(gap.events)")
    #expect(Self.times(gap) == [[6]])
  }
}
