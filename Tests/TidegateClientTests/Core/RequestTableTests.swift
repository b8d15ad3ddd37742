import Testing

@testable import TidegateClient

@Suite("Requests that wait for answers")
struct RequestTableTests {
  private static let second: UInt64 = 1_000_000_000
  private let item = StreamItem(channel: .quote, symbol: "kraken:BTC-USD")
  private var table = RequestTable(timeout: .seconds(10))

  @Test("an answer takes its request once, and ids are never used again")
  mutating func answers() {
    #expect(table.add(.hello, now: 0) == 1)
    #expect(table.add(.ask(7), now: 0) == 2)
    guard case .ask(7)? = table.answered(2) else { return #expect(Bool(false), "another request") }
    #expect(table.answered(2) == nil && table.answered(9) == nil && table.answered(nil) == nil)
    #expect(!table.isEmpty)
    table.reset()
    #expect(table.isEmpty && table.nextDeadline == nil)
    #expect(table.add(.other, now: 0) == 3)
  }

  @Test("the oldest request decides when an answer is late")
  mutating func deadlines() {
    _ = table.add(.other, now: 2 * Self.second)
    _ = table.add(.other, now: Self.second)
    #expect(table.nextDeadline == 11 * Self.second)
    #expect(!table.isLate(11 * Self.second - 1) && table.isLate(11 * Self.second))
  }

  @Test("only a subscription's answer names streams")
  mutating func streams() {
    _ = table.add(.unsubscribe([1]), now: 0)
    #expect(!table.awaitsStreams)
    let id = table.add(.subscribe([item]), now: 0)
    #expect(table.awaitsStreams)
    _ = table.answered(id)
    #expect(!table.awaitsStreams)
  }

  @Test(
    "a request is repeated after the time given, in bounds",
    arguments: [(0, 100), (250, 250), (-5, 100), (Int64.max, 60_000)] as [(Int64, UInt64)])
  func retries(asked: Int64, waited: UInt64) {
    var table = table
    table.retry([item], afterMilliseconds: asked, now: Self.second)
    let due = Self.second + waited * 1_000_000
    #expect(table.nextDeadline == due)
    #expect(table.takeRetries(due - 1).isEmpty)
    #expect(table.takeRetries(due).map(\.items) == [[item]])
    #expect(table.takeRetries(due).isEmpty && table.nextDeadline == nil)
  }

  @Test("nothing to repeat is no wait")
  mutating func nothing() {
    table.retry([], afterMilliseconds: 100, now: 0)
    #expect(table.nextDeadline == nil)
  }

  @Test("a stream that is wanted again is not left later")
  mutating func keeps() {
    table.retry([], leaving: [4, 5], afterMilliseconds: 100, now: 0)
    #expect(table.keep(6) == nil)
    #expect(table.keep(4) == 100_000_000)
    #expect(table.keep(4) == nil)
    #expect(table.takeRetries(.max).map(\.leaving) == [[5]])
  }
}
