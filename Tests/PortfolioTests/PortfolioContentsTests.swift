import Bytes
import MarketData
import Portfolio
import Testing

@Suite("Portfolios as they are sent")
struct PortfolioContentsTests {
  private static let now = Timestamp(microseconds: 1_795_348_800_000_000)

  private func holdings(_ text: String) throws -> [PortfolioContents.Holding] {
    let bytes = Array(text.utf8)
    return try PortfolioForm.holdings(bytes.span.bytes)
  }

  private func positions(_ text: String) throws -> [PortfolioContents.Position] {
    let bytes = Array(text.utf8)
    return try PortfolioForm.positions(bytes.span.bytes)
  }

  private func transaction(_ text: String) throws -> PortfolioTransaction {
    let bytes = Array(text.utf8)
    return try PortfolioForm.transaction(bytes.span.bytes, now: Self.now)
  }

  @Test("reads what it writes")
  func roundTrip() throws {
    let text =
      #"[{"symbol":"a:B-C","side":"short","size":"0.1","leverage":"10","entry":"64000.5"},"#
      + #"{"symbol":"a:D-E","side":"long","size":"1","leverage":"1","entry":"2","maintenance":"0.005"}]"#
    var out = ByteBuffer()
    try positions(text).append(to: &out)
    #expect(out.description == text)
    let made = #"{"kind":"buy","asset":"BTC","quantity":"0.5","price":"40000","fee":"1.5","time":17}"#
    var again = ByteBuffer()
    let transaction = try transaction(made)
    again.appendObject { transaction.appendFields(to: &$0) }
    #expect(again.description == made)
    #expect(try self.transaction(#"{"kind":"fee","asset":"BTC","quantity":1}"#).time == Self.now)
    #expect(
      try holdings(#"[{"asset":"BTC","quantity":1.5,"cost":"20"}]"#).first?.cost == Decimal64(mantissa: 20, scale: 0))
  }

  @Test(
    "what cannot be is refused, and the error names its field",
    arguments: [
      (#"[{"asset":"BTC","quantity":"0"}]"#, "holdings[0].quantity"),
      (#"[{"asset":"BTC","quantity":"-1"}]"#, "holdings[0].quantity"),
      (#"[{"asset":"BTC","quantity":"1e30"}]"#, "holdings[0].quantity"),
      (#"[{"asset":"B C","quantity":"1"}]"#, "holdings[0].asset"),
      (#"[{"quantity":"1"}]"#, "holdings[0].asset"),
      (#"[{"asset":"A","quantity":"1"},{"asset":"A","quantity":"1"}]"#, "holdings[1].asset"),
      (#"[{"asset":"A","quantity":"1","quantity":"2"}]"#, "holdings[0].quantity"),
      (#"[{"asset":"A","quantity":"1","cots":"2"}]"#, "holdings[0].cots"),
      (#"{}"#, "holdings"), (#"["#, "holdings"), (#"[1]"#, "holdings"),
    ])
  func refusedHoldings(_ text: String, _ field: String) throws {
    let error = #expect(throws: PortfolioFormError.self) { try holdings(text) }
    #expect(error?.field == field, "\(error.map { "\($0)" } ?? "")")
  }

  @Test(
    "positions and transactions the same",
    arguments: [
      (#"{"kind":"gift","asset":"A","quantity":"1"}"#, "kind"),
      (#"{"kind":"buy","asset":"A"}"#, "quantity"),
      (#"{"kind":"buy","asset":"A","quantity":"1","time":1795348800000001}"#, "time"),
      (#"{"kind":"buy","asset":"A","quantity":"1","price":"-1"}"#, "price"),
      (#"{"kind":"buy","asset":"A","quantity":"1","note":"x"}"#, "note"),
    ])
  func refusedTransactions(_ text: String, _ field: String) throws {
    let error = #expect(throws: PortfolioFormError.self) { try transaction(text) }
    #expect(error?.field == field)
  }

  @Test("a list is bounded, a leverage, and a required margin")
  func bounds() throws {
    let one = #"{"symbol":"a:B-C","side":"short","size":"1","entry":"1"}"#
    let limit = PortfolioContents.positionLimit
    #expect(try positions("[" + Array(repeating: one, count: limit).joined(separator: ",") + "]").count == limit)
    #expect(throws: PortfolioFormError.self) {
      try positions("[" + Array(repeating: one, count: limit + 1).joined(separator: ",") + "]")
    }
    for maintenance in ["0", "1", "1.5"] {
      let error = #expect(throws: PortfolioFormError.self) {
        try positions(#"[{"symbol":"a:B-C","side":"long","size":"1","entry":"1","maintenance":"\#(maintenance)"}]"#)
      }
      #expect(error?.field == "positions[0].maintenance")
    }
    for leverage in ["0.5", "1000.1", "0"] {
      #expect(throws: PortfolioFormError.self) {
        try positions(#"[{"symbol":"a:B-C","side":"long","size":"1","entry":"1","leverage":"\#(leverage)"}]"#)
      }
    }
  }
}
