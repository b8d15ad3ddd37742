import MarketData
import Testing

@testable import Venues

@Suite("Coinbase Advanced Trade's frames as recorded in 2026")
struct CoinbaseAdvancedFramesTests {
  @Test("no frame has a client_id, all share one sequence, and times have four to six digits")
  func frames() throws {
    let feed = try EngineHarness.connected("coinbase-advanced", ["BTC-USD", "ETH-USD"])
    func book(_ number: Int, _ product: String, _ type: String, _ time: String, _ updates: String) -> String {
      #"{"channel":"l2_data","timestamp":"2026-08-01T02:53:53.646219Z","sequence_num":\#(number),"events":[{"type":"\#(type)","product_id":"\#(product)","updates":[{"side":"bid","event_time":"\#(time)",\#(updates)}]}]}"#
    }
    let frames = [
      book(
        0, "BTC-USD", "snapshot", "2026-08-01T02:53:53.6462Z", #""price_level":"63004.9","new_quantity":"0.01876947""#),
      book(1, "ETH-USD", "snapshot", "2026-08-01T02:53:53.64621Z", #""price_level":"1877.43","new_quantity":"0.5""#),
      #"{"channel":"heartbeats","timestamp":"2026-08-01T02:53:54.1Z","sequence_num":2,"events":[{"current_time":"2026-08-01 02:53:54.1 +0000 UTC m=+1.5","heartbeat_counter":1}]}"#,
      #"{"channel":"market_trades","timestamp":"2026-08-01T02:53:54.646219Z","sequence_num":3,"events":[{"type":"update","trades":[{"product_id":"BTC-USD","trade_id":"12","price":"63005","size":"0.2","time":"2026-08-01T02:53:54.6462Z","side":"BUY"},{"product_id":"BTC-USD","trade_id":"11","price":"63004","size":"0.1","time":"2026-08-01T02:53:54.64611Z","side":"SELL"}]}]}"#,
      book(4, "BTC-USD", "update", "2026-08-01T02:53:55.646219Z", #""price_level":"63004.9","new_quantity":"0""#),
    ]
    var trades: [String] = []
    for frame in frames {
      feed.receive(frame)
      #expect(feed.error == nil && feed.resets.isEmpty, "\(feed.error?.detail ?? frame)")
      trades += feed.trades.map(\.id.text)
    }
    #expect(trades == ["11", "12"], "in the order of execution, though the newest comes first")
    #expect(feed.state(0) == .live && feed.state(1) == .live && feed.shownBids.isEmpty)
    #expect(feed.engine.symbolCounts.allSatisfy { $0.gaps == 0 })
  }
}
