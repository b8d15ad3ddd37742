import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Crypto.com's frames as recorded in 2022 and 2026")
struct CryptoComFramesTests {
  @Test("a snapshot, a change and an idle change of September 2026, byte for byte")
  func books() throws {
    let feed = try EngineHarness.connected("crypto-com", ["ETHUSD-PERP"], market: "mixed")
    feed.receive(
      #"{"id":-1,"method":"subscribe","code":0,"result":{"instrument_name":"ETHUSD-PERP","subscription":"book.ETHUSD-PERP.50","channel":"book","depth":50,"data":[{"asks":[["2749.62","0.2008","2"],["2749.79","0.0001","1"],["2749.90","0.0008","1"]],"bids":[["2749.61","0.0786","2"],["2749.59","0.0001","1"],["2749.44","0.2000","1"]],"t":1790114273395,"tt":1790114273346,"u":375554806244928,"cs":-1183713967}]}}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live)
    #expect(feed.shownBids == ["2749.61 0.0786", "2749.59 0.0001", "2749.44 0.2"])
    feed.receive(
      #"{"id":-1,"method":"subscribe","code":0,"result":{"instrument_name":"ETHUSD-PERP","subscription":"book.ETHUSD-PERP.50","channel":"book.update","depth":50,"data":[{"update":{"asks":[["2750.20","0","0"],["2753.11","0.2616","1"]],"bids":[["2748.12","0","0"],["2748.10","5.4582","1"]]},"t":1790114273659,"tt":1790114273655,"u":375554807336512,"pu":375554806244928,"cs":1522984915}]}}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live)
    #expect(feed.shownAsks.last == "2753.11 0.2616" && feed.shownBids.last == "2748.1 5.4582")
    feed.receive(
      #"{"id":-1,"method":"subscribe","code":0,"result":{"instrument_name":"ETHUSD-PERP","subscription":"book.ETHUSD-PERP.50","channel":"book.update","depth":50,"data":[{"update":{"asks":[],"bids":[]},"t":1790114280991,"tt":1790114275977,"u":375554807336512,"pu":375554807336512,"cs":1172986441}]}}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live && feed.resets.isEmpty)
  }

  @Test("figures and trades of 2022")
  func others() throws {
    let feed = try EngineHarness.connected(
      "crypto-com", ["APEUSD-PERP", "BTCUSD-PERP", "BTC_USDT"], market: "mixed")
    feed.receive(
      #"{"id":-1,"code":0,"method":"subscribe","result":{"channel":"ticker","instrument_name":"APEUSD-PERP","subscription":"ticker.APEUSD-PERP","id":-1,"data":[{"h":"4.7743","l":"4.6082","a":"4.6121","c":"-0.0144","b":"4.6121","bs":"25","k":"4.6148","ks":"131","i":"APEUSD-PERP","v":"123899","vv":"580747.59","oi":"55851","t":1667320303754}]}}"#
    )
    #expect(feed.error == nil && feed.tickers.map(\.volume) == [Decimal64(mantissa: 123_899, scale: 0)])
    feed.receive(
      #"{"id":-1,"code":0,"method":"subscribe","result":{"channel":"trade","subscription":"trade.BTC_USDT","instrument_name":"BTC_USDT","data":[{"d":"4611686018428108636","t":1667320314770,"p":"20432.51","q":"0.01163","s":"SELL","i":"BTC_USDT"}]}}"#
    )
    #expect(feed.error == nil && feed.trades.map(\.id.text) == ["4611686018428108636"])
    feed.receive(
      #"{"id":-1,"code":0,"method":"subscribe","result":{"channel":"trade","subscription":"trade.BTCUSD-PERP","instrument_name":"BTCUSD-PERP","data":[{"d":"4611686018471467093","t":1667320276193,"p":"20439.5","q":"0.0050","s":"SELL","i":"BTCUSD-PERP"},{"d":"4611686018471467093","t":1667320276193,"p":"20439.5","q":"0.1000","s":"SELL","i":"BTCUSD-PERP"},{"d":"4611686018471467093","t":1667320276193,"p":"20439.5","q":"0.0050","s":"SELL","i":"BTCUSD-PERP"},{"d":"4611686018471467093","t":1667320276193,"p":"20439.5","q":"0.0244","s":"SELL","i":"BTCUSD-PERP"}]}}"#
    )
    #expect(feed.error == nil && feed.trades.map(\.size) == [244, 50, 1_000, 50])
  }
}
