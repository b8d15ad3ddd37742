import MarketData
import Recordings
import TestSupport
import Testing

@testable import HTTPAPI

@Suite("The clock of a replay")
struct ReplayPaceTests {
  private static let start = Timestamp(microseconds: 1_788_000_000_000_000)

  @Test("a moment is due when its wait is over, at every speed", arguments: testSeeds(4))
  func due(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for text in ["0.01", "0.5", "1", "10", "10000"] {
      let speed = try #require(ReplaySpeed(text))
      var pace = ReplayPace(speed)
      #expect(pace.due(at: 5) == nil && !pace.hasBegun)
      let begun = Int64.random(in: 0...1_000_000, using: &random)
      pace.begin(at: Self.start, moment: begun)
      #expect(pace.due(at: begun) == Self.start)
      for _ in 0..<50 {
        let time = Self.start + Int64.random(in: 0...Microseconds.hour, using: &random)
        let wait = pace.wait(for: time, at: begun)
        // A µs of the clock is up to 10,000 of the recording.
        let factor = speed.factor ?? 1
        let due = try #require(pace.due(at: begun + wait))
        #expect(abs(due - time) <= Int64(factor.rounded(.up)), "seed \(seed), speed \(text)")
        #expect(pace.wait(for: time, at: begun + wait + 1) == 0)
      }
    }
  }

  @Test("the greatest speed waits for nothing, and extreme moments do not overflow")
  func extremes() throws {
    var fastest = ReplayPace(.fastest)
    #expect(fastest.due(at: 0) == .distantFuture)
    fastest.begin(at: Self.start, moment: 0)
    #expect(fastest.wait(for: .distantFuture, at: 0) == 0)
    var pace = ReplayPace(try #require(ReplaySpeed("10000")))
    pace.begin(at: Timestamp(microseconds: 0), moment: 0)
    #expect(try #require(pace.due(at: .max / 2)) >= Timestamp.readable.upperBound)
    var slow = ReplayPace(try #require(ReplaySpeed("0.01")))
    slow.begin(at: Timestamp(microseconds: 0), moment: 0)
    #expect(slow.wait(for: Timestamp.readable.upperBound, at: 0) > Microseconds.day)
  }

  @Test("another speed holds from the moment on that has been played")
  func change() throws {
    var pace = ReplayPace(.recorded)
    pace.begin(at: Self.start, moment: 0)
    pace.set(try #require(ReplaySpeed("10")), at: Self.start + 1_000, moment: 1_000)
    #expect(pace.due(at: 1_000) == Self.start + 1_000 && pace.due(at: 1_100) == Self.start + 2_000)
  }
}
