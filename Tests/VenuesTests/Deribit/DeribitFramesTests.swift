import MarketData
import Testing

@testable import Venues

@Suite("Deribit's frames as recorded in 2026")
struct DeribitFramesTests {
  @Test("a snapshot prints sizes plainly, the changes of the same book with exponents")
  func exponents() throws {
    let feed = try EngineHarness.connected("deribit", ["BTC_USDC-PERPETUAL"], market: "mixed")
    func book(_ type: String, _ numbers: String, _ bids: String, _ asks: String) {
      feed.receive(
        #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"type":"\#(type)","timestamp":1785552833078,\#(numbers),"instrument_name":"BTC_USDC-PERPETUAL","bids":[\#(bids)],"asks":[\#(asks)]}}}"#
      )
      #expect(feed.error == nil, "\(feed.error?.detail ?? "")")
    }
    book("snapshot", #""change_id":5"#, #"["new",76914.0,1000200.0]"#, #"["new",76914.5,40.0],["new",76915.0,1000.0]"#)
    #expect(feed.shownBids == ["76914 1000200"])
    book(
      "change", #""prev_change_id":5,"change_id":9"#, #"["change",76914.0,1.0002e6],["new",76913.5,3.0e6]"#,
      #"["change",76914.5,1.0e3],["delete",76915.0,0.0],["new",76915.5,2.5e-3]"#)
    #expect(feed.state(0) == .live && feed.engine.symbolCounts[0].sequenceOK == 1)
    #expect(feed.shownBids == ["76914 1000200", "76913.5 3000000"])
    #expect(feed.shownAsks == ["76914.5 1000", "76915.5 0.0025"])
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"ticker.BTC_USDC-PERPETUAL.100ms","data":{"timestamp":1785552833178,"instrument_name":"BTC_USDC-PERPETUAL","funding_8h":-2.1714e-4,"current_funding":-2.1714e-4,"last_price":7.69145e4,"best_bid_price":76914.0,"best_bid_amount":1.0002e6,"best_ask_price":76914.5,"best_ask_amount":1.0e3,"stats":{"volume":1.0e3,"high":77000.0,"low":7.6e4,"price_change":-1.5e-1}}}}"#
    )
    #expect(feed.error == nil, "\(feed.error?.detail ?? "")")
  }
}
