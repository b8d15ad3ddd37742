import Testing

@testable import HTTPAPI

@Suite("The pace of HTTP clients")
struct HTTPWatchTests {
  /// Watches from 0 through phases entered at seconds, and answers at which of the seconds up to 200 it is overdue
  /// first.
  private func overdue(_ phases: [(Int, HTTPWatch.Phase)]) -> (second: Int, what: HTTPWatch.Overdue)? {
    var watch = HTTPWatch(HTTPConnectionLimits(), now: 0)
    for second in 0...200 {
      for (at, phase) in phases where at == second { watch.enter(phase, at: Int64(second) * 1_000_000) }
      if let what = watch.overdue(at: Int64(second) * 1_000_000) { return (second, what) }
    }
    return nil
  }

  @Test("a connection that says nothing ends with the time of a head, one that has spoken may idle longer")
  func idle() throws {
    let silent = try #require(overdue([(0, .idle)]))
    #expect(silent == (11, .idle))
    let spoken = try #require(overdue([(3, .answering), (4, .idle), (5, .idle)]))
    #expect(spoken == (80, .idle))
  }

  @Test("a head must be whole in time, however its bytes drip in")
  func head() throws {
    // The first counts from the connection's begin, a later one from its first byte.
    let first = try #require(overdue((1...100).map { ($0 * 2 - 1, .head) }))
    #expect(first.second == 11)
    let later = try #require(overdue([(1, .answering), (2, .idle)] + (30...100).map { ($0, .head) }))
    #expect(later.second == 41)
    #expect("\(later.what)".contains("head was not complete after 10 s"))
    #expect(
      overdue(
        (1...40).flatMap { second -> [(Int, HTTPWatch.Phase)] in
          [(second * 5, .head), (second * 5, .answering), (second * 5, .idle)]
        }) == nil)
  }

  @Test("a body may rest once, then must keep its rate; so must a client that takes a response")
  func rate() throws {
    let resting = try #require(overdue([(1, .body(0))]))
    #expect(resting.second == 12)
    #expect(overdue((1...200).map { ($0, .body($0 * 1_024)) }) == nil)
    let slow = try #require(overdue((1...200).map { ($0, .body($0 * 500)) }))
    #expect((13...25).contains(slow.second))
    let taking = try #require(overdue((1...200).map { ($0, .sending($0)) }))
    #expect(taking == (12, .response))
    #expect(overdue((1...200).map { ($0, .sending($0 * 2_000)) }) == nil)
  }

  @Test("the time the gateway takes for an answer is not the client's")
  func answering() { #expect(overdue([(1, .answering)]) == nil) }
}

private func == (
  left: (second: Int, what: HTTPWatch.Overdue)?, right: (second: Int, what: HTTPWatch.Overdue)?
) -> Bool {
  left?.second == right?.second && left?.what == right?.what
}
