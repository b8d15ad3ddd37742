import Testing

@testable import TidegateClient

@Suite("Subscriptions come and go")
struct ConsumerTests {
  private static let book = StreamRequest.book("kraken:BTC-USD").untyped

  @Test("one more is asked for on the live connection; the last to go unsubscribes")
  func comesAndGoes() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 11))
    let (pulse, step) = it.subscribe(StreamRequest.pulse("kraken:BTC-USD").untyped)
    #expect(
      step.sent == [#"{"op":"subscribe","id":4,"streams":[{"channel":"pulse","symbols":["kraken:BTC-USD"]}]}"#])
    _ = it.receive(CoreHarness.subscribed(id: 4, CoreHarness.item("pulse", stream: 2)))
    let message = CoreHarness.message("snapshot", "pulse", #"{"price":"1","merged":1,"time":1}"#, stream: 2, seq: 11)
    #expect(it.receive(message).events.isEmpty, "another's is not this one's")
    #expect(it.take(pulse).short == ["value pulse"])
    #expect(it.cancel(pulse).sent == [#"{"op":"unsubscribe","id":5,"streams":[2]}"#])
    #expect(it.core.streams.count == 1 && it.core.wants.count == 1 && it.core.streams.numbers.count == 1)
    // What is still under way of it is nobody's.
    #expect(
      it.receive(
        CoreHarness.message("update", "pulse", #"{"price":"2","merged":1,"time":2}"#, stream: 2, prev: 11, seq: 12)
      ).isSilent)
    _ = it.closed(nil)
    _ = it.passToDeadline()
    #expect(it.opened().sent.allSatisfy { !$0.contains("pulse") })
  }

  @Test("a second subscription to a stream is none to the gateway, and begins with what there is")
  func shares() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 11))
    let (second, step) = it.subscribe(StreamRequest.quote("kraken:BTC-USD").untyped)
    #expect(step.sent.isEmpty)
    #expect(it.take(second).short == ["value quote"])
    #expect(it.cancel(it.subscription).sent.isEmpty)
    _ = it.receive(CoreHarness.quote("update", prev: 11, seq: 12))
    #expect(it.take(second).short == ["value quote"])
    #expect(it.cancel(second).sent.count == 1)
  }

  @Test("a second subscription to trades begins with the latest")
  func sharesTrades() {
    var it = CoreHarness(StreamRequest.trades("kraken:BTC-USD").untyped)
    it.live("trades")
    _ = it.receive(CoreHarness.trades("snapshot", Array(1...50), seq: 11))
    _ = it.receive(CoreHarness.trades("update", [51], prev: 11, seq: 12))
    let second = it.subscribe(StreamRequest.trades("kraken:BTC-USD").untyped).id
    guard case .value(.trades(let trades), _)? = it.take(second).first else { return #expect(Bool(false)) }
    #expect(trades.map(\.id) == (2...51).map { String($0) })
  }

  @Test("two sets of parameters that are one stream to the gateway are both told, the later one from what there is")
  func oneNumber() {
    var it = CoreHarness(StreamRequest.quote("kraken:BTC-USD", every: .milliseconds(90)).untyped)
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 11))
    let second = it.subscribe(StreamRequest.quote("kraken:BTC-USD", every: .milliseconds(100)).untyped).id
    #expect(it.take(second).isEmpty)
    _ = it.receive(CoreHarness.subscribed(id: 4, CoreHarness.item("quote", seq: 11)))
    #expect(it.take(second).short == ["value quote"])
    #expect(it.receive(CoreHarness.quote("update", prev: 11, seq: 12)).values.count == 1)
    #expect(it.take(second).short == ["value quote"])
    #expect(it.cancel(second).sent.isEmpty, "the number is still wanted")
    #expect(it.receive(CoreHarness.quote("update", prev: 12, seq: 13)).values.count == 1)
    #expect(it.cancel(it.subscription).sent == [#"{"op":"unsubscribe","id":5,"streams":[1]}"#])
  }

  @Test("a pattern's streams go to all who match them, and stay as long as any does")
  func patterns() {
    var it = CoreHarness(
      .all(StreamRequest.quote("kraken:*").untyped, StreamRequest.quote("kraken:BTC-USD").untyped))
    _ = it.start()
    _ = it.opened()
    _ = it.receive(
      CoreHarness.subscribed(
        id: 3, CoreHarness.item("quote"), CoreHarness.item("quote", symbol: "kraken:ETH-USD", stream: 2)))
    #expect(it.core.streams.count == 2)
    let all = it.subscribe(StreamRequest.quote("*:BTC-USD").untyped)
    #expect(all.step.sent.count == 1)
    _ = it.receive(CoreHarness.subscribed(id: 4, CoreHarness.item("quote")))
    #expect(it.cancel(it.subscription).sent == [#"{"op":"unsubscribe","id":5,"streams":[2]}"#])
    _ = it.receive(CoreHarness.quote("snapshot", seq: 11))
    #expect(it.take(all.id).short == ["value quote"])
  }

  @Test("cancelled before the gateway has answered, it is unsubscribed from when it has")
  func early() {
    var it = CoreHarness()
    it.live()
    let (id, _) = it.subscribe(Self.book)
    #expect(it.cancel(id).sent.isEmpty)
    let step = it.receive(CoreHarness.subscribed(id: 4, CoreHarness.item("book", stream: 5)))
    #expect(step.sent == [#"{"op":"unsubscribe","id":5,"streams":[5]}"#])
    #expect(it.core.streams.count == 1)
    #expect(it.core.next(id) == nil && it.core.isOver(id))
  }

  @Test("what was cancelled while there was no connection is neither resumed nor subscribed to")
  func cancelledOffline() {
    var it = CoreHarness()
    it.live()
    let (id, _) = it.subscribe(Self.book)
    _ = it.receive(CoreHarness.subscribed(id: 4, CoreHarness.item("book", stream: 5)))
    _ = it.receive(CoreHarness.message("snapshot", "book", #"{"bids":[],"asks":[],"time":1}"#, stream: 5, seq: 11))
    _ = it.closed(nil)
    _ = it.cancel(id)
    _ = it.passToDeadline()
    #expect(it.opened().sent.allSatisfy { !$0.contains("book") })
  }

  @Test(
    "a consumer that never reads costs a place for each stream and as many trades as its limit; others lose nothing")
  func slow() {
    var options = ClientOptions()
    options.bufferLimit = 100
    var it = CoreHarness(StreamRequest.trades("kraken:BTC-USD").untyped, options: options)
    it.live("trades")
    let slow = it.subscribe(StreamRequest.trades("kraken:BTC-USD").untyped).id
    for seq in 11..<10_011 {
      #expect(it.receive(CoreHarness.trades("update", [seq], prev: seq - 1, seq: seq)).events.count == 1)
    }
    let events = it.take(slow)
    #expect(events.first == .dropped(count: 9_900) && events.count == 101)
    // One message of more trades than there may be.
    _ = it.receive(CoreHarness.trades("update", Array(0..<1_000), prev: 10_010, seq: 10_011))
    guard case .value(.trades(let trades), _)? = it.take(slow).last else { return #expect(Bool(false)) }
    #expect(trades.count == 100 && trades.last?.id == "999")
  }

  @Test("what a slow consumer is told of state is what is true now")
  func slowState() {
    var it = CoreHarness(Self.book)
    it.live("book")
    let slow = it.subscribe(Self.book).id
    let levels = #"{"bids":[["1","1"]],"asks":[],"time":1}"#
    _ = it.receive(CoreHarness.message("snapshot", "book", levels, seq: 11))
    _ = it.receive(CoreHarness.message("update", "book", levels, prev: 30, seq: 31))
    #expect(it.take(slow).short == ["stale gap"])
    _ = it.receive(CoreHarness.message("update", "book", levels, prev: 40, seq: 41))
    _ = it.receive(CoreHarness.message("snapshot", "book", levels, seq: 42))
    #expect(it.take(slow).short == ["value book"])
  }
}
