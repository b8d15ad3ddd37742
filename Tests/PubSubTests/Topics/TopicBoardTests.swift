import Bytes
import MarketData
import PubSub
import TestSupport
import Testing

@Suite("Published topics")
struct TopicBoardTests {
  private static let now = Timestamp(microseconds: 1_795_348_800_000_000)

  private func board(_ change: (inout TopicBoard.Limits) -> Void = { _ in }) -> TopicBoard {
    var limits = TopicBoard.Limits()
    change(&limits)
    return TopicBoard(limits: limits)
  }

  private func numbers(_ page: TopicBoard.Page?) -> [UInt64]? { page?.documents.map(\.number) }

  @Test("a reader who comes later has the newest; one who comes back has what followed, and is told what is gone")
  func reading() throws {
    var board = board { $0.kept = 3 }
    #expect(board.read("risk", limit: 1) == nil)
    for number in 1...5 as ClosedRange<UInt64> {
      #expect(try board.publish(Array("{\"n\":\(number)}".utf8), to: "risk", now: Self.now) == number)
    }
    #expect(numbers(board.read("risk", limit: 2)) == [4, 5])
    #expect(numbers(board.read("risk", after: 4, limit: 10)) == [5])
    #expect(numbers(board.read("risk", after: 5, limit: 10)) == [])
    let late = board.read("risk", after: 0, limit: 2)
    #expect(numbers(late) == [3, 4] && late?.lost == 2)
    // A number of an earlier run.
    #expect(numbers(board.read("risk", after: 900, limit: 10)) == [3, 4, 5])
  }

  @Test("the text is kept as it was published, inside the page's JSON")
  func text() throws {
    var board = board()
    _ = try board.publish(Array(#"{ "state":"SOFT_BRAKE", "size":"0.50" }"#.utf8), to: "risk", now: Self.now)
    var out = ByteBuffer()
    board.read("risk", limit: 1)?.append(topic: "risk", epoch: "e1", to: &out)
    #expect(
      out.description == #"{"topic":"risk","epoch":"e1","number":1,"documents":[{"number":1,"time":1795348800000000,"#
        + #""document":{ "state":"SOFT_BRAKE", "size":"0.50" }}]}"#)
  }

  @Test("what is no document, no name, or too much is refused, and changes nothing")
  func refusals() throws {
    var board = board {
      $0.topics = 1
      $0.documentBytes = 20
    }
    let document = Array("{}".utf8)
    for name in ["", "A", "a/b", "a b", "\"", String(repeating: "a", count: 65)] {
      #expect(throws: TopicError.name) { try board.publish(document, to: name, now: Self.now) }
    }
    for text in ["", "{", "{}x", "{\"a\":01}", "nul"] {
      #expect(throws: TopicError.self) { try board.publish(Array(text.utf8), to: "a", now: Self.now) }
    }
    #expect(throws: TopicError.malformed(offset: 0)) {
      try board.publish([UInt8(ascii: "\""), 0xFF, UInt8(ascii: "\"")], to: "a", now: Self.now)
    }
    #expect(throws: TopicError.tooLarge(limit: 20)) {
      try board.publish(Array(repeating: UInt8(ascii: "1"), count: 21), to: "a", now: Self.now)
    }
    #expect(board.names.isEmpty)
    _ = try board.publish(document, to: "a", now: Self.now)
    #expect(throws: TopicError.tooMany(limit: 1)) { try board.publish(document, to: "b", now: Self.now) }
  }

  @Test("a topic keeps no more bytes than it may, but always its newest document", arguments: testSeeds(4))
  func bytes(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var board = board {
      $0.kept = 10
      $0.topicBytes = 300
      $0.documentBytes = 400
    }
    var published: [Int] = []
    for number in 1...200 {
      let digits = Int.random(in: 1...400, using: &random)
      published.append(digits)
      _ = try board.publish(Array(repeating: UInt8(ascii: "1"), count: digits), to: "a", now: Self.now)
      let page = try #require(board.read("a", limit: 1_000))
      let kept = page.documents.map(\.text.count)
      #expect(kept == Array(published.suffix(kept.count)) && page.number == UInt64(number), "seed \(seed)")
      #expect(kept.count <= 10 && (kept.count == 1 || kept.reduce(0, +) <= 300), "seed \(seed)")
      let more = published.suffix(kept.count + 1)
      #expect(more.count > 10 || more.count == kept.count || more.reduce(0, +) > 300, "seed \(seed)")
    }
  }
}
