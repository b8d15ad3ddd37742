import Foundation
import Testing

@testable import TidegateClient

@Suite("Client core: values of streams")
struct ClientStreamTests {
  @Test("hands out snapshots and updates that link, as values")
  func links() {
    var it = CoreHarness()
    it.live()
    #expect(
      it.receive(CoreHarness.quote("snapshot", seq: 12)).events == [
        .value(CoreHarness.quotePayload("1.5"), CoreHarness.quoteInfo)
      ])
    #expect(
      it.receive(CoreHarness.quote("update", prev: 12, seq: 15, bid: "1.6")).events == [
        .value(CoreHarness.quotePayload("1.6"), CoreHarness.quoteInfo)
      ])
  }

  @Test("the client reports a gap once, and holds updates back until the gateway's snapshot")
  func gap() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 12))
    #expect(it.receive(CoreHarness.quote("update", prev: 13, seq: 14)).events == [.stale(CoreHarness.quoteInfo, .gap)])
    #expect(it.receive(CoreHarness.quote("update", prev: 14, seq: 15)).isSilent)
    #expect(it.receive(CoreHarness.quote("snapshot", seq: 20)).values == [CoreHarness.quotePayload("1.5")])
    #expect(it.receive(CoreHarness.quote("update", prev: 20, seq: 21)).values == [CoreHarness.quotePayload("1.5")])
  }

  @Test("subscribes again when no snapshot follows a gap")
  func gapTimeout() {
    var options = ClientOptions()
    options.snapshotTimeout = .seconds(2)
    var it = CoreHarness(options: options)
    it.live()
    _ = it.receive(CoreHarness.quote("update", prev: 11, seq: 12))
    #expect(it.pass(milliseconds: 1_999).isSilent)
    #expect(
      it.pass(milliseconds: 1).sent == [
        #"{"op":"unsubscribe","id":4,"streams":[1]}"#,
        #"{"op":"subscribe","id":5,"streams":[{"channel":"quote","symbols":["kraken:BTC-USD"]}]}"#,
      ])
    // Nobody gets late messages of the old subscription; the new one may have the same number.
    #expect(it.receive(CoreHarness.quote("snapshot", seq: 13)).isSilent)
    _ = it.receive(CoreHarness.subscribed(id: 5, CoreHarness.item("quote", seq: 14)))
    #expect(it.receive(CoreHarness.quote("snapshot", seq: 15)).values.count == 1)
  }

  @Test("the client reports a book that the gateway has out of sync, waits for it, and begins with a snapshot")
  func outOfSync() {
    let levels = #"{"state":"live","bids":[["1.5","1"]],"asks":[],"time":1}"#
    let lost = #"{"state":"syncing","reason":"sequence gap","bids":[],"asks":[],"time":2}"#
    var it = CoreHarness(StreamRequest.book("kraken:BTC-USD").untyped)
    it.live("book")
    #expect(it.receive(CoreHarness.message("snapshot", "book", levels, seq: 11)).events.short == ["value book"])
    let told = it.receive(CoreHarness.message("update", "book", lost, prev: 11, seq: 12)).events
    #expect(told.short == ["stale: sequence gap"])
    // It takes as long as the exchange takes: nothing is asked for meanwhile.
    _ = it.receive(CoreHarness.heartbeat(sent: 2))
    #expect(it.pass(milliseconds: 10_000).sent.isEmpty)
    #expect(it.receive(CoreHarness.message("snapshot", "book", levels, seq: 13)).events.short == ["value book"])
    // A book that is not whole is not resumed.
    _ = it.receive(CoreHarness.message("update", "book", lost, prev: 13, seq: 14))
    _ = it.closed(nil)
    _ = it.passToDeadline()
    #expect(it.opened().sent.first?.contains(#""streams":[]"#) == true)
  }

  @Test("a book is merged: what is read is whole, however late")
  func book() {
    var it = CoreHarness(StreamRequest.book("kraken:BTC-USD").untyped)
    it.live("book")
    let late = it.subscribe(StreamRequest.book("kraken:BTC-USD").untyped).id
    _ = it.receive(
      CoreHarness.message(
        "snapshot", "book", #"{"bids":[["1.5","1"],["1.4","2"]],"asks":[["2","1"]],"time":1}"#, seq: 11))
    _ = it.receive(
      CoreHarness.message("update", "book", #"{"bids":[["1.50","0"]],"asks":[],"time":2}"#, prev: 11, seq: 12))
    let last = it.receive(
      CoreHarness.message("update", "book", #"{"bids":[["1.6","3"]],"asks":[],"time":3}"#, prev: 12, seq: 13))
    guard case .book(let book)? = last.values.first else { return #expect(Bool(false), "no book") }
    #expect(book.symbol == "kraken:BTC-USD" && book.bids.map(\.price.description) == ["1.6", "1.4"])
    #expect(book.spread?.description == "0.4")
    #expect(it.take(late) == last.events, "one value, the latest")
  }

  @Test("the price increment of a stream stands in its events")
  func priceIncrement() {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    let item = CoreHarness.item("quote").replacing(#""epoch""#, with: #""price_increment":"0.1","epoch""#)
    _ = it.receive(CoreHarness.subscribed(id: 3, item))
    guard case .value(_, let info)? = it.receive(CoreHarness.quote("update", prev: 10, seq: 11)).events.first else {
      return #expect(Bool(false))
    }
    #expect(info.priceIncrement?.description == "0.1")
  }

  @Test("trades go on after a gap, and the client passes on how many the gateway reports as lost")
  func trades() {
    var it = CoreHarness(StreamRequest.trades("kraken:BTC-USD").untyped)
    it.live("trades")
    #expect(it.receive(CoreHarness.trades("update", [7], prev: 10, seq: 11)).events.short == ["trades 7"])
    #expect(it.receive(CoreHarness.trades("update", [9], prev: 15, seq: 16)).events.short == ["gap", "trades 9"])
    let lost = #"{"type":"notice","code":"lost","stream":1,"from_seq":17,"to_seq":40,"count":24,"events":31}"#
    #expect(it.receive(lost).events.short == ["gap of 31"])
    #expect(it.receive(CoreHarness.trades("update", [50], prev: 40, seq: 41)).events.short == ["trades 50"])
  }

  @Test("trades that the gateway did not get are a gap with their number; late ones are marked, and come once")
  func lateTrades() {
    var it = CoreHarness(StreamRequest.trades("kraken:BTC-USD").untyped)
    it.live("trades")
    let hole = #""from_id":"8","to_id":"9","from":1,"to":2"#
    let lost = #"{"trades":[],"lost":{\#(hole),"count":2,"requested":true}}"#
    let unknown = #"{"trades":[],"lost":{\#(hole),"requested":false}}"#
    let late = #"{"trades":[{"id":"8","price":"1","size":"1","side":"buy","time":1,"late":true}]}"#
    let found = #"{"trades":[],"found":{\#(hole),"count":1,"missing":1}}"#
    #expect(it.receive(CoreHarness.trades("snapshot", [6, 7], seq: 11)).events.short == ["trades 6 7"])
    #expect(it.receive(CoreHarness.message("update", "trades", lost, prev: 11, seq: 12)).events.short == ["gap of 2"])
    #expect(it.receive(CoreHarness.trades("update", [10], prev: 12, seq: 13)).events.short == ["trades 10"])
    let event = it.receive(CoreHarness.message("update", "trades", late, prev: 13, seq: 14)).events
    #expect(event.short == ["trades 8"])
    guard case .value(.trades(let trades), _)? = event.first else { return #expect(Bool(false)) }
    #expect(trades.map(\.isLate) == [true])
    #expect(it.receive(CoreHarness.message("update", "trades", found, prev: 14, seq: 15)).isSilent)
    #expect(it.receive(CoreHarness.message("update", "trades", unknown, prev: 15, seq: 16)).events.short == ["gap"])
    // A snapshot has all of them in order: only what is behind the newest is new.
    #expect(it.receive(CoreHarness.trades("snapshot", [7, 8, 10, 11], seq: 20)).events.short == ["trades 11"])
  }

  @Test("a channel that dies alone at the exchange makes its streams stale, with the reason, until it speaks again")
  func silence() {
    let why = "no trades although the venue trades"
    let mark = #""state":"syncing","reason":"\#(why)""#
    var it = CoreHarness(StreamRequest.trades("kraken:BTC-USD").untyped)
    it.live("trades")
    func say(_ data: String, prev: Int, seq: Int) -> [String] {
      it.receive(CoreHarness.message("update", "trades", data, prev: prev, seq: seq)).events.short
    }
    #expect(it.receive(CoreHarness.trades("snapshot", [7], seq: 11)).events.short == ["trades 7"])
    #expect(say(#"{"trades":[],\#(mark)}"#, prev: 11, seq: 12) == ["stale: \(why)"])
    #expect(say(#"{"trades":[],\#(mark)}"#, prev: 12, seq: 13).isEmpty, "the client reports it once")
    // A new subscription gets the last trades, and the notice that they are old.
    let late = it.subscribe(StreamRequest.trades("kraken:BTC-USD").untyped).id
    #expect(it.take(late).short == ["trades 7", "stale: \(why)"])
    #expect(say(#"{"trades":[],"state":"live"}"#, prev: 13, seq: 14) == ["trades"])
    #expect(it.receive(CoreHarness.trades("update", [8], prev: 14, seq: 15)).events.short == ["trades 8"])
    let values = [
      ("pulse", #""price":"1","merged":0,"time":1"#), ("ticker", #""last":"1","source":"venue","time":1"#),
    ]
    for (channel, fields) in values {
      let request =
        channel == "pulse"
        ? StreamRequest.pulse("kraken:BTC-USD").untyped : StreamRequest.ticker("kraken:BTC-USD").untyped
      var it = CoreHarness(request)
      it.live(channel)
      _ = it.receive(CoreHarness.message("snapshot", channel, "{\(fields)}", seq: 11))
      let silent = it.receive(CoreHarness.message("update", channel, "{\(fields),\(mark)}", prev: 11, seq: 12))
      #expect(silent.events.short == ["stale: \(why)"])
      let again = it.receive(CoreHarness.message("update", channel, "{\(fields)}", prev: 12, seq: 13))
      #expect(again.events.short == ["value \(channel)"])
    }
  }

  @Test("of a later snapshot of trades only those are told that are new; a gap where they do not meet")
  func tradeSnapshots() {
    var it = CoreHarness(StreamRequest.trades("kraken:BTC-USD").untyped)
    it.live("trades")
    #expect(it.receive(CoreHarness.trades("snapshot", [1, 2], seq: 11)).events.short == ["trades 1 2"])
    #expect(it.receive(CoreHarness.trades("update", [3], prev: 11, seq: 12)).events.short == ["trades 3"])
    #expect(it.receive(CoreHarness.trades("snapshot", [2, 3, 4], seq: 20)).events.short == ["trades 4"])
    #expect(it.receive(CoreHarness.trades("snapshot", [3, 4], seq: 21)).events.short == ["trades"])
    #expect(it.receive(CoreHarness.trades("snapshot", [8, 9], seq: 30)).events.short == ["gap", "trades 8 9"])
    #expect(it.receive(CoreHarness.trades("snapshot", [], seq: 31)).events.short == ["gap", "trades"])
  }

  @Test("a trade that follows a gap is told as such, once, and an id used again is another trade")
  func markedTrades() {
    var it = CoreHarness(StreamRequest.trades("kraken:BTC-USD").untyped)
    it.live("trades")
    let first = #"{"id":"5","price":"2.50","size":"1","side":"buy","time":9}"#
    let marked = #"{"id":"1","price":"2.50","size":"1","side":"buy","time":10,"gap":true,"renumbered":true}"#
    let again = #"{"id":"5","price":"2.50","size":"1","side":"buy","time":11}"#
    func message(_ type: String, _ trades: String..., prev: Int? = nil, seq: Int) -> String {
      CoreHarness.message(type, "trades", #"{"trades":[\#(trades.joined(separator: ","))]}"#, prev: prev, seq: seq)
    }
    #expect(it.receive(message("snapshot", first, seq: 11)).events.short == ["trades 5"])
    #expect(it.receive(message("snapshot", first, seq: 12)).events.short == ["trades"])
    let events = it.receive(message("update", marked, prev: 12, seq: 13)).events
    #expect(events.short == ["gap", "trades 1"])
    #expect(it.receive(message("update", again, prev: 13, seq: 14)).events.short == ["trades 5"])
    #expect(it.receive(message("snapshot", first, marked, again, seq: 20)).events.short == ["trades"])
    #expect(it.receive(message("snapshot", first, marked, seq: 30)).events.short == ["gap", "trades 5 1"])
  }

  @Test("data that was sent and did not come makes every stream stale, and it is subscribed to again")
  func countOfSent() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 12))
    _ = it.receive(#"{"type":"update","channel":"weather","stream":9,"seq":1,"data":{}}"#)
    #expect(it.receive(CoreHarness.heartbeat(sent: 2)).events.isEmpty)
    let step = it.receive(CoreHarness.heartbeat(sent: 3))
    #expect(step.events == [.stale(CoreHarness.quoteInfo, .gap)])
    #expect(
      step.sent == [
        #"{"op":"unsubscribe","id":4,"streams":[1]}"#,
        #"{"op":"subscribe","id":5,"streams":[{"channel":"quote","symbols":["kraken:BTC-USD"]}]}"#,
      ])
    // Once is enough: the count goes on from there.
    #expect(it.receive(CoreHarness.heartbeat(sent: 3)).sent.isEmpty)
  }

  @Test("a sparkline is always handed out whole, and its window moves")
  func sparkline() {
    var it = CoreHarness(StreamRequest.sparkline("kraken:BTC-USD").untyped)
    it.live("sparkline")
    _ = it.receive(
      CoreHarness.message(
        "snapshot", "sparkline",
        #"{"range":"24h","from":0,"step_s":10,"points":["1","2","3"],"trend":"up","covered_from":5,"gaps":[{"from":1,"to":2},{"from":15000000,"to":25000000}]}"#,
        seq: 1))
    func update(_ seq: Int, _ data: String) -> Sparkline? {
      let step = it.receive(CoreHarness.message("update", "sparkline", data, prev: seq - 1, seq: seq))
      guard case .sparkline(let line)? = step.values.first else { return nil }
      return line
    }
    let moved = update(2, #"{"index":2,"price":"0.5","from":10000000}"#)
    #expect(moved?.points.map { $0?.description } == ["2", "3", "0.5"])
    #expect(moved?.from == .init(timeIntervalSince1970: 10) && moved?.step == .seconds(10))
    #expect(moved?.trend == .down && moved?.change?.description == "-1.5" && moved?.range == .day)
    #expect(moved?.gaps.count == 1 && moved?.coveredFrom != nil, "what has left the line leaves its gaps")
    let repeated = update(3, #"{"index":2,"price":"4","from":30000000}"#)
    #expect(repeated?.points.map { $0?.description } == ["0.5", "0.5", "4"])
    let told = update(
      4, #"{"index":2,"price":"4","from":30000000,"open":"5","trend":"down","change":"-1","change_pct":"-20.00"}"#)
    #expect(told?.open?.description == "5" && told?.change?.description == "-1" && told?.trend == .down)
    #expect(told?.changePercent?.description == "-20.00", "the change is the gateway's, not that of the points")
    // A line of less than 24 h: the next slice begins, and one without trades lies between.
    let grown = update(5, #"{"index":4,"price":"5","from":30000000}"#)
    #expect(grown?.points.map { $0?.description } == ["0.5", "0.5", "4", "4", "5"])
    #expect(
      update(5, #"{"index":3,"price":"9","from":30000000}"#) == nil, "a point that is not the newest does not fit")
  }

  @Test("candles are merged with those that were there")
  func candles() {
    var it = CoreHarness(StreamRequest.candles("kraken:BTC-USD").untyped)
    it.live("candles")
    func candle(_ time: Int, _ close: String, _ closed: Bool) -> String {
      #"{"time":\#(time),"open":"1","high":"2","low":"1","close":"\#(close)","volume":"3","trades":4,"closed":\#(closed),"rev":0,"source":"own"}"#
    }
    _ = it.receive(
      CoreHarness.message(
        "snapshot", "candles", #"{"interval":"1m","candles":[\#(candle(0, "1", true)),\#(candle(60, "2", false))]}"#,
        seq: 1))
    let step = it.receive(
      CoreHarness.message(
        "update", "candles",
        #"{"interval":"1m","candles":[\#(candle(60, "1.5", true)),\#(candle(120, "1.6", false))]}"#,
        prev: 1, seq: 2))
    guard case .candles(let series)? = step.values.first else { return #expect(Bool(false)) }
    #expect(series.candles.map(\.close.description) == ["1", "1.5", "1.6"] && series.symbol == "kraken:BTC-USD")
    #expect(series.current?.close.description == "1.6" && series.candles[0].source == .own)
  }

  @Test("a status tells of each feed what is syncing and what was refused; a state of later versions is kept as text")
  func status() {
    var it = CoreHarness(StreamRequest.status.untyped)
    _ = it.start()
    _ = it.opened()
    _ = it.receive(CoreHarness.subscribed(id: 3, CoreHarness.item("status", symbol: "")))
    let text =
      #"{"type":"snapshot","channel":"status","stream":1,"seq":11,"time":1,"data":{"feeds":[{"venue":"kraken","state":"dreaming","indicator":"connected","since":7,"age_ms":12,"gap":{"from":1,"to":2,"backfilled":false},"syncing":{"kraken:A-USD":"sequence gap"},"failed":{"kraken:B-USD":"unknown"}}]}}"#
    var feed = FeedReport(venue: "kraken", state: .unknown("dreaming"), indicator: .connected)
    feed.since = .init(microseconds: 7)
    feed.age = .milliseconds(12)
    feed.syncing = ["kraken:A-USD": "sequence gap"]
    feed.failed = ["kraken:B-USD": "unknown"]
    #expect(it.receive(text).values == [.status([feed])])
  }
}
