import Bytes
import MarketData
import Portfolio
import Testing

@Suite("Ledgers")
struct LedgerTests {
  private func number(_ mantissa: Int64, _ scale: UInt8 = 0) -> Decimal64 {
    Decimal64(mantissa: mantissa, scale: scale)
  }

  private func ledger(
    _ method: CostMethod, _ transactions: (PortfolioTransaction.Kind, Int64, Int64?)...
  ) throws -> AssetLedger {
    var ledger = AssetLedger(asset: "BTC", currency: "USD", method: method)
    for (kind, quantity, price) in transactions {
      try ledger.apply(
        PortfolioTransaction(
          kind, "BTC", quantity: number(quantity), price: price.map { number($0) }, time: Timestamp(microseconds: 0)))
    }
    return ledger
  }

  @Test("first in, first out sells the oldest; the average sells the mean")
  func methods() throws {
    let fifo = try ledger(.fifo, (.buy, 2, 100), (.buy, 2, 200), (.sell, 3, 300))
    #expect(fifo.realised.text == "500" && fifo.cost.text == "200" && fifo.quantity.text == "1")
    let average = try ledger(.average, (.buy, 2, 100), (.buy, 2, 200), (.sell, 3, 300))
    #expect(average.realised.text == "450" && average.cost.text == "150")
  }

  @Test("what is rounded off a partial cost stays with the rest")
  func thirds() throws {
    let ledger = try ledger(.average, (.buy, 3, 1), (.fee, 1, nil), (.sell, 1, 0), (.sell, 1, 0))
    #expect(ledger.realised.text == "-3" && ledger.cost.isZero)
  }

  @Test("a deposit without a price makes the cost unknown until all is gone, and what was sold of it for good")
  func unknownCost() throws {
    var ledger = try ledger(.fifo, (.deposit, 1, nil), (.buy, 1, 100))
    #expect(!ledger.isCostKnown && ledger.isRealisedKnown)
    try ledger.apply(
      PortfolioTransaction(.sell, "BTC", quantity: number(2), price: number(5), time: Timestamp(microseconds: 0)))
    #expect(ledger.isCostKnown && !ledger.isRealisedKnown)
  }

  @Test("a refused transaction changes nothing")
  func refused() throws {
    var ledger = try ledger(.fifo, (.buy, 1, 100))
    let before = ledger
    #expect(throws: LedgerError.oversold(asset: "BTC")) {
      try ledger.apply(
        PortfolioTransaction(.withdrawal, "BTC", quantity: number(2), time: Timestamp(microseconds: 0)))
    }
    #expect(throws: LedgerError.self) {
      try ledger.apply(PortfolioTransaction(.buy, "BTC", quantity: number(1), time: Timestamp(microseconds: 0)))
    }
    #expect(ledger == before)
  }
}
