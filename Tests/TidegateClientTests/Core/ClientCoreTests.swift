import Testing

@testable import TidegateClient

@Suite("Client core")
struct ClientCoreTests {
  static let info = TidegateEvent.StreamInfo(channel: .quote, symbol: "kraken:BTC-USD", stream: 1, reason: "")

  static func quote(_ bid: String) -> TidegateEvent.Payload {
    .quote(Quote(bid: ExactDecimal(bid), time: 4))
  }

  @Test("says hello, then subscribes, grouping symbols by channel and parameters")
  func subscribes() {
    var it = CoreHarness([
      .init(channels: [.status, .pulse], symbols: ["kraken:BTC-USD", "coinbase:ETH-USD"]),
      .init(channels: [.book], symbols: ["kraken:BTC-USD"], depth: 25, intervalMilliseconds: 100),
      .init(channels: [.pulse], symbols: ["kraken:BTC-USD"]),
    ])
    #expect(it.start() == [.connect])
    #expect(
      it.opened().sent == [
        #"{"op":"hello","id":2,"client":"tidegate-swift/0.1","heartbeat_s":5}"#,
        #"{"op":"subscribe","id":3,"streams":[{"channel":"status"},{"channel":"pulse","symbols":["kraken:BTC-USD","coinbase:ETH-USD"]},{"channel":"book","symbols":["kraken:BTC-USD"],"depth":25,"interval_ms":100}]}"#,
      ])
  }

  @Test("splits a large subscription into requests")
  func splits() {
    var it = CoreHarness([.init(channels: [.pulse], symbols: (0..<1_000).map { "kraken:C\($0)-USD" })])
    _ = it.start()
    let sent = it.opened().sent
    #expect(sent.count == 4)
    #expect(sent.allSatisfy { $0.utf8.count < 65_536 })
  }

  @Test("emits snapshots and updates that link")
  func links() {
    var it = CoreHarness()
    it.live()
    #expect(it.receive(CoreHarness.quote("snapshot", seq: 12)).events == [.snapshot(Self.info, Self.quote("1.5"))])
    #expect(
      it.receive(CoreHarness.quote("update", prev: 12, seq: 15, bid: "1.6")).events == [
        .update(Self.info, Self.quote("1.6"))
      ])
  }

  @Test("a gap is reported once; updates are held back until the gateway's snapshot")
  func gap() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 12))
    #expect(it.receive(CoreHarness.quote("update", prev: 13, seq: 14)).events == [.gap(Self.info)])
    #expect(it.receive(CoreHarness.quote("update", prev: 14, seq: 15)).isEmpty)
    #expect(it.receive(CoreHarness.quote("snapshot", seq: 20)).events == [.snapshot(Self.info, Self.quote("1.5"))])
    #expect(
      it.receive(CoreHarness.quote("update", prev: 20, seq: 21)).events == [.update(Self.info, Self.quote("1.5"))])
  }

  @Test("subscribes again when no snapshot follows a gap")
  func gapTimeout() {
    var options = TidegateOptions()
    options.snapshotTimeout = .seconds(2)
    var it = CoreHarness(options: options)
    it.live()
    _ = it.receive(CoreHarness.quote("update", prev: 11, seq: 12))
    #expect(it.pass(milliseconds: 1_999).isEmpty)
    #expect(
      it.pass(milliseconds: 1).sent == [
        #"{"op":"unsubscribe","id":4,"streams":[1]}"#,
        #"{"op":"subscribe","id":5,"streams":[{"channel":"quote","symbols":["kraken:BTC-USD"]}]}"#,
      ])
  }

  @Test("a book that is out of sync at the gateway is told at once, is waited for, and begins with a snapshot")
  func outOfSync() {
    func book(_ type: String, _ link: String, _ data: String) -> String {
      #"{"type":"\#(type)","channel":"book","symbol":"kraken:BTC-USD","stream":1,\#(link),"data":\#(data)}"#
    }
    let info = TidegateEvent.StreamInfo(channel: .book, symbol: "kraken:BTC-USD", stream: 1, reason: "")
    let levels = #"{"state":"live","bids":[["1.5","1"]],"asks":[]}"#
    var it = CoreHarness([.init(channels: [.book], symbols: ["kraken:BTC-USD"])])
    it.live("book")
    var view = BookView()
    for event in it.receive(book("snapshot", #""seq":11"#, levels)).events { view.apply(event) }
    #expect(view.isSynced)
    let lost = it.receive(
      book("update", #""prev":11,"seq":12"#, #"{"state":"syncing","reason":"sequence gap","bids":[],"asks":[]}"#)
    ).events
    #expect(lost == [.outOfSync(info, reason: "sequence gap")])
    for event in lost { view.apply(event) }
    #expect(!view.isSynced)
    // It takes as long as the exchange takes: nothing is asked for meanwhile.
    _ = it.receive(#"{"type":"heartbeat","time":1,"sent":2,"feeds":{}}"#)
    #expect(it.pass(milliseconds: 10_000).sent.isEmpty)
    for event in it.receive(book("snapshot", #""seq":13,"reason":"resync""#, levels)).events { view.apply(event) }
    #expect(view.isSynced && view.bids.count == 1)
    // What is not whole is not resumed.
    _ = it.receive(book("update", #""prev":13,"seq":14"#, #"{"state":"syncing","reason":"x","bids":[],"asks":[]}"#))
    _ = it.closed(nil)
    _ = it.passToDeadline()
    #expect(it.opened().sent.first?.contains(#""streams":[]"#) == true)
  }

  @Test("the price increment of a stream stands in its events")
  func priceIncrement() {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    _ = it.receive(
      #"{"type":"subscribed","id":3,"ok":[{"stream":1,"channel":"quote","symbol":"kraken:BTC-USD","price_increment":"0.1","seq":3}],"failed":[]}"#
    )
    guard case .update(let info, _)? = it.receive(CoreHarness.quote("update", prev: 3, seq: 4)).events.first else {
      return #expect(Bool(false))
    }
    #expect(info.priceIncrement?.description == "0.1")
  }

  @Test("trades go on after a gap, and numbers reported as lost are none")
  func trades() {
    func trades(_ prev: Int, _ seq: Int) -> String {
      #"{"type":"update","channel":"trades","symbol":"kraken:BTC-USD","stream":1,"prev":\#(prev),"seq":\#(seq),"data":{"trades":[{"id":"7","price":"2.50","size":"1","side":"buy","time":9}]}}"#
    }
    var it = CoreHarness([.init(channels: [.trades], symbols: ["kraken:BTC-USD"])])
    it.live("trades")
    let info = TidegateEvent.StreamInfo(channel: .trades, symbol: "kraken:BTC-USD", stream: 1, reason: "")
    let trade = TidegateEvent.Payload.trades([
      Trade(id: "7", price: ExactDecimal("2.50")!, size: ExactDecimal("1")!, side: .buy, time: 9)
    ])
    #expect(it.receive(trades(10, 11)).events == [.update(info, trade)])
    #expect(it.receive(trades(15, 16)).events == [.gap(info), .update(info, trade)])
    let lost = #"{"type":"notice","code":"lost","stream":1,"from_seq":17,"to_seq":40,"count":24}"#
    #expect(it.receive(lost).events == [.notice(.lost(stream: 1, from: 17, to: 40, count: 24))])
    #expect(it.receive(trades(40, 41)).events == [.update(info, trade)])
  }

  @Test("one refused symbol is reported and the others go on")
  func failedItem() {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    let reply =
      #"{"type":"subscribed","id":3,"total":1,"ok":[{"stream":1,"channel":"quote","symbol":"kraken:BTC-USD","seq":3}],"failed":[{"channel":"book","symbol":"kraken:FOO-USD","error":{"code":"unknown_symbol","message":"kraken has no FOO-USD","hint":"GET /v1/instruments"}}]}"#
    #expect(
      it.receive(reply).events == [
        .failed(
          .init(
            channel: "book", symbol: "kraken:FOO-USD", code: "unknown_symbol", message: "kraken has no FOO-USD",
            hint: "GET /v1/instruments"))
      ])
    #expect(it.receive(CoreHarness.quote("update", prev: 3, seq: 4)).events == [.update(Self.info, Self.quote("1.5"))])
  }

  @Test("what is not there yet is subscribed to again after the time given, and is no failure")
  func notReady() {
    var it = CoreHarness()
    _ = it.start()
    let sent = it.opened().sent[1]
    #expect(
      it.receive(
        #"{"type":"subscribed","id":3,"total":0,"ok":[],"failed":[{"channel":"quote","symbol":"kraken:BTC-USD","error":{"code":"not_ready","message":"…","retry_after_ms":1000}}]}"#
      ).isEmpty)
    #expect(it.pass(milliseconds: 999).isEmpty)
    let again = it.pass(milliseconds: 1).sent
    #expect(
      again.count == 1 && again[0].contains(#""channel":"quote""#) && again[0].contains("kraken:BTC-USD"),
      "\(again) \(sent)")
  }

  @Test("a request refused for its rate is repeated after the time given")
  func rateLimited() {
    var it = CoreHarness()
    _ = it.start()
    let sent = it.opened().sent[1]
    #expect(
      it.receive(#"{"type":"error","id":3,"code":"rate_limited","message":"…","retry":true,"retry_after_ms":400}"#)
        .isEmpty)
    #expect(it.pass(milliseconds: 399).isEmpty)
    #expect(it.pass(milliseconds: 1).sent == [sent.replacingID(3, by: 4)])
  }

  @Test("a missing heartbeat ends the connection after two and a half intervals")
  func heartbeat() {
    var it = CoreHarness()
    it.live()
    #expect(it.pass(milliseconds: 12_499).isEmpty)
    _ = it.receive(#"{"type":"heartbeat","time":1,"sent":0,"feeds":{}}"#)
    #expect(it.pass(milliseconds: 12_499).isEmpty)
    let actions = it.pass(milliseconds: 1)
    #expect(actions.first == .close(code: 1000, reason: "no heartbeat"))
    guard case .disconnected(.noHeartbeat, _?)? = actions.events.first else {
      return #expect(Bool(false), "\(actions)")
    }
  }

  @Test("a heartbeat before the answer to hello is no event: a connection begins with that it is there")
  func earlyHeartbeat() {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    let beat = #"{"type":"heartbeat","time":1,"sent":0,"feeds":{}}"#
    #expect(it.receive(beat).isEmpty)
    guard case .connected? = it.welcome().events.first else { return #expect(Bool(false), "not connected") }
    guard case .heartbeat? = it.receive(beat).events.first else { return #expect(Bool(false), "no heartbeat") }
  }

  @Test("a connection that nobody answers is given up")
  func noAnswer() {
    var it = CoreHarness()
    _ = it.start()
    #expect(it.pass(milliseconds: 9_999).isEmpty)
    guard case .disconnected(.noAnswer, _?)? = it.pass(milliseconds: 1).events.first else {
      return #expect(Bool(false))
    }
  }

  @Test("back-off is full jitter under a doubling cap, and a heartbeat resets it", arguments: [1, 2, 3] as [UInt64])
  func backOff(seed: UInt64) {
    var it = CoreHarness(seed: seed)
    var again = CoreHarness(seed: seed)
    _ = it.start()
    _ = again.start()
    var waits: [UInt64] = []
    for attempt in 0..<12 {
      let wait = it.closed(nil, "refused").retryIn
      #expect(wait == again.closed(nil, "refused").retryIn, "seed \(seed)")
      let cap = min(30_000, 250 << UInt64(attempt)) * 1_000_000 as UInt64
      #expect(wait ?? .max <= cap, "seed \(seed), attempt \(attempt)")
      waits.append(wait ?? 0)
      #expect(it.passToDeadline() == [.connect])
      _ = again.passToDeadline()
    }
    #expect(Set(waits).count > 8, "seed \(seed)")
    #expect(waits.max() ?? 0 > 1_000_000_000, "seed \(seed)")
    _ = it.opened()
    _ = it.welcome()
    _ = it.receive(#"{"type":"heartbeat","time":1,"sent":0,"feeds":{}}"#)
    #expect(it.closed(nil).retryIn ?? .max <= 250_000_000)
  }

  @Test("close codes 4000–4099 stop for good", arguments: [4000, 4001, 4099] as [UInt16])
  func stops(code: UInt16) {
    var it = CoreHarness()
    it.live()
    #expect(
      it.closed(code, "unauthorized") == [
        .emit(.disconnected(reason: .closed(code: code, reason: "unauthorized"), retryIn: nil)), .finish,
      ])
    #expect(it.core.nextDeadline == nil)
  }

  @Test("close codes 4200–4299 reconnect at once, but only the first time", arguments: [4200, 4202, 4299] as [UInt16])
  func atOnce(code: UInt16) {
    var it = CoreHarness()
    it.live()
    #expect(it.closed(code).retryIn == 0)
    #expect(it.passToDeadline() == [.connect])
    _ = it.opened()
    _ = it.closed(code)
    #expect(it.core.attempt == 2)
    #expect(it.core.nextDeadline ?? 0 > it.now)
  }

  @Test("all other endings back off", arguments: [1000, 1001, 1006, 1011, 4100, 4108, 4199, 4300, nil] as [UInt16?])
  func backsOff(code: UInt16?) throws {
    var it = CoreHarness(seed: 7)
    it.live()
    let wait = try #require(it.closed(code).retryIn)
    #expect(wait > 0 && wait <= 250_000_000)
  }

  @Test("after a reconnection everything is subscribed again and old numbers are forgotten")
  func resubscribes() {
    var it = CoreHarness()
    it.live()
    _ = it.closed(nil)
    _ = it.passToDeadline()
    let sent = it.opened().sent
    #expect(sent.last?.contains(#""op":"subscribe""#) == true && sent.last?.contains("kraken:BTC-USD") == true)
    #expect(it.receive(CoreHarness.quote("update", prev: 10, seq: 11)).isEmpty)
  }

  @Test("a drain notice reconnects at the time given")
  func drain() {
    var it = CoreHarness()
    it.live()
    #expect(
      it.receive(#"{"type":"notice","code":"drain","reconnect_in_ms":700,"deadline":9}"#).events
        == [.notice(.drain(reconnectInMilliseconds: 700, deadline: 9))])
    #expect(it.pass(milliseconds: 699).isEmpty)
    let actions = it.pass(milliseconds: 1)
    #expect(actions.events == [.disconnected(reason: .draining, retryIn: .zero)])
  }

  /// `stream` 12 instead of 1.
  static let moved = TidegateEvent.StreamInfo(channel: .quote, symbol: "kraken:BTC-USD", stream: 12, reason: "")
  static let move =
    #""streams":[{"stream":12,"from":1,"channel":"quote","symbol":"kraken:BTC-USD","interval_ms":1000,"epoch":"k","seq":88,"state":"live"}]"#

  /// The quote messages of the harness, of stream 12.
  static func quote12(_ type: String, prev: Int? = nil, seq: Int) -> String {
    CoreHarness.quote(type, prev: prev, seq: seq).replacing("\"stream\":1,", with: "\"stream\":12,")
  }

  @Test("a subscription that was slowed down goes on under its new number")
  func degraded() {
    var it = CoreHarness()
    it.live()
    let notice =
      #"{"type":"notice","code":"slow","action":"degraded","interval_ms":1000,"queued_bytes":262144,\#(Self.move)}"#
    #expect(
      it.receive(notice).events == [
        .notice(.slow(action: "degraded", intervalMilliseconds: 1000)), .moved(Self.moved, from: 1),
      ])
    // What the old stream still had under way is nobody's.
    #expect(it.receive(CoreHarness.quote("update", prev: 10, seq: 11)).isEmpty)
    #expect(it.receive(Self.quote12("snapshot", seq: 90)).events == [.snapshot(Self.moved, Self.quote("1.5"))])
    #expect(it.receive(Self.quote12("update", prev: 90, seq: 91)).events == [.update(Self.moved, Self.quote("1.5"))])
    #expect(it.receive(Self.quote12("update", prev: 95, seq: 96)).events == [.gap(Self.moved)])
  }

  @Test("another rate is asked for, followed to the new stream, and kept over a reconnection")
  func configure() {
    var it = CoreHarness()
    it.live()
    #expect(
      it.act { $0.configure(interval: 1000, now: $1, into: &$2) }.sent == [
        #"{"op":"configure","id":4,"interval_ms":1000}"#
      ])
    #expect(
      it.receive(#"{"type":"configured","id":4,"interval_ms":1000,"total":1,\#(Self.move)}"#).events == [
        .moved(Self.moved, from: 1)
      ])
    #expect(it.core.pending.isEmpty)
    #expect(it.receive(Self.quote12("snapshot", seq: 90)).events == [.snapshot(Self.moved, Self.quote("1.5"))])
    _ = it.closed(nil)
    _ = it.passToDeadline()
    #expect(it.opened().sent.last?.contains(#""interval_ms":1000"#) == true)
  }

  @Test("streams that swap their numbers are not confused")
  func swap() {
    var it = CoreHarness([.init(channels: [.quote], symbols: ["kraken:A-USD", "kraken:B-USD"])])
    _ = it.start()
    _ = it.opened()
    func item(_ stream: Int, _ symbol: String, _ from: String = "") -> String {
      #"{"stream":\#(stream),\#(from)"channel":"quote","symbol":"kraken:\#(symbol)-USD","seq":5}"#
    }
    _ = it.receive(#"{"type":"subscribed","id":3,"ok":[\#(item(1, "A")),\#(item(2, "B"))],"failed":[]}"#)
    let swapped = #"[\#(item(2, "A", "\"from\":1,")),\#(item(1, "B", "\"from\":2,"))]"#
    _ = it.receive(#"{"type":"configured","streams":\#(swapped)}"#)
    #expect(it.core.streams[1]?.item.symbol == "kraken:B-USD" && it.core.streams[2]?.item.symbol == "kraken:A-USD")
  }

  @Test("data that was sent and did not come is a gap of every stream, which is subscribed to again")
  func countOfSent() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 12))
    _ = it.receive(#"{"type":"update","channel":"weather","stream":9,"seq":1,"data":{}}"#)
    let heartbeat = TidegateEvent.Heartbeat(time: 1, sent: 2, feeds: [])
    #expect(it.receive(#"{"type":"heartbeat","time":1,"sent":2,"feeds":{}}"#) == [.emit(.heartbeat(heartbeat))])
    let actions = it.receive(#"{"type":"heartbeat","time":1,"sent":3,"feeds":{}}"#)
    #expect(actions.events.first == .gap(Self.info))
    #expect(
      actions.sent == [
        #"{"op":"unsubscribe","id":4,"streams":[1]}"#,
        #"{"op":"subscribe","id":5,"streams":[{"channel":"quote","symbols":["kraken:BTC-USD"]}]}"#,
      ])
    // Once is enough: the count goes on from there.
    #expect(it.receive(#"{"type":"heartbeat","time":1,"sent":3,"feeds":{}}"#).sent.isEmpty)
  }

  @Test("a pause outlives a reconnection, and ends with a resume")
  func pause() {
    var it = CoreHarness()
    it.live()
    #expect(it.act { $0.pause(now: $1, into: &$2) }.sent == [#"{"op":"pause","id":4}"#])
    #expect(it.act { $0.pause(now: $1, into: &$2) }.isEmpty)
    #expect(it.receive(#"{"type":"paused","id":4}"#).isEmpty && it.core.pending.isEmpty)
    _ = it.closed(nil)
    _ = it.passToDeadline()
    #expect(it.opened().sent.last?.contains(#""op":"pause""#) == true)
    let resume = it.act { $0.resume(now: $1, into: &$2) }.sent
    #expect(resume.count == 1 && resume[0].contains(#""op":"resume""#))
  }

  @Test("a sparkline is always handed out whole, and its window moves")
  func sparkline() {
    func text(_ type: String, _ link: String, _ data: String) -> String {
      #"{"type":"\#(type)","channel":"sparkline","symbol":"kraken:BTC-USD","stream":1,\#(link),"data":\#(data)}"#
    }
    var it = CoreHarness([.init(channels: [.sparkline], symbols: ["kraken:BTC-USD"])])
    it.live("sparkline")
    _ = it.receive(
      text("snapshot", #""seq":1"#, #"{"range":"24h","from":0,"step_s":10,"points":["1","2","3"],"trend":"up"}"#))
    func update(_ seq: Int, _ data: String) -> Sparkline? {
      guard
        case .update(_, .sparkline(let line))? =
          it.receive(text("update", #""prev":\#(seq - 1),"seq":\#(seq)"#, data)).events.first
      else { return nil }
      return line
    }
    let moved = update(2, #"{"index":2,"price":"0.5","from":10000000}"#)
    #expect(moved?.points.map { $0?.description } == ["2", "3", "0.5"])
    #expect(moved?.from == 10_000_000)
    #expect(moved?.trend == .down)
    let repeated = update(3, #"{"index":2,"price":"4","from":30000000}"#)
    #expect(repeated?.points.map { $0?.description } == ["0.5", "0.5", "4"])
    // A line of less than 24 h: the next slice begins, and one without trades lies between.
    let grown = update(4, #"{"index":4,"price":"5","from":30000000}"#)
    #expect(grown?.points.map { $0?.description } == ["0.5", "0.5", "4", "4", "5"])
    #expect(grown?.from == 30_000_000)
    #expect(
      update(5, #"{"index":3,"price":"9","from":30000000}"#) == nil, "a point that is not the newest does not fit")
  }

  @Test("a status tells of each feed what is syncing and what was refused")
  func status() {
    var it = CoreHarness([.init(channels: [.status])])
    it.live("status")
    let text =
      #"{"type":"snapshot","channel":"status","stream":1,"seq":11,"time":1,"data":{"feeds":[{"venue":"kraken","state":"live","indicator":"connected","since":7,"gap":{"from":1,"to":2,"backfilled":false},"syncing":{"kraken:A-USD":"sequence gap"},"failed":{"kraken:B-USD":"unknown"}}]}}"#
    var feed = FeedReport(venue: "kraken", state: "live", indicator: .connected, since: 7)
    feed.syncing = ["kraken:A-USD": "sequence gap"]
    feed.failed = ["kraken:B-USD": "unknown"]
    guard case .snapshot(_, .status(let feeds))? = it.receive(text).events.first else { return #expect(Bool(false)) }
    #expect(feeds == [feed])
  }

  @Test("unknown types and fields are ignored; text that is not JSON ends the connection")
  func tolerance() {
    var it = CoreHarness()
    it.live()
    #expect(it.receive(#"{"type":"weather","data":{"x":[1,2]}}"#).isEmpty)
    #expect(
      it.receive(
        #"{"new":{"a":null},"type":"update","channel":"quote","symbol":"kraken:BTC-USD","stream":1,"prev":10,"seq":11,"data":{"bid":"1.5","mood":"good","time":4}}"#
      )
      .events == [.update(Self.info, Self.quote("1.5"))])
    #expect(it.receive("{").first == .close(code: 1007, reason: "not tidegate.v1"))
  }
}

extension String {
  fileprivate func replacingID(_ old: Int, by new: Int) -> String {
    replacing("\"id\":\(old)", with: "\"id\":\(new)")
  }
}
