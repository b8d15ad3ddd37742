import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Ring of refused messages")
struct FeedErrorRingTests {
  private func note(_ text: [UInt8], _ error: FeedError, at time: Int64, in ring: inout FeedErrorRing) {
    ring.note(error, text.span.bytes, now: Timestamp(microseconds: time))
  }

  @Test("the newest 64 are kept, newest first, and all are counted by kind")
  func bound() {
    var ring = FeedErrorRing()
    #expect(ring.entries.isEmpty && ring.counts.isEmpty && ring.total == 0)
    for number in 0..<200 {
      let kind: FeedError.Kind = number % 3 == 0 ? .json : .decimal
      note(Array("message \(number)".utf8), FeedError(kind, "detail \(number)"), at: Int64(number), in: &ring)
      #expect(ring.entries.count == min(number + 1, FeedErrorRing.entryLimit))
      #expect(ring.entries[0].text == "message \(number)")
    }
    let entries = ring.entries
    #expect(entries.map(\.time.microseconds) == (136..<200).reversed().map(Int64.init))
    #expect(entries.allSatisfy { $0.text == "message \($0.time.microseconds)" && !$0.isCut })
    #expect(entries[3].detail == "detail 196" && entries[3].kind == .decimal && entries[2].kind == .decimal)
    #expect(
      ring.counts.map(\.kind) == [.json, .decimal] && ring.counts.map(\.count) == [67, 133] && ring.total == 200)
  }

  @Test("a long message is cut, and says so with its length; a shorter one in the same place shows nothing of it")
  func cut() {
    var ring = FeedErrorRing()
    let long = [UInt8](repeating: UInt8(ascii: "a"), count: FeedErrorRing.textLimit + 1)
    for _ in 0..<FeedErrorRing.entryLimit {
      note(long, FeedError(.json, String(repeating: "d", count: 1_000)), at: 1, in: &ring)
    }
    #expect(ring.entries[0].text.utf8.count == FeedErrorRing.textLimit && ring.entries[0].isCut)
    #expect(ring.entries[0].length == FeedErrorRing.textLimit + 1)
    #expect(ring.entries[0].detail.utf8.count == FeedErrorRing.detailLimit)
    note(Array(long.dropLast()), FeedError(.json, ""), at: 2, in: &ring)
    #expect(ring.entries[0].text.utf8.count == FeedErrorRing.textLimit && !ring.entries[0].isCut)
    note(Array("{".utf8), FeedError(.json, ""), at: 3, in: &ring)
    #expect(ring.entries[0].text == "{")
    note([], FeedError(.oversized, "too large"), at: 4, in: &ring)
    #expect(ring.entries[0].text == "" && ring.entries[0].length == 0 && ring.entries[0].detail == "too large")
  }

  @Test("a pipeline notes what its venue sent: unreadable, binary, answers that say no or nothing")
  func pipeline() {
    let pipeline = FeedPipeline(
      venue: Binance.spot, configuration: FeedConfiguration(symbols: ["BNB-BTC"]))
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    func receive(_ bytes: [UInt8], isBinary: Bool = false) {
      pipeline.receive(bytes.span.bytes, isBinary: isBinary, now: now)
    }
    pipeline.prepare(now: now)
    receive(Array(#"{"e":"depthUpdate""#.utf8))
    #expect(pipeline.errors.entries.map(\.text) == [#"{"e":"depthUpdate""#])
    #expect(pipeline.errors.entries[0].detail == pipeline.lastError?.detail)
    receive([0x1F, 0x8B, 0x08, 0x00], isBinary: true)
    #expect(pipeline.errors.entries[0].kind == .binary && pipeline.errors.entries[0].text == #"\u{1f}\x8B\u{8}\u{0}"#)
    receive(Array(#"{"result":null,"id":1}"#.utf8), isBinary: true)
    #expect(pipeline.errors.total == 2)

    let actions = pipeline.takeActions()
    guard case .get(let request, let path, _)? = actions.first else {
      Issue.record("no list was asked for")
      return
    }
    let words = Array("connection refused".utf8)
    pipeline.response(to: request, status: 0, body: words.span.bytes, now: now, path: path)
    #expect(pipeline.errors.entries[0].kind == .answer)
    #expect(pipeline.errors.entries[0].detail == "GET \(path): no answer: connection refused")
    #expect(pipeline.errors.entries[0].text == "")
    let refusal = Array(#"{"code":-1003,"msg":"Too many requests."}"#.utf8)
    pipeline.response(to: 999, status: 429, body: refusal.span.bytes, now: now, path: "/x")
    #expect(pipeline.errors.entries[0].detail == "GET /x: status 429")
    #expect(pipeline.errors.entries[0].text == #"{"code":-1003,"msg":"Too many requests."}"#)
    #expect(pipeline.errors.counts.map(\.count).reduce(0, +) == 4)
  }

  @Test("an answer of status 200 that cannot be read is told with the reason; one that can is not")
  func answers() {
    let pipeline = FeedPipeline(
      venue: Binance.spot, configuration: FeedConfiguration(symbols: ["BNB-BTC"]))
    var now = Timestamp(microseconds: 1_700_000_000_000_000)
    func ask() -> Int? {
      now = now + 60 * Microseconds.second
      pipeline.prepare(now: now)
      for action in pipeline.takeActions() { if case .get(let request, _, _) = action { return request } }
      return nil
    }
    func answer(_ text: String) {
      guard let request = ask() else {
        Issue.record("no list was asked for")
        return
      }
      let bytes = Array(text.utf8)
      pipeline.response(to: request, status: 200, body: bytes.span.bytes, now: now, path: "/list")
    }
    answer(#"{"symbols":[{"symbol":7}]}"#)
    let entry = pipeline.errors.entries.first
    #expect(entry?.kind == .answer && entry?.text == #"{"symbols":[{"symbol":7}]}"#)
    #expect(entry?.detail.hasPrefix("GET /list: ") == true && entry?.detail.contains("symbol") == true)
    answer(#"{"symbols":[{"symbol":"BNBBTC","baseAsset":"BNB","quoteAsset":"BTC"}]}"#)
    #expect(pipeline.errors.total == 1)
  }
}
