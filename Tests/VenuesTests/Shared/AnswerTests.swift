import Bytes
import Testing

@testable import Venues

@Suite("Answers, read by the names of their fields")
struct AnswerTests {
  @Test("a topic is named by its channel and its market, both of them followed; a number may be in quotes")
  func names() throws {
    let feed = try EngineHarness.connected("okx", ["BTC-USDT"])
    func read<Value>(_ text: String, _ body: (borrowing FieldObject) -> Value) throws(FeedError) -> Value {
      body(try FieldObject(Array(text.utf8).span.bytes, "answer"))
    }
    func topic(_ text: String) throws(FeedError) -> Topic? {
      try read(text) { $0.topic(channel: "c", symbol: "s", feed.engine.facts, feed.engine.known) }
    }
    #expect(try topic(#"{"s":"BTC-USDT","c":"trades"}"#) == Topic(index: 0, channel: 2))
    for text in [#"{"s":"BTC-USDT"}"#, #"{"s":"BTC-USDT","c":"trade"}"#, #"{"s":"BTC-USD","c":"trades"}"#, "{}"] {
      #expect(try topic(text) == nil, "\(text)")
    }
    #expect(try read(#"{"id":"17","n":18}"#) { $0.id("id") == 17 && $0.id("n") == 18 && $0.id("o") == nil })
    #expect(try read(#"{"a":null,"b":false,"c":{}}"#) { !$0.has("a") && $0.has("b") && $0.has("c") && !$0.has("d") })
  }

  @Test(
    "an answer that does not say whether its request was carried out acknowledges nothing",
    arguments: [
      ("binance", "BTCUSDT", "\"id\":", #"{"error":"no","id":ID}"#, #"{"result":null,"id":ID}"#),
      (
        "bybit", "BTCUSDT", "\"req_id\":\"", #"{"success":"yes","req_id":"ID","op":"subscribe"}"#,
        #"{"success":true,"req_id":"ID","op":"subscribe"}"#
      ),
      ("gemini", "BTCUSD", "\"id\":", #"{"id":ID,"status":"fine"}"#, #"{"id":ID,"status":200}"#),
      ("kucoin", "BTC-USDT", "\"id\":\"", #"{"id":"ID","result":1}"#, #"{"id":"ID","result":true}"#),
      ("deribit", "BTC_USDC-PERPETUAL", "\"id\":", #"{"id":ID,"error":7}"#, #"{"id":ID,"result":true}"#),
    ])
  func oddAnswers(venue: String, name: String, key: String, odd: String, good: String) throws {
    for isOdd in [true, false] {
      let feed = try EngineHarness.connected(venue, [name], market: venue == "deribit" ? "mixed" : "spot")
      feed.isAnswered = { _ in false }
      var sent = feed.sent
      if !sent.contains(where: { $0.lowercased().contains("subscribe") }) {
        feed.wait(4)
        sent += feed.sent
      }
      let request = try #require(sent.first { $0.lowercased().contains("subscribe") })
      let start = try #require(request.firstRange(of: key)).upperBound
      let id = String(request[start...].prefix(while: \.isNumber))
      #expect(!feed.engine.requests.desk.states.contains(.acknowledged))
      feed.receive((isOdd ? odd : good).replacing("ID", with: id))
      #expect((feed.error != nil || !feed.failures.isEmpty) == isOdd)
      #expect(feed.engine.requests.desk.states.contains(.acknowledged) == !isOdd)
    }
  }
}
