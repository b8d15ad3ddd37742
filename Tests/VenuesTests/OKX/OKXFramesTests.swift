import MarketData
import Testing

@testable import Venues

@Suite("OKX' frames as recorded in 2026")
struct OKXFramesTests {
  private static func frame(_ channel: String, _ action: String, _ data: String) -> String {
    #"{"arg":{"channel":"\#(channel)","instId":"BTC-USDT"},\#(action)"data":[\#(data)]}"#
  }

  @Test("the checksum is 0 in every frame of a book; seqId and prevSeqId link them")
  func checksum() throws {
    let feed = try EngineHarness.connected("okx", ["BTC-USDT"], market: "mixed")
    feed.receive(
      Self.frame(
        "books", #""action":"snapshot","#,
        #"{"asks":[["64005.1","0.5","0","3"]],"bids":[["64005","0.25","0","1"]],"ts":"1785552833078","checksum":0,"seqId":700,"prevSeqId":-1}"#
      ))
    #expect(feed.error == nil && feed.state(0) == .live)
    feed.receive(
      Self.frame(
        "books", #""action":"update","#,
        #"{"asks":[["64005.1","0","0","0"],["64005.2","2","0","1"]],"bids":[],"ts":"1785552833178","checksum":0,"seqId":715,"prevSeqId":700}"#
      ))
    #expect(feed.state(0) == .live && feed.shownAsks == ["64005.2 2"])
    // Nothing has changed: the number stands still.
    feed.receive(
      Self.frame(
        "books", #""action":"update","#,
        #"{"asks":[],"bids":[],"ts":"1785552893178","checksum":0,"seqId":715,"prevSeqId":715}"#))
    #expect(feed.error == nil && feed.state(0) == .live && feed.engine.symbolCounts[0].gaps == 0)
    feed.receive(
      Self.frame(
        "books", #""action":"update","#,
        #"{"asks":[],"bids":[["64005","0","0","0"]],"ts":"1785552893278","checksum":0,"seqId":720,"prevSeqId":716}"#))
    #expect(feed.state(0) != .live && feed.engine.symbolCounts[0].gaps == 1)
  }

  @Test("quotes and trades carry numbers of the book, trades also how many they are and where from")
  func numbered() throws {
    let feed = try EngineHarness.connected("okx", ["BTC-USDT"], market: "mixed")
    feed.receive(
      Self.frame(
        "bbo-tbt", "",
        #"{"asks":[["64005.1","0.5","0","3"]],"bids":[["64005","0.25","0","1"]],"ts":"1785552833078","seqId":701}"#))
    #expect(feed.error == nil && feed.quotes.count == 1)
    feed.receive(
      Self.frame(
        "trades", "",
        #"{"instId":"BTC-USDT","tradeId":"130639474","px":"64005.1","sz":"0.12060306","side":"buy","ts":"1785552833897","count":"3","source":"0","seqId":702}"#
      ))
    #expect(feed.error == nil && feed.trades.count == 1 && feed.trades[0].id.text == "130639474")
  }
}
