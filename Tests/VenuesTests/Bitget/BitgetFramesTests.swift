import MarketData
import Testing

@testable import Venues

@Suite("Bitget's frames as recorded in 2026")
struct BitgetFramesTests {
  @Test("a perpetual's book: numbers of 64 bits, a side without changes, times of the book and of the push")
  func perpetual() throws {
    let feed = try EngineHarness.connected("bitget", ["MAVUSDT"], market: "usdt")
    feed.receive(
      #"{"action":"snapshot","arg":{"instType":"USDT-FUTURES","channel":"books","instId":"MAVUSDT"},"data":[{"asks":[["0.01039","4499.23"],["0.0104","116536.86"]],"bids":[["0.01038","4311.15"],["0.01037","175152.28"]],"ts":"1789456510736","seq":1483653649371725838,"pseq":0}],"ts":1789456511968}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live)
    feed.receive(
      #"{"action":"update","arg":{"instType":"USDT-FUTURES","channel":"books","instId":"MAVUSDT"},"data":[{"asks":[],"bids":[["0.00519","30828.52"]],"ts":"1789456512452","seq":1483653649791156272,"pseq":1483653649371725838}],"ts":1789456512453}"#
    )
    #expect(
      feed.error == nil && feed.state(0) == .live
        && feed.books.map(\.time) == [Timestamp(milliseconds: 1_789_456_512_452)])
    #expect(feed.shownBids == ["0.01038 4311.15", "0.01037 175152.28", "0.00519 30828.52"])
    feed.receive(
      #"{"action":"snapshot","arg":{"instType":"USDT-FUTURES","channel":"ticker","instId":"MAVUSDT"},"data":[{"instId":"MAVUSDT","lastPr":"0.01038","bidPr":"0.01038","askPr":"0.01039","bidSz":"1.2043","askSz":"4.5377","open24h":"0.0105","high24h":"0.011","low24h":"0.01","change24h":"-0.00429","fundingRate":"0.0001","nextFundingTime":"1790380800000","markPrice":"0.01038","indexPrice":"0.01038","holdingAmount":"31911.3455999999605","baseVolume":"30736.4509","quoteVolume":"2588367727.81816","openUtc":"0.0104","symbolType":"1","symbol":"MAVUSDT","ts":"1790358794983"}],"ts":1790358794987}"#
    )
    #expect(feed.error == nil && feed.tickers.map(\.last) == [1_038])
  }

  @Test("a pair's update, quote, trades and candles")
  func pair() throws {
    let feed = try EngineHarness.connected("bitget", ["BTCUSDT"], market: "spot")
    feed.receive(
      #"{"action":"snapshot","arg":{"instType":"SPOT","channel":"books","instId":"BTCUSDT"},"data":[{"asks":[["83744.78","0.1"]],"bids":[["83715.69","0.074435"]],"ts":"1790358811300","seq":850169286126,"pseq":0}],"ts":1790358811301}"#
    )
    feed.receive(
      #"{"action":"update","arg":{"instType":"SPOT","channel":"books","instId":"BTCUSDT"},"data":[{"asks":[["83744.78","0"],["83747.24","0.238934"]],"bids":[],"ts":"1790358811400","seq":850169288983,"pseq":850169286126}],"ts":1790358811401}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live && feed.shownAsks == ["83747.24 0.238934"])
    feed.receive(
      #"{"action":"snapshot","arg":{"instType":"SPOT","channel":"books1","instId":"BTCUSDT"},"data":[{"asks":[["83715.7","2.145777"]],"bids":[["83715.69","0.074435"]],"ts":"1790358773905","seq":850167842345,"pseq":0}],"ts":1790358773907}"#
    )
    #expect(feed.error == nil && feed.quotes.count == 1)
    feed.receive(
      #"{"action":"update","arg":{"instType":"SPOT","channel":"trade","instId":"BTCUSDT"},"data":[{"ts":"1788335044368","price":"77600.75","size":"0.010592","side":"buy","tradeId":"1478949857936523268"},{"ts":"1788335044368","price":"77600.75","size":"0.055497","side":"buy","tradeId":"1478949857936523266"}],"ts":1788335044369}"#
    )
    #expect(feed.trades.map(\.id.text) == ["1478949857936523266", "1478949857936523268"])
    feed.receive(
      #"{"action":"snapshot","arg":{"instType":"SPOT","channel":"candle1m","instId":"BTCUSDT"},"data":[["1790358720000","83738.85","83738.85","83715.68","83715.7","0.100386","8404.36639961","8404.36639961"]]}"#
    )
    #expect(feed.error == nil && feed.events.isEmpty && feed.engine.counts.ignored == 1)
  }

  @Test("frames of 2024, which number nothing, are refused where their checksum is missing")
  func old() throws {
    let feed = try EngineHarness.connected("bitget", ["AXSUSDT"], market: "usdt")
    feed.receive(
      #"{"action":"update","arg":{"instType":"USDT-FUTURES","channel":"books","instId":"AXSUSDT"},"data":[{"asks":[["5.085","144.6"]],"bids":[["5.081","536.2"]],"checksum":-1258619028,"ts":"1730332859988"}],"ts":1730332859991}"#
    )
    #expect(feed.error == nil && feed.state(0) != .live)
    feed.receive(
      #"{"action":"snapshot","arg":{"instType":"USDT-FUTURES","channel":"books","instId":"AXSUSDT"},"data":[{"asks":[["5.085","144.6"]],"bids":[["5.081","536.2"]],"checksum":0,"ts":"1730332859988"}],"ts":1730332859991}"#
    )
    #expect(feed.error != nil && feed.state(0) != .live)
  }
}
