import Testing

@testable import Gateway

@Suite("Whose input a turn takes")
struct InputTurnTests {
  /// Sessions by number; each message costs `cost`. Takes one message of each that waits, as a loop does.
  private struct Loop {
    var turn = InputTurn<Int>()
    var work: UInt64 = 0
    var taken: [Int] = []

    mutating func run(cost: UInt64) {
      taken = []
      for isAhead in [false, true] {
        let waiting = turn.takeWaiting(isAhead: isAhead)
        var index = 0
        while index < waiting.count, turn.hasTime(isAhead: isAhead, work: work) {
          taken.append(waiting[index])
          work += cost
          index += 1
        }
        turn.putBack(waiting[index...], isAhead: isAhead)
      }
      turn.end(at: work)
    }
  }

  @Test("those within their rates go first, however many are ahead of theirs")
  func order() {
    var loop = Loop()
    for session in 0..<200 { loop.turn.wait(session, isAhead: true) }
    loop.turn.wait(1_000, isAhead: false)
    loop.run(cost: 32 << 10)
    #expect(loop.taken == [1_000, 0, 1, 2])
    // The next turn goes on where this one ended, before those that came since.
    loop.turn.wait(2_000, isAhead: true)
    loop.run(cost: 32 << 10)
    #expect(loop.taken == [3, 4, 5, 6])
    #expect(loop.turn.mostWork == 4 * (32 << 10))
  }

  @Test("bursts share a quarter of a turn; those within their rates have all of it, and no more")
  func shares() {
    var loop = Loop()
    for session in 0..<500 {
      loop.turn.wait(session, isAhead: true)
      loop.turn.wait(1_000 + session, isAhead: false)
    }
    loop.run(cost: 2 << 10)
    #expect(loop.taken == Array(1_000..<1_256))
    loop.run(cost: 2 << 10)
    // 244 that are left, and none of a burst: the turn has had more than a quarter of its work.
    #expect(loop.taken == Array(1_256..<1_500))
    loop.run(cost: 2 << 10)
    #expect(loop.taken == Array(0..<64))
  }

  @Test("a session that comes now waits behind those of its kind, and is not kept by a burst")
  func newcomers() {
    var turn = InputTurn<Int>()
    #expect(turn.mayTake(isAhead: true, work: 0) && turn.mayTake(isAhead: false, work: 0))
    turn.wait(1, isAhead: true)
    #expect(!turn.mayTake(isAhead: true, work: 0) && turn.mayTake(isAhead: false, work: 0))
    #expect(!turn.mayTake(isAhead: true, work: 256 << 10) && turn.mayTake(isAhead: false, work: 256 << 10))
    #expect(!turn.mayTake(isAhead: false, work: 1 << 20))
    turn.wait(2, isAhead: false)
    #expect(!turn.mayTake(isAhead: false, work: 0))
    turn.end(at: 5 << 20)
    #expect(turn.takeWaiting(isAhead: false) == [2] && turn.mayTake(isAhead: false, work: 5 << 20))
  }
}
