import Testing

@testable import TidegateClient

/// A gateway may be broken or somebody else's: whatever it sends, the app that uses the client goes on.
@Suite("A hostile gateway")
struct HostileGatewayTests {
  static let heartbeat = #"{"type":"heartbeat","time":1,"sent":9223372036854775807,"feeds":{}}"#

  static func sparkline(_ type: String, _ link: String, _ data: String) -> String {
    #"{"type":"\#(type)","channel":"sparkline","symbol":"kraken:BTC-USD","stream":1,\#(link),"data":\#(data)}"#
  }

  @Test("a count of sent messages at the end of its range does not overflow with the next message")
  func sent() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(Self.heartbeat)
    _ = it.receive(CoreHarness.quote("snapshot", seq: 12))
    _ = it.receive(#"{"type":"update","channel":"weather","stream":9,"seq":1,"data":{}}"#)
    #expect(it.core.phase == .open)
    _ = it.receive(Self.heartbeat.replacing("9223372036854775807", with: "-1"))
    _ = it.receive(CoreHarness.quote("snapshot", seq: 12))
    #expect(it.core.phase == .open)
  }

  @Test("a stream at the end of its numbers is not counted on", arguments: [0, 1, UInt64.max - 1, .max])
  func numbers(from: UInt64) {
    var it = CoreHarness(StreamRequest.trades("kraken:BTC-USD").untyped)
    it.live("trades")
    let last = UInt64.max
    _ = it.receive(
      #"{"type":"update","channel":"trades","symbol":"kraken:BTC-USD","stream":1,"prev":10,"seq":\#(last),"data":{"trades":[]}}"#
    )
    let lost = #"{"type":"notice","code":"lost","stream":1,"from_seq":\#(from),"to_seq":\#(last),"count":1}"#
    #expect(it.receive(lost).events.count == 1)
    #expect(it.core.streams.values.first?.seq == last)
  }

