import Bytes
import MarketData
import Testing

@testable import Venues

/// A refusal belongs to the symbol and the channel of its request. One of something beside the book touches no book, is
/// told of, and is asked for again on its schedule.
@Suite("Channels that are refused beside their book")
struct ChannelRefusalTests {
  /// Runs for some minutes with data on the book, and gathers what is sent of `word`, by seconds.
  private func seconds(
    _ feed: EngineHarness, _ total: Int, of word: String, _ each: (Int) -> Void = { _ in }
  ) -> [Int] {
    var found: [Int] = []
    for second in 1...total {
      feed.wait(1)
      if feed.sent.contains(where: { $0.contains("subscribe") && $0.contains(word) }) { found.append(second) }
      each(second)
    }
    return found
  }

  private func kraken() -> (EngineHarness, [String]) {
    let feed = EngineHarness(Kraken.venue, ["ETH-USD"])
    feed.isAnswered = { _ in false }
    feed.connect()
    feed.receive(KrakenDialectTests.pairs)
    return (feed, feed.sent)
  }

  private static let snapshot =
    #"{"channel":"book","type":"snapshot","data":[{"symbol":"ETH/USD","bids":[{"price":1797.24,"qty":0.43393711}],"asks":[{"price":1797.25,"qty":1.40355852}],"checksum":1257516027}]}"#

  /// The number of the request that subscribes a channel.
  private func number(_ sent: [String], _ channel: String) -> String {
    let text = sent.last { $0.contains("\"channel\":\"\(channel)\"") } ?? ""
    return text.split(separator: "\"req_id\":").last.map { String($0.prefix(while: \.isNumber)) } ?? "0"
  }

  private func refusal(_ id: String, _ reason: String) -> String {
    #"{"error":"\#(reason)","method":"subscribe","success":false,"symbol":"ETH/USD","req_id":\#(id)}"#
  }

  private func acknowledgement(_ id: String, _ channel: String) -> String {
    #"{"method":"subscribe","result":{"channel":"\#(channel)","symbol":"ETH/USD"},"success":true,"req_id":\#(id)}"#
  }

