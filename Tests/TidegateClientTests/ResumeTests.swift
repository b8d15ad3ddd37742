import Testing

@testable import TidegateClient

@Suite("Coming back to a session")
struct ResumeTests {
  private static let info = TidegateEvent.StreamInfo(channel: .trades, symbol: "kraken:BTC-USD", stream: 1, reason: "")
  private static let trade = TidegateEvent.Payload.trades([
    Trade(id: "7", price: ExactDecimal("2.50")!, size: ExactDecimal("1")!, side: .buy, time: 9)
  ])

  private static func trades(_ prev: Int, _ seq: Int) -> String {
    #"{"type":"update","channel":"trades","symbol":"kraken:BTC-USD","stream":1,"prev":\#(prev),"seq":\#(seq),"data":{"trades":[{"id":"7","price":"2.50","size":"1","side":"buy","time":9}]}}"#
  }

  private static func welcome(_ id: Int, _ stream: String, isResumed: Bool = true) -> String {
    #"{"type":"welcome","id":\#(id),"session":"s_2","node":"gw","version":"1","time":1,"heartbeat_s":5,"resumed":\#(isResumed),"total":1,"ok":[\#(stream)],"failed":[]}"#
  }

  /// A client with trades up to seq 12 whose connection broke and is open again; what it sent then.
  private func cameBack(_ it: inout CoreHarness) -> [String] {
    it.live("trades")
    _ = it.receive(Self.trades(10, 11))
    _ = it.receive(Self.trades(11, 12))
    _ = it.closed(nil, "broke")
    #expect(it.passToDeadline() == [.connect])
    return it.opened().sent
  }

  private func harness() -> CoreHarness {
    CoreHarness([.init(channels: [.trades], symbols: ["kraken:BTC-USD"], intervalMilliseconds: 0)])
  }

  @Test("says where each stream stopped, then subscribes as ever")
  func says() {
    var it = harness()
    #expect(
      cameBack(&it) == [
        #"{"op":"hello","id":5,"client":"tidegate-swift/0.1","heartbeat_s":5,"resume":{"session":"s_1","streams":[{"channel":"trades","symbol":"kraken:BTC-USD","interval_ms":0,"stream":1,"epoch":"k","seq":12}]}}"#,
        #"{"op":"subscribe","id":6,"streams":[{"channel":"trades","symbols":["kraken:BTC-USD"],"interval_ms":0}]}"#,
      ])
  }

  @Test("a stream that is recovered goes on: what was missed links, and no gap is told")
  func recovered() {
    var it = harness()
    _ = cameBack(&it)
    let events = it.receive(
      Self.welcome(
        5,
        #"{"stream":1,"channel":"trades","symbol":"kraken:BTC-USD","interval_ms":0,"epoch":"k","seq":14,"state":"live","recovered":true}"#
      )
    ).events
    #expect(
      events == [
        .connected(.init(session: "s_2", node: "gw", version: "1", heartbeatSeconds: 5, isResumed: true)),
        .recovered(Self.info),
      ])
    #expect(it.receive(Self.trades(12, 13)).events == [.update(Self.info, Self.trade)])
    #expect(it.receive(Self.trades(13, 14)).events == [.update(Self.info, Self.trade)])
    // The ordinary subscription is there already.
    _ = it.receive(
      #"{"type":"subscribed","id":6,"total":1,"ok":[{"stream":1,"channel":"trades","symbol":"kraken:BTC-USD","epoch":"k","seq":14,"state":"live"}],"failed":[]}"#
    )
    #expect(it.receive(Self.trades(14, 15)).events == [.update(Self.info, Self.trade)])
  }

  @Test("trades that could not be recovered are a gap, then a snapshot")
  func lost() {
    var it = harness()
    _ = cameBack(&it)
    let events = it.receive(
      Self.welcome(
        5,
        #"{"stream":1,"channel":"trades","symbol":"kraken:BTC-USD","interval_ms":0,"epoch":"m","seq":40,"state":"live","recovered":false}"#,
        isResumed: false)
    ).events
    #expect(
      events == [
        .connected(.init(session: "s_2", node: "gw", version: "1", heartbeatSeconds: 5, isResumed: false)),
        .gap(Self.info),
      ])
    let snapshot =
      #"{"type":"snapshot","channel":"trades","symbol":"kraken:BTC-USD","stream":1,"seq":40,"reason":"epoch","time":5,"data":{"trades":[]}}"#
    #expect(it.receive(snapshot).events.count == 1)
    #expect(it.receive(Self.trades(40, 41)).events == [.update(Self.info, Self.trade)])
  }

  @Test("attempts that fail before a welcome keep what was left")
  func attempts() {
    var it = harness()
    let first = cameBack(&it)
    _ = it.closed(nil, "broke again")
    #expect(it.passToDeadline() == [.connect])
    _ = it.closed(nil, "refused")
    #expect(it.passToDeadline() == [.connect])
    let again = it.opened().sent
    #expect(again.count == first.count)
    #expect(again[0].contains(#""resume":{"session":"s_1","streams":[{"channel":"trades""#))
  }

  @Test("whole messages and streams with a gap are not resumed")
  func notResumed() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 12))
    _ = it.closed(nil, "broke")
    _ = it.passToDeadline()
    #expect(it.opened().sent[0].contains(#""resume":{"session":"s_1","streams":[]}"#))

    var book = CoreHarness([.init(channels: [.book], symbols: ["kraken:BTC-USD"], depth: 10)])
    book.live("book")
    _ = book.closed(nil, "broke")
    _ = book.passToDeadline()
    #expect(book.opened().sent[0].contains(#""streams":[]"#))
  }

  @Test("a book view that was in sync is so again when its stream is recovered, and not when it had a gap")
  func bookView() {
    let info = TidegateEvent.StreamInfo(channel: .book, symbol: "kraken:BTC-USD", stream: 1, reason: "")
    let levels = BookLevels(
      bids: [BookLevel(price: ExactDecimal("1")!, size: ExactDecimal("2")!)], asks: [], spread: nil, spreadPercent: nil,
      time: 1)
    var view = BookView()
    view.apply(.snapshot(info, .book(levels)))
    view.apply(.disconnected(reason: .noAnswer, retryIn: .zero))
    view.apply(.disconnected(reason: .noAnswer, retryIn: .zero))
    #expect(!view.isSynced)
    view.apply(.recovered(info))
    #expect(view.isSynced)
    view.apply(.gap(info))
    view.apply(.disconnected(reason: .noAnswer, retryIn: .zero))
    view.apply(.recovered(info))
    #expect(!view.isSynced)
  }

  @Test("a drain notice tells the moment and the deadline; the client comes back then and goes on")
  func drain() {
    var it = harness()
    it.live("trades")
    _ = it.receive(Self.trades(10, 11))
    #expect(
      it.receive(#"{"type":"notice","code":"drain","reconnect_in_ms":7300,"deadline":1790000000000000}"#).events == [
        .notice(.drain(reconnectInMilliseconds: 7_300, deadline: 1_790_000_000_000_000))
      ])
    #expect(it.pass(milliseconds: 7_299).isEmpty)
    let actions = it.pass(milliseconds: 1)
    #expect(actions.contains(.close(code: 1000, reason: "drain")))
    #expect(it.passToDeadline() == [.connect])
    #expect(it.opened().sent[0].contains(#""seq":11"#))
  }
}
