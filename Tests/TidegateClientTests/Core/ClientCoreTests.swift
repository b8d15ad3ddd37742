import Testing

@testable import TidegateClient

@Suite("Client core: requests")
struct ClientCoreTests {
  @Test("says hello, then subscribes, grouping symbols by channel and parameters")
  func subscribes() {
    var it = CoreHarness(
      .all(
        StreamRequest.status.untyped, StreamRequest.pulse("kraken:BTC-USD", "coinbase:ETH-USD").untyped,
        StreamRequest.book("kraken:BTC-USD", every: .milliseconds(100)).untyped,
        StreamRequest.pulse("kraken:BTC-USD").untyped,
        StreamRequest.sparkline("kraken:BTC-USD", range: .week, points: 24).untyped,
        StreamRequest.candles("kraken:BTC-USD", interval: .hour).untyped))
    #expect(it.start().actions == [.connect])
    #expect(
      it.opened().sent == [
        #"{"op":"hello","id":2,"client":"tidegate-swift/0.2","heartbeat_s":5}"#,
        #"{"op":"subscribe","id":3,"streams":[{"channel":"status"},{"channel":"pulse","symbols":["kraken:BTC-USD","coinbase:ETH-USD"],"group":true},{"channel":"book","symbols":["kraken:BTC-USD"],"depth":25,"interval_ms":100},{"channel":"sparkline","symbols":["kraken:BTC-USD"],"range":"7d","points":24},{"channel":"candles","symbols":["kraken:BTC-USD"],"interval":"1h"}]}"#,
      ])
  }

  @Test("asks for two books of one market in two requests, whose answers tell them apart")
  func parameters() {
    var it = CoreHarness(
      .all(
        StreamRequest.book("kraken:BTC-USD", depth: .levels10).untyped,
        StreamRequest.book("kraken:BTC-USD", depth: .full).untyped))
    _ = it.start()
    let sent = it.opened().sent
    #expect(sent.count == 3 && sent[1].contains(#""depth":10"#) && sent[2].contains(#""depth":"full""#))
    _ = it.receive(CoreHarness.subscribed(id: 4, CoreHarness.item("book", stream: 8)))
    _ = it.receive(CoreHarness.subscribed(id: 3, CoreHarness.item("book", stream: 7)))
    #expect(it.core.streams.numbers[7]?.first?.depth == .levels10 && it.core.streams.numbers[8]?.first?.depth == .full)
  }

  @Test("splits a large subscription into requests")
  func splits() {
    var it = CoreHarness(StreamRequest.pulse((0..<1_000).map { "kraken:C\($0)-USD" }).untyped)
    _ = it.start()
    let sent = it.opened().sent
    #expect(sent.count == 4)
    #expect(sent.allSatisfy { $0.utf8.count < 65_536 })
  }

  @Test("one refused symbol is told, with whose fault it is, and the others go on")
  func refusedItem() {
    var it = CoreHarness(
      .all(StreamRequest.quote("kraken:BTC-USD").untyped, StreamRequest.book("kraken:FOO-USD").untyped))
    _ = it.start()
    _ = it.opened()
    let reply =
      #"{"type":"subscribed","id":3,"total":1,"ok":[\#(CoreHarness.item("quote"))],"failed":[{"channel":"book","symbol":"kraken:FOO-USD","error":{"code":"unknown_symbol","message":"kraken has no FOO-USD","hint":"GET /v1/instruments"}}]}"#
    guard case .refused(let refusal)? = it.receive(reply).events.first else { return #expect(Bool(false)) }
    #expect(refusal.channel == .book && refusal.code == .unknownSymbol && refusal.fault == .request)
    #expect(refusal.description == "kraken:FOO-USD: kraken has no FOO-USD; GET /v1/instruments")
    #expect(it.receive(CoreHarness.quote("update", prev: 10, seq: 11)).values == [CoreHarness.quotePayload("1.5")])
    // Who asks for it again has it asked for again.
    let again = it.subscribe(StreamRequest.book("kraken:FOO-USD").untyped).step.sent
    #expect(again.count == 1 && again[0].contains("kraken:FOO-USD"))
  }

  @Test("what is not there yet is subscribed to again after the time given, and is no failure")
  func notReady() {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    let reply =
      #"{"type":"subscribed","id":3,"total":0,"ok":[],"failed":[{"channel":"quote","symbol":"kraken:BTC-USD","error":{"code":"not_ready","message":"…","retry_after_ms":1000}}]}"#
    #expect(it.receive(reply).isSilent)
    #expect(it.pass(milliseconds: 999).isSilent)
    let again = it.pass(milliseconds: 1).sent
    #expect(again.count == 1 && again[0].contains(#""channel":"quote""#) && again[0].contains("kraken:BTC-USD"))
    // Cancelled meanwhile, it is not.
    _ = it.receive(reply.replacing(#""id":3"#, with: #""id":4"#))
    _ = it.cancel(it.subscription)
    #expect(it.pass(milliseconds: 1_000).sent.isEmpty)
  }

  @Test("a request refused for its rate is repeated after the time given")
  func rateLimited() {
    var it = CoreHarness()
    _ = it.start()
    let sent = it.opened().sent[1]
    let error = #"{"type":"error","id":3,"code":"rate_limited","message":"…","retry":true,"retry_after_ms":400}"#
    #expect(it.receive(error).isSilent)
    #expect(it.pass(milliseconds: 399).isSilent)
    #expect(it.pass(milliseconds: 1).sent == [sent.replacing("\"id\":3", with: "\"id\":4")])
  }

  static let move =
    #""streams":[{"stream":12,"from":1,"channel":"quote","symbol":"kraken:BTC-USD","interval_ms":1000,"epoch":"k","seq":88,"state":"live"}]"#

  @Test("a subscription that was slowed down goes on under its new number")
  func degraded() {
    var it = CoreHarness()
    it.live()
    let notice =
      #"{"type":"notice","code":"slow","action":"degraded","interval_ms":1000,"queued_bytes":262144,\#(Self.move)}"#
    #expect(it.receive(notice).connection == [.notice(.slowedDown(to: .seconds(1)))])
    // What the old stream still had under way is nobody's.
    #expect(it.receive(CoreHarness.quote("update", prev: 10, seq: 11)).isSilent)
    #expect(it.receive(CoreHarness.quote("snapshot", seq: 90, stream: 12)).values.count == 1)
    #expect(it.receive(CoreHarness.quote("update", prev: 90, seq: 91, stream: 12)).values.count == 1)
    #expect(it.receive(CoreHarness.quote("update", prev: 95, seq: 96, stream: 12)).events.short == ["stale gap"])
  }

  @Test("another rate is asked for, followed to the new stream, and kept over a reconnection")
  func configure() {
    var it = CoreHarness()
    it.live()
    #expect(
      it.act { $0.configure(cadence: 1000, now: $1, into: &$2) }.sent == [
        #"{"op":"configure","id":4,"interval_ms":1000}"#
      ])
    _ = it.receive(#"{"type":"configured","id":4,"interval_ms":1000,"total":1,\#(Self.move)}"#)
    #expect(it.core.requests.isEmpty)
    #expect(it.receive(CoreHarness.quote("snapshot", seq: 90, stream: 12)).values.count == 1)
    _ = it.closed(nil)
    _ = it.passToDeadline()
    #expect(it.opened().sent.last?.contains(#""interval_ms":1000"#) == true)
  }

  @Test("streams that swap their numbers are not confused")
  func swap() {
    var it = CoreHarness(StreamRequest.quote("kraken:A-USD", "kraken:B-USD").untyped)
    _ = it.start()
    _ = it.opened()
    func item(_ stream: Int, _ symbol: String, _ from: String = "") -> String {
      #"{"stream":\#(stream),\#(from)"channel":"quote","symbol":"kraken:\#(symbol)-USD","seq":5}"#
    }
    _ = it.receive(CoreHarness.subscribed(id: 3, item(1, "A"), item(2, "B")))
    let swapped = #"[\#(item(2, "A", "\"from\":1,")),\#(item(1, "B", "\"from\":2,"))]"#
    _ = it.receive(#"{"type":"configured","streams":\#(swapped)}"#)
    #expect(it.core.streams.numbers[1]?.map(\.symbol) == ["kraken:B-USD"])
    #expect(it.core.streams.numbers[2]?.map(\.symbol) == ["kraken:A-USD"])
  }

  @Test("a pause outlives a reconnection, and ends with a resume")
  func pause() {
    var it = CoreHarness()
    it.live()
    #expect(it.act { $0.pause(now: $1, into: &$2) }.sent == [#"{"op":"pause","id":4}"#])
    #expect(it.act { $0.pause(now: $1, into: &$2) }.isSilent)
    #expect(it.receive(#"{"type":"paused","id":4}"#).isSilent && it.core.requests.isEmpty)
    _ = it.closed(nil)
    _ = it.passToDeadline()
    #expect(it.opened().sent.last?.contains(#""op":"pause""#) == true)
    let resume = it.act { $0.resume(now: $1, into: &$2) }.sent
    #expect(resume.count == 1 && resume[0].contains(#""op":"resume""#))
  }

  @Test("unknown types and fields are ignored; text that is not JSON ends the connection")
  func tolerance() {
    var it = CoreHarness()
    it.live()
    #expect(it.receive(#"{"type":"weather","data":{"x":[1,2]}}"#).isSilent)
    #expect(
      it.receive(
        #"{"new":{"a":null},"type":"update","channel":"quote","symbol":"kraken:BTC-USD","stream":1,"prev":10,"seq":11,"data":{"bid":"1.5","mood":"good","time":4}}"#
      ).values == [CoreHarness.quotePayload("1.5")])
    #expect(it.receive("{").actions.first == .close(code: 1007, reason: "not tidegate.v1"))
  }
}