  @Test(
    "Kraken: a ticker or trade that is refused, before or after the book is live", arguments: ["ticker", "trade"],
    [false, true])
  func krakenRefusal(_ channel: String, isLive: Bool) {
    let (feed, sent) = kraken()
    if isLive { feed.receive(Self.snapshot) }
    feed.receive(refusal(number(sent, channel), "Subscription refused"))
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty && feed.resets.isEmpty)
    if !isLive { feed.receive(Self.snapshot) }
    for other in ["book", "ticker", "trade"] where other != channel {
      feed.receive(acknowledgement(number(sent, other), other))
    }
    #expect(feed.state(0) == .live)
    let found = seconds(feed, 400, of: "\"channel\":\"\(channel)\"")
    #expect(found.first.map { 58...62 ~= $0 } == true, "\(found)")
    // The book goes on.
    feed.receive(
      #"{"channel":"book","type":"update","data":[{"symbol":"ETH/USD","bids":[{"price":1797.24,"qty":0.5}],"asks":[],"checksum":1171560859,"timestamp":"2025-05-06T09:17:26.208075Z"}]}"#
    )
    #expect(feed.state(0) == .live && feed.books.count == 1)
  }

  @Test(
    "Kraken: a refusal for the rate is asked for again as soon as it may be, whatever it was for",
    arguments: ["book", "ticker", "trade"])
  func krakenRate(_ channel: String) {
    let (feed, sent) = kraken()
    for other in ["book", "ticker", "trade"] where other != channel {
      feed.receive(acknowledgement(number(sent, other), other))
    }
    feed.receive(refusal(number(sent, channel), "Exceeded msg rate"))
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    let found = seconds(feed, 8, of: "\"channel\":\"\(channel)\"")
    #expect(found == [5], "\(found)")
  }

  @Test("OKX: a ticker that is refused, and any refusal that names nothing", arguments: ["60018", "60012", "60014"])
  func okx(_ code: String) {
    let feed = EngineHarness(OKX.venue, ["BTC-USDT"])
    feed.isAnswered = { _ in false }
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, OKXDialectTests.lists["SPOT"] ?? "")
    feed.connect()
    let sent = feed.sent[0]
    let id = sent.split(separator: "\"id\":\"").first.map { String($0.prefix(while: \.isNumber)) } ?? "0"
    func acknowledge(_ channel: String) {
      feed.receive(
        #"{"id":"\#(id)","event":"subscribe","arg":{"channel":"\#(channel)","instId":"BTC-USDT"},"connId":"a"}"#)
    }
    for channel in ["books", "bbo-tbt", "trades"] { acknowledge(channel) }
    feed.receive(
      OKXDialectTests.book(
        "snapshot", 100, -1, bids: #"["80688.1","0.5","0","1"]"#, asks: #"["80691.5","0.2","0","1"]"#))
    feed.receive(
      #"{"event":"error","code":"\#(code)","msg":"Wrong URL or channel:tickers,instId:BTC-USDT doesn't exist.","connId":"a"}"#
    )
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty && feed.state(0) == .live)
    let found = seconds(feed, 100, of: "tickers") { second in
      if second % 10 == 0 { feed.receive("pong") }
    }
    // One that names its argument has been refused for a while; the others have not been answered.
    #expect(found.first.map { code == "60018" ? 58...62 ~= $0 : 9...12 ~= $0 } == true, "\(found)")
    #expect(feed.state(0) == .live)
  }

  @Test("Gate: trades that are refused", arguments: [false, true])
  func gate(isLive: Bool) {
    let feed = EngineHarness(Gate.venue, ["BTC-USDT"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, GateDialectTests.list)
    feed.connect()
    let request = feed.sent.first { $0.contains("spot.trades") } ?? ""
    let id = request.split(separator: "\"id\":").last?.prefix(while: \.isNumber) ?? "0"
    if isLive { feed.receive(GateDialectTests.full(100, bids: #"["1","1"]"#, asks: #"["2","1"]"#)) }
    feed.receive(
      #"{"id":\#(id),"channel":"spot.trades","event":"subscribe","error":{"code":2,"message":"refused"},"result":{"status":"fail"}}"#
    )
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    feed.receive(GateDialectTests.full(101, bids: #"["1","1"]"#, asks: #"["2","1"]"#))
    #expect(feed.state(0) == .live)
    #expect(seconds(feed, 70, of: "spot.trades").first.map { 58...62 ~= $0 } == true)
    #expect(feed.state(0) == .live)
  }

  @Test("Gate's bridged book: without an answer to its subscription no snapshot is asked for")
  func bridged() {
    let feed = EngineHarness(Gate.venue(.bridged), ["BTC-USDT"])
    feed.isAnswered = { _ in false }
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, GateDialectTests.list)
    feed.connect()
    var isGivenUp = false
    for _ in 0..<45 {
      feed.wait(1)
      #expect(feed.gets.isEmpty)
      isGivenUp = isGivenUp || feed.actions.contains { if case .reconnect = $0 { true } else { false } }
    }
    #expect(isGivenUp)
  }

  @Test("Bybit: one bad topic, which is not the book's, goes alone; answers that never come are bounded")
  func bybit() {
    let feed = BybitDialectTests.live()
    #expect(feed.state(0) == .live)
    feed.disconnect()
    feed.prepare()
    for _ in 0..<3 { if let get = feed.gets.first { feed.respond(get.request, 200, BybitDialectTests.spotList) } }
    feed.connect()
    let request = feed.sent.first { $0.contains("tickers.BTCUSDT") } ?? ""
    let id = request.split(separator: "\"req_id\":\"").last?.prefix(while: \.isNumber) ?? "0"
    feed.receive(
      #"{"success":false,"ret_msg":"error:handler not found,topic:tickers.BTCUSDT","conn_id":"a","req_id":"\#(id)","op":"subscribe"}"#
    )
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    let again =
      feed.sent
      + {
        feed.wait(1); return feed.sent
      }()
    #expect(again.contains { $0.contains("orderbook.200.BTCUSDT") && !$0.contains("tickers.BTCUSDT") }, "\(again)")
  }
}
