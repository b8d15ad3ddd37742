import Testing

@testable import Documents

@Suite("The pace of publishers")
struct TopicPaceTests {
  @Test("documents and bytes are counted by subject, and come free again with time")
  func rates() {
    var pace = TopicPace()
    for _ in 0..<TopicPace.documentsPerSecond { #expect(pace.take("a", bytes: 10, now: 5) == nil) }
    #expect(pace.take("a", bytes: 10, now: 5) != nil)
    #expect(pace.take("b", bytes: 10, now: 5) == nil)
    #expect(pace.take("a", bytes: 10, now: 1_000_005) == nil)
    for _ in 0..<TopicPace.kilobytesPerSecond / 64 { #expect(pace.take("c", bytes: 65_536, now: 5) == nil) }
    let wait = pace.take("c", bytes: 65_536, now: 5)
    #expect(wait != nil)
    // What is refused is not counted.
    for _ in 0..<100 { #expect(pace.take("c", bytes: 65_536, now: 5) == wait) }
    #expect(pace.take("c", bytes: 65_536, now: 1_000_005) == nil)
  }

  @Test("no more subjects are remembered than there is room for")
  func room() {
    var pace = TopicPace()
    for number in 0..<TopicPace.subjectLimit { #expect(pace.take("s\(number)", bytes: 1, now: 1) == nil) }
    #expect(pace.take("one more", bytes: 1, now: 1) != nil)
    #expect(pace.take("s0", bytes: 1, now: 1) == nil)
    #expect(pace.take("one more", bytes: 1, now: 2_000_000) == nil)
  }
}
