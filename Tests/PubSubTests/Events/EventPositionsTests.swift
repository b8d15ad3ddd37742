import Bytes
import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("Positions of a reader of events")
struct EventPositionsTests {
  private static func note(_ text: String, _ positions: inout EventPositions) {
    let bytes = Array(text.utf8)
    positions.note(bytes.span.bytes)
  }

  private static func id(_ positions: inout EventPositions) -> String? {
    var out = ByteBuffer()
    return positions.appendID(to: &out) ? out.description : nil
  }

  private static func entry(_ stream: Int, _ channel: String, _ symbol: String, _ more: String = "", seq: Int) -> String
  {
    """
    {"stream":\(stream),"channel":"\(channel)","symbol":"\(symbol)"\(more),"interval_ms":0,"price_increment":"0.1",\
    "epoch":"k7","seq":\(seq),"state":"live"}
    """
  }

  private static func data(_ type: String, _ stream: Int, seq: Int) -> String {
    #"{"type":"\#(type)","channel":"x","stream":\#(stream),"seq":\#(seq),"reason":"slow","data":{"seq":1}}"#
  }

  @Test("an id never runs ahead of what was sent: a stream that goes on counts from where the reader was")
  func notAhead() throws {
    let was = try #require(EventPositions.read("d1|trades:kraken:BTC-USD;interval_ms=0@k7.4.71", digest: "d1"))
    for (recovered, epoch, expected) in [(true, "k7", "71"), (false, "k7", nil), (true, "k8", nil)] {
      var positions = EventPositions(digest: "d1", resumed: was)
      let entry =
        #"{"stream":4,"channel":"trades","symbol":"kraken:BTC-USD","interval_ms":0,"epoch":"\#(epoch)","seq":90,"#
        + #""state":"live","recovered":\#(recovered)}"#
      Self.note(
        #"{"type":"welcome","session":"s","limits":{"a":1},"total":1,"ok":[\#(entry)],"failed":[]}"#, &positions)
      let id = Self.id(&positions)
      #expect(id == expected.map { "d1|trades:kraken:BTC-USD;interval_ms=0@k7.4.\($0)" })
      Self.note(#"{"type":"subscribed","total":1,"ok":[\#(entry)],"failed":[]}"#, &positions)
      #expect(Self.id(&positions) == id)
      Self.note(Self.data("update", 4, seq: 72), &positions)
      #expect(Self.id(&positions)?.hasSuffix(".4.72") == true)
    }
  }

  @Test("follow replies, messages and streams that are replaced; a reader that comes back resumes each of them")
  func followed() throws {
    var positions = EventPositions(digest: "d1")
    #expect(Self.id(&positions) == nil)
    let ok = [
      Self.entry(2, "book", "kraken:BTC-USD", #","depth":25"#, seq: 1000),
      Self.entry(4, "trades", "kraken:BTC-USD", seq: 70),
    ]
    Self.note(#"{"type":"subscribed","total":2,"ok":[\#(ok.joined(separator: ","))],"failed":[]}"#, &positions)
    // A reply says where a stream is, and the reader has nothing of it yet.
    #expect(!positions.isNew)
    #expect(Self.id(&positions) == nil)
    Self.note(Self.data("snapshot", 2, seq: 1000), &positions)
    Self.note(Self.data("snapshot", 4, seq: 70), &positions)
    #expect(positions.isNew)
    // What must not be lost comes first.
    #expect(
      Self.id(&positions)
        == "d1|trades:kraken:BTC-USD;interval_ms=0@k7.4.70|book:kraken:BTC-USD;depth=25;interval_ms=0@k7.2.1000")
    #expect(!positions.isNew)
    Self.note(#"{"type":"heartbeat","time":1,"sent":3,"feeds":{"kraken":{"state":"live"}}}"#, &positions)
    Self.note(
      #"{"type":"update","channel":"book","symbol":"x","stream":9,"prev":1,"seq":2,"time":1,"data":{}}"#, &positions)
    #expect(!positions.isNew)
    Self.note(
      #"{"type":"update","channel":"trades","symbol":"kraken:BTC-USD","stream":4,"prev":70,"seq":71,"data":{}}"#,
      &positions)
    #expect(positions.isNew)
    let moved = #"{"stream":12,"from":2,"channel":"book","symbol":"kraken:BTC-USD","depth":25,"interval_ms":1000,"#
    Self.note(
      #"{"type":"notice","code":"slow","action":"degraded","streams":[\#(moved)"epoch":"k7","seq":5,"state":"live"}]}"#,
      &positions)
    #expect(Self.id(&positions) == "d1|trades:kraken:BTC-USD;interval_ms=0@k7.4.71")
    Self.note(Self.data("snapshot", 12, seq: 5), &positions)
    let id = try #require(Self.id(&positions))
    #expect(
      id == "d1|trades:kraken:BTC-USD;interval_ms=0@k7.4.71|book:kraken:BTC-USD;depth=25;interval_ms=1000@k7.12.5")
    let read = try #require(EventPositions.read(id, digest: "d1"))
    #expect(read.map(\.stream) == [4, 12] && read.map(\.seq) == [71, 5] && read.map(\.epoch) == ["k7", "k7"])
    #expect(EventPositions.read(id, digest: "d2") == nil)
  }

  @Test("become a resume that the parser takes, and one of other streams becomes none")
  func resumed() throws {
    let streams = ["trades:kraken:BTC-USD", "candles:kraken:BTC-USD;interval=1h"]
    let digest = try EventsRequest(streams: streams).digest
    let id = "\(digest)|trades:kraken:BTC-USD;interval_ms=0@k7.4.71|candles:kraken:BTC-USD;interval=1h@k7.5.9"
    let request = try EventsRequest(streams: streams, lastEventID: id)
    guard case .hello(let hello)? = parse(request.messages[0]).request else {
      Issue.record("no hello")
      return
    }
    let items = try #require(hello.resume?.items)
    #expect(items.map(\.channel) == [.trades, .candles] && items.allSatisfy { $0.error == nil })
    #expect(items[0].position == StreamPosition(stream: 4, epoch: "k7", seq: 71))
    #expect(items[1].candle?.name == "1h")
    let other = try EventsRequest(streams: ["trades:kraken:BTC-USD"], lastEventID: id)
    #expect(!String(decoding: other.messages[0], as: UTF8.self).contains("resume"))
  }

  @Test(
    "that cannot be read count as none",
    arguments: [
      "", "d1x", "d1|", "d1|trades", "d1|trades:a:b@k7.4", "d1|trades:a:b@k7.4.-1", "d1|trades:a:b@.4.1",
      "d1|trades:a:b,c:d@k7.4.1", "d1|trades:a:b@k7.4.1|", "d1|trades:a:b@k7.99999999999.1", "d1|trades:a:b@k7.4.1@",
      "d1|trades:a:b@k7.4.18446744073709551615",
    ])
  func unreadable(id: String) {
    #expect(EventPositions.read(id, digest: "d1") == nil)
    #expect(EventPositions.read(String(repeating: "x", count: 100_000), digest: "d1") == nil)
  }

  @Test("stay within their bounds, events before the rest, whatever is subscribed", arguments: testSeeds(6))
  func bounded(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var positions = EventPositions(digest: "d1")
    var events: [Int] = []
    for stream in 1...200 {
      let isEvent = Int.random(in: 0..<5, using: &random) == 0
      if isEvent { events.append(stream) }
      let symbol = String(repeating: "x", count: Int.random(in: 1...80, using: &random)) + ":B-C"
      let entry = Self.entry(stream, isEvent ? "trades" : "pulse", symbol, seq: stream)
      Self.note(#"{"type":"subscribed","ok":[\#(entry)]}"#, &positions)
      Self.note(Self.data("snapshot", stream, seq: stream), &positions)
      let id = try #require(Self.id(&positions))
      #expect(id.utf8.count <= EventPositions.bytesLimit, "seed \(seed)")
      let read = try #require(EventPositions.read(id, digest: "d1"))
      #expect(read.count <= EventPositions.limit, "seed \(seed)")
      let expected = Array(events.prefix(read.count).map(UInt32.init))
      #expect(Array(read.prefix(expected.count).map(\.stream)) == expected, "seed \(seed)")
    }
  }
}
