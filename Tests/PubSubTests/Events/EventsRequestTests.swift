import Bytes
import MarketData
import TestSupport
import Testing

@testable import PubSub

/// What a hub makes of a message.
func parse(_ message: [UInt8]) -> ParsedRequest { RequestParser.parse(message.span.bytes) }

@Suite("A request for server-sent events")
struct EventsRequestTests {
  private static func subscribed(_ streams: [String]) throws -> [ClientRequest.Item] {
    let request = try EventsRequest(streams: streams)
    let parsed = parse(request.messages[1])
    guard case .subscribe(let items)? = parsed.request else {
      Issue.record("no subscribe: \(String(describing: parsed.error))")
      return []
    }
    return items
  }

  @Test("names what a subscribe request names")
  func items() throws {
    let items = try Self.subscribed([
      "pulse:kraken:BTC-USD,*:ETH-USD", "book:kraken:BTC-USD;depth=25;interval_ms=250", "book:a:B-C;depth=full",
      "sparkline:kraken:ZEC-USD;range=7d;points=50", "candles:kraken:ZEC-USD;interval=1h", "status",
      "topic:risk-state;last=5", "rate:ZEC-USD", "portfolio;portfolio=3;currency=EUR",
    ])
    #expect(items.count == 9 && items.allSatisfy { $0.error == nil })
    #expect(items[0].channel == .pulse && items[0].symbols == ["kraken:BTC-USD", "*:ETH-USD"])
    #expect(items[1].depth == 25 && items[1].interval == 250)
    #expect(items[2].depth == 0)
    #expect(items[3].range?.name == "7d" && items[3].points == 50)
    #expect(items[4].candle?.name == "1h")
    #expect(items[5].channel == .status && items[5].symbols == [])
    #expect(items[6].last == 5)
    #expect(items[8].portfolio.id == "3")
  }

  @Test(
    "is refused with what is wrong with it, before anything is sent",
    arguments: [
      ("", "names no channel"), (":", "names no channel"), ("pulse:", "empty symbol"), ("pulse:a,,b", "empty symbol"),
      ("pulse", "symbols"), ("pulze:kraken:BTC-USD", "no channel"), ("book:a:b;depth=11", "depth"),
      ("book:a:b;depth=x", "depth"), ("book:a:b;depht=10", "no field"), ("book:a:b;depth", "not a field with a value"),
      ("book:a:b;depth=", "not a field with a value"), ("book:a:b;depth=10;depth=25", "twice"),
      ("book:a:b;channel=pulse", "no field"), ("book:a:b;depth=10\",\"symbols\":[\"x\"]", "depth"),
      ("pulse:a:b;interval_ms=-1", "interval_ms"), ("pulse:a:b;interval_ms=99999999999999999999", "interval_ms"),
    ])
  func refused(text: String, part: String) {
    let error = #expect(throws: ProtocolError.self) { try EventsRequest(streams: [text]) }
    let words = error.map { $0.message + ($0.hint ?? "") } ?? ""
    #expect(words.contains(part), "\(words)")
  }

  @Test("has a heartbeat within its bounds, and at most so many elements")
  func bounds() throws {
    for heartbeat in ["0", "61", "x", "1.5"] {
      #expect(throws: ProtocolError.self) { try EventsRequest(streams: ["status"], heartbeat: heartbeat) }
    }
    let hello = try parse(EventsRequest(streams: ["status"], heartbeat: "7").messages[0])
    guard case .hello(let greeting)? = hello.request else {
      Issue.record("no hello")
      return
    }
    #expect(greeting.heartbeatSeconds == 7 && greeting.resume == nil)
    #expect(throws: ProtocolError.self) { try EventsRequest(streams: []) }
    _ = try EventsRequest(streams: Array(repeating: "status", count: EventsRequest.itemLimit))
    #expect(throws: ProtocolError.self) {
      try EventsRequest(streams: Array(repeating: "status", count: EventsRequest.itemLimit + 1))
    }
  }

  @Test("never becomes another request, whatever characters it has", arguments: testSeeds(8))
  func hostile(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let pieces = [
      "book", "pulse", ":", ";", ",", "=", "depth", "10", "\"", "}", "]", "{", "[", "\\", "\n", "\u{0}", "é", "|", "@",
      "kraken:BTC-USD", "interval_ms", "symbols", "op", "token", " ", "*",
    ]
    for _ in 0..<3_000 {
      let texts = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      }
      guard let request = try? EventsRequest(streams: texts, lastEventID: texts[0]) else { continue }
      #expect(request.messages.count == 2)
      guard case .hello(let hello)? = parse(request.messages[0]).request,
        case .subscribe(let items)? = parse(request.messages[1]).request
      else {
        Issue.record("seed \(seed): \(texts)")
        continue
      }
      #expect(hello.token == nil && hello.resume == nil && items.count == texts.count, "seed \(seed): \(texts)")
      for (text, item) in zip(texts, items) {
        let read = try? EventItem(text[...])
        #expect(read?.channel == item.channel.rawValue && read?.symbols == item.symbols, "seed \(seed): \(text)")
      }
    }
  }
}
