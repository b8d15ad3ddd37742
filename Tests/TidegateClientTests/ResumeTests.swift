import Foundation
import Testing

@testable import TidegateClient

@Suite("Coming back to a session")
struct ResumeTests {
  private static func item(_ stream: Int = 1, epoch: String = "k", seq: Int, isRecovered: Bool) -> String {
    #"{"stream":\#(stream),"channel":"trades","symbol":"kraken:BTC-USD","interval_ms":0,"epoch":"\#(epoch)","seq":\#(seq),"state":"live","recovered":\#(isRecovered)}"#
  }

  private static func welcome(_ id: Int, _ item: String, isResumed: Bool = true) -> String {
    #"{"type":"welcome","id":\#(id),"session":"s_2","node":"gw","version":"1","time":1,"heartbeat_s":5,"resumed":\#(isResumed),"total":1,"ok":[\#(item)],"failed":[]}"#
  }

  /// A client with trades up to seq 12 whose connection broke and is open again; what it sent then.
  private func cameBack(_ it: inout CoreHarness) -> [String] {
    it.live("trades")
    _ = it.receive(CoreHarness.trades("update", [11], prev: 10, seq: 11))
    _ = it.receive(CoreHarness.trades("update", [12], prev: 11, seq: 12))
    #expect(it.closed(nil, "broke").events.short == ["stale disconnected"])
    #expect(it.passToDeadline().wantsConnection)
    return it.opened().sent
  }

  private func harness() -> CoreHarness { CoreHarness(StreamRequest.trades("kraken:BTC-USD", every: .zero).untyped) }

  @Test("says where each stream stopped, then subscribes as ever")
  func says() {
    var it = harness()
    #expect(
      cameBack(&it) == [
        #"{"op":"hello","id":5,"client":"tidegate-swift/0.2","heartbeat_s":5,"resume":{"session":"s_1","streams":[{"channel":"trades","symbol":"kraken:BTC-USD","interval_ms":0,"stream":1,"epoch":"k","seq":12}]}}"#,
        #"{"op":"subscribe","id":6,"streams":[{"channel":"trades","symbols":["kraken:BTC-USD"],"interval_ms":0}]}"#,
      ])
  }

  @Test("a stream that is recovered goes on: what was missed links, and no gap is told")
  func recovered() {
    var it = harness()
    _ = cameBack(&it)
    let step = it.receive(Self.welcome(5, Self.item(seq: 14, isRecovered: true)))
    guard case .connected(let welcome)? = step.connection.first else { return #expect(Bool(false)) }
    #expect(welcome.isResumed && step.events.short == ["resumed"])
    #expect(it.receive(CoreHarness.trades("update", [13], prev: 12, seq: 13)).events.short == ["trades 13"])
    #expect(it.receive(CoreHarness.trades("update", [14], prev: 13, seq: 14)).events.short == ["trades 14"])
    // The ordinary subscription is there already.
    _ = it.receive(CoreHarness.subscribed(id: 6, CoreHarness.item("trades", seq: 14)))
    #expect(it.receive(CoreHarness.trades("update", [15], prev: 14, seq: 15)).events.short == ["trades 15"])
  }

  @Test("trades that could not be recovered are a gap, unless the snapshot shows that nothing is missing")
  func lost() {
    var it = harness()
    _ = cameBack(&it)
    let step = it.receive(Self.welcome(5, Self.item(epoch: "m", seq: 40, isRecovered: false), isResumed: false))
    #expect(step.events.isEmpty)
    #expect(it.receive(CoreHarness.trades("snapshot", [30, 31], seq: 40)).events.short == ["gap", "trades 30 31"])
    #expect(it.receive(CoreHarness.trades("update", [41], prev: 40, seq: 41)).events.short == ["trades 41"])

    var other = harness()
    _ = cameBack(&other)
    _ = other.receive(Self.welcome(5, Self.item(epoch: "m", seq: 40, isRecovered: false), isResumed: false))
    #expect(other.receive(CoreHarness.trades("snapshot", [11, 12, 13], seq: 40)).events.short == ["trades 13"])
  }

  @Test("attempts that fail before a welcome keep what was left")
  func attempts() {
    var it = harness()
    let first = cameBack(&it)
    _ = it.closed(nil, "broke again")
    #expect(it.passToDeadline().wantsConnection)
    _ = it.closed(nil, "refused")
    #expect(it.passToDeadline().wantsConnection)
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

    var book = CoreHarness(StreamRequest.book("kraken:BTC-USD").untyped)
    book.live("book")
    _ = book.closed(nil, "broke")
    _ = book.passToDeadline()
    #expect(book.opened().sent[0].contains(#""streams":[]"#))
  }

  @Test("a book that was right before is so again when its stream is recovered, and not when it had a gap")
  func book() {
    let levels = #"{"bids":[["1","2"]],"asks":[],"time":1}"#
    for isGap in [false, true] {
      var it = CoreHarness(StreamRequest.book("kraken:BTC-USD").untyped)
      it.live("book")
      _ = it.receive(CoreHarness.message("snapshot", "book", levels, seq: 11))
      if isGap { _ = it.receive(CoreHarness.message("update", "book", levels, prev: 20, seq: 21)) }
      _ = it.closed(nil)
      _ = it.passToDeadline()
      let resumes = it.opened().sent[0].contains(#""channel":"book""#)
      #expect(resumes == !isGap)
      let item = Self.item(seq: 11, isRecovered: true).replacing("trades", with: "book")
      #expect(it.receive(Self.welcome(5, item)).events.short == (isGap ? [] : ["value book"]))
    }
  }

  @Test("a drain notice tells the moment and the deadline; the client comes back then and goes on")
  func drain() {
    var it = harness()
    it.live("trades")
    _ = it.receive(CoreHarness.trades("update", [11], prev: 10, seq: 11))
    let notice = #"{"type":"notice","code":"drain","reconnect_in_ms":7300,"deadline":1790000000000000}"#
    #expect(
      it.receive(notice).connection == [
        .notice(.draining(reconnectIn: .milliseconds(7_300), deadline: .init(timeIntervalSince1970: 1_790_000_000)))
      ])
    #expect(it.pass(milliseconds: 7_299).isSilent)
    #expect(it.pass(milliseconds: 1).actions.contains(.close(code: 1000, reason: "drain")))
    #expect(it.passToDeadline().wantsConnection)
    #expect(it.opened().sent[0].contains(#""seq":11"#))
  }
}