  @Test(
    "a sparkline whose times cannot be is a gap, or is followed without a trap",
    arguments: [0, 1, 9_223_372_036_854, Int64.max, -1, .min],
    [(Int64.min, Int64.max), (-.max, .max), (.max, -.max), (0, .max), (.max, .min), (.max - 1, .max), (0, 10_000_000)])
  func sparkline(step: Int64, times: (from: Int64, to: Int64)) {
    var it = CoreHarness(StreamRequest.sparkline("kraken:BTC-USD").untyped)
    it.live("sparkline")
    let snapshot = #"{"range":"24h","from":\#(times.from),"step_s":\#(step),"points":["1",null,"3"]}"#
    let isRead = it.receive(Self.sparkline("snapshot", #""seq":1"#, snapshot)).values.count == 1
    #expect(isRead || [step, times.from].contains(.min))
    for (seq, index) in [0, 2, 1439, 1440, Int64.max, -1].enumerated() {
      let change = #"{"index":\#(index),"price":"5","from":\#(times.to)}"#
      _ = it.receive(Self.sparkline("update", #""prev":\#(seq + 1),"seq":\#(seq + 2)"#, change))
      #expect(it.core.streams.values.allSatisfy { ($0.payload?.points ?? 0) <= 1440 })
    }
    // `Int64.min` is no number that the scanner reads; a gateway that sends one is left.
    #expect(it.core.phase == .open || [step, times.from, times.to].contains(.min))
  }

  @Test("a sparkline of more points than the protocol has is no sparkline")
  func manyPoints() {
    var it = CoreHarness(StreamRequest.sparkline("kraken:BTC-USD").untyped)
    it.live("sparkline")
    let points = Array(repeating: "\"1\"", count: 1441).joined(separator: ",")
    let actions = it.receive(
      Self.sparkline("snapshot", #""seq":1"#, #"{"range":"24h","from":0,"step_s":60,"points":[\#(points)]}"#))
    #expect(actions.values.isEmpty)
  }

  @Test(
    "times to wait are brought into their range",
    arguments: [Int64.min, -1, 0, .max], ["heartbeat_s", "reconnect_in_ms", "retry_after_ms"])
  func waits(value: Int64, field: String) {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    if field != "heartbeat_s" { _ = it.welcome() }
    switch field {
    case "heartbeat_s": _ = it.receive(#"{"type":"welcome","id":2,"session":"s","heartbeat_s":\#(value)}"#)
    case "reconnect_in_ms":
      _ = it.receive(#"{"type":"notice","code":"drain","reconnect_in_ms":\#(value),"deadline":1}"#)
    default:
      _ = it.receive(
        #"{"type":"error","id":3,"code":"rate_limited","message":"","retry":true,"retry_after_ms":\#(value)}"#)
    }
    let deadline = it.core.nextDeadline ?? .max
    #expect(deadline >= it.now && deadline - it.now <= 9_000_000_000_000, "within two and a half hours")
  }

  @Test("one symbol that is refused a thousand times is asked for once")
  func repeatedRefusals() {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    let failure =
      #"{"channel":"quote","symbol":"kraken:BTC-USD","error":{"code":"not_ready","message":"","retry_after_ms":100}}"#
    let failures = Array(repeating: failure, count: 1_000).joined(separator: ",")
    _ = it.receive(#"{"type":"subscribed","id":3,"ok":[],"failed":[\#(failures)]}"#)
    let again = it.pass(milliseconds: 100).sent
    #expect(again.count == 1 && again.first?.utf8.count ?? .max < 200, "\(again.count) requests")
  }

  @Test("a stream that is moved again and again leaves one unread value, not one for each number")
  func moves() {
    var it = CoreHarness()
    it.live()
    let late = it.subscribe(StreamRequest.quote("kraken:BTC-USD").untyped).id
    for stream in 2...1_000 {
      let item = CoreHarness.item("quote", stream: stream).replacing("{", with: "{\"from\":\(stream - 1),")
      _ = it.receive(#"{"type":"configured","streams":[\#(item)]}"#)
      _ = it.receive(CoreHarness.quote("snapshot", seq: 1, stream: stream))
    }
    #expect(it.take(late).short == ["value quote"])
    #expect(it.core.streams.numbers.count == 1 && it.core.streams.count == 1)
  }

  @Test("a list of more elements than its kind has ends the connection, not the app", arguments: ["book", "candles"])
  func lists(channel: String) {
    var it = CoreHarness(
      .all(StreamRequest.book("kraken:BTC-USD").untyped, StreamRequest.candles("kraken:BTC-USD").untyped))
    it.live(channel)
    let candle = #"{"time":1,"open":"1","high":"1","low":"1","close":"1","closed":true,"rev":0,"source":"own"}"#
    let data =
      channel == "book"
      ? #"{"bids":[\#(Array(repeating: #"["1","1"]"#, count: 100_001).joined(separator: ","))],"asks":[]}"#
      : #"{"candles":[\#(Array(repeating: candle, count: 1_001).joined(separator: ","))]}"#
    let step = it.receive(CoreHarness.message("snapshot", channel, data, seq: 11))
    #expect(step.actions.first == .close(code: 1007, reason: "not tidegate.v1"))
  }

  @Test(
    "a message that lacks what every such message has ends the connection, and names it",
    arguments: [
      ("quote", #"{"bid":"1"}"#, "time"), ("ticker", #"{"time":1}"#, "source"), ("pulse", #"{"time":1}"#, "price"),
      ("book", #"{"bids":[],"asks":[]}"#, "time"),
      ("trades", #"{"trades":[{"id":"1","price":"1","size":"1","time":1}]}"#, "side"),
      ("candles", #"{"candles":[{"time":1,"open":"1","high":"1","low":"1","close":"1","rev":0}]}"#, "closed"),
      ("topic", #"{"documents":[{"number":1,"document":{}}]}"#, "time"),
      ("alerts", #"{"alerts":[{"id":"1"}]}"#, "name"),
      ("portfolio", #"{"currency":"USD"}"#, "state"),
      ("portfolio", #"{"state":"live","holdings":[{"asset":"BTC","state":"live"}]}"#, "quantity"),
    ])
  func missing(channel: String, data: String, member: String) {
    var it = CoreHarness()
    it.live()
    let step = it.receive(CoreHarness.message("snapshot", channel, data, stream: 9, seq: 11))
    guard case .disconnected(.badMessage(let reason), _?)? = step.connection.first else {
      return #expect(Bool(false), "\(step)")
    }
    #expect(reason == "`\(member)` is missing")
  }

  @Test("grants that nobody asked for make no streams")
  func grants() {
    var it = CoreHarness()
    it.live()
    let many = (2..<500).map { CoreHarness.item("book", symbol: "kraken:S\($0)-USD", stream: $0) }
    _ = it.receive(#"{"type":"subscribed","id":9,"ok":[\#(many.joined(separator: ","))],"failed":[]}"#)
    _ = it.receive(#"{"type":"welcome","id":9,"session":"x","ok":[\#(many.joined(separator: ","))],"failed":[]}"#)
    #expect(it.core.streams.count == 1 && it.core.streams.numbers.count == 1)
    #expect(it.receive(CoreHarness.message("snapshot", "book", "{}", stream: 7, seq: 1)).events.isEmpty)
  }
}

extension Payload {
  fileprivate var points: Int { if case .sparkline(let line) = self { line.points.count } else { 0 } }
}
