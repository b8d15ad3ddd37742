import MarketData
import Portfolio
import Testing

@Suite("The performance curve")
struct PerformanceCurveTests {
  @Test("quantities of then at prices of then; nothing where a price of something held was not observed")
  func values() {
    let moments = (0..<5).map { Timestamp(microseconds: $0 * 10) }
    let btc = PerformanceCurve.Asset(
      quantities: [(Timestamp(microseconds: 10), WideDecimal(1)), (Timestamp(microseconds: 25), WideDecimal(3))],
      prices: [nil, WideDecimal(100), WideDecimal(110), WideDecimal(120), WideDecimal(130)])
    let eth = PerformanceCurve.Asset(
      quantities: [(Timestamp(microseconds: 20), WideDecimal(2)), (Timestamp(microseconds: 40), .zero)],
      prices: [nil, nil, WideDecimal(10), nil, nil])
    let values = PerformanceCurve.values([btc, eth], at: moments)
    #expect(values.map { $0?.text } == ["0", "100", "130", nil, "390"])
  }
}
