import Bytes
import Testing

@testable import MarketData

@Suite("Liquidations")
struct LiquidationTests {
  private static func liquidation(
    _ position: Liquidation.Position = .long, price: Int64 = 21_436, size: Int64 = 6_666, time: Timestamp
  ) -> Liquidation {
    Liquidation(
      instrument: InstrumentID(0), position: position, price: Decimal64(mantissa: price, scale: 6),
      priceKind: .bankruptcy, size: Decimal64(mantissa: size, scale: 0), time: time)
  }

  @Test("a long is sold, a short is bought; the value is price times size")
  func sides() {
    let now = Timestamp(microseconds: 1_790_000_000_000_000)
    #expect(Self.liquidation(.long, time: now).orderSide == .sell)
    #expect(Self.liquidation(.short, time: now).orderSide == .buy)
    // 0.021436 × 6666
    #expect(Self.liquidation(time: now).value == Decimal64(mantissa: 142_892_376, scale: 6))
  }

  @Test("each is reported once; one of the past is kept for those who come, and impossible ones are refused")
  func market() {
    var scene = MarketScene()
    let first = Self.liquidation(time: scene.now)
    scene.batch.events = [.liquidation(first), .liquidation(Self.liquidation(.short, time: scene.now))]
    scene.apply()
    #expect(scene.words == ["liquidations 0 2"])
    scene.batch.events = [.liquidation(first)]
    scene.apply()
    #expect(scene.words == [], "a venue repeats the last ones to a new connection")
    scene.batch.events = [.liquidation(Self.liquidation(time: scene.now - 61_000_000))]
    scene.apply()
    #expect(scene.words == [])
    #expect(scene.market[InstrumentID(0)].liquidations.last(9).count == 3)
    scene.batch.events = [
      .liquidation(Self.liquidation(price: 0, time: scene.now)),
      .liquidation(Self.liquidation(size: 0, time: scene.now)),
    ]
    scene.apply()
    #expect(scene.words == [] && scene.market.refusedValues == 2)
  }

  @Test("the last ones are kept, the oldest goes first")
  func bounded() {
    var recent = RecentLiquidations()
    for number in 0..<70 {
      let isNew = recent.add(
        Self.liquidation(time: Timestamp(microseconds: 1_790_000_000_000_000 + Int64(number))))
      #expect(isNew)
    }
    #expect(recent.last(100).count == RecentLiquidations.limit)
    #expect(recent.last(1).last?.time.microseconds == 1_790_000_000_000_069)
    #expect(recent.last(100).first?.time.microseconds == 1_790_000_000_000_020)
  }
}
