import MarketData
import Testing

@testable import Venues

@Suite("Watching a connection")
struct ConnectionWatchTests {
  private let start = Timestamp(microseconds: 1_795_000_000_000_000)
  private func after(_ milliseconds: Int64) -> Timestamp { start + milliseconds * Microseconds.millisecond }

  private enum Sign { case pong, answer, market }

  /// Looks four times a second, with `sign` once a second from `from` on; when each health was first seen, in ms.
  private func firsts(
    _ sign: Sign?, staleAfter: Int64 = 10 * Microseconds.second, expectsMarket: Bool = true, seconds: Int64 = 120
  ) -> (stale: Int64?, dead: Int64?) {
    var watch = ConnectionWatch(staleAfter: staleAfter, now: start)
    watch.heard(isPong: true, now: start)
    var stale: Int64?
    for time in stride(from: Int64(250), through: seconds * 1_000, by: 250) {
      let now = after(time)
      if time % 1_000 == 0, let sign {
        watch.heard(isPong: sign == .pong, now: now)
        if sign == .market { watch.heardMarket(now: now) }
      }
      switch watch.check(now: now, expectsMarket: expectsMarket) {
      case .fine: break
      case .stale: stale = stale ?? time
      case .dead: return (stale, time)
      }
      if watch.isProbeDue(now: now) { watch.probed(now: now) }
    }
    return (stale, nil)
  }

  @Test("data keeps it alive; pongs and answers keep the socket and nothing else")
  func signs() {
    #expect(firsts(.market) == (nil, nil))
    #expect(firsts(.pong) == (10_000, 20_000))
    #expect(firsts(.answer) == (10_000, 20_000))
    #expect(firsts(.pong, staleAfter: 45 * Microseconds.second) == (45_000, 90_000))
  }

  @Test("a socket on which nothing comes is left in 12 s, whatever the venue's cadence; the missing pong shows before")
  func halfOpen() {
    let (stale, dead) = firsts(nil, staleAfter: 45 * Microseconds.second)
    #expect(dead == 12_000)
    #expect(stale.map { $0 <= 4_750 } ?? false)
  }

  @Test("where nothing is subscribed nothing is expected, but for the socket")
  func idle() {
    #expect(firsts(.pong, expectsMarket: false) == (nil, nil))
    #expect(firsts(nil, expectsMarket: false).dead == 12_000)
  }

  @Test("a ping goes out each 30 s, whatever comes, and an answer to it is awaited by nobody while data comes")
  func regularPings() {
    var watch = ConnectionWatch(staleAfter: 10 * Microseconds.second, now: start)
    var pings: [Int64] = []
    for time in stride(from: Int64(250), through: 100_000, by: 250) {
      let now = after(time)
      watch.heard(now: now)
      watch.heardMarket(now: now)
      #expect(watch.check(now: now, expectsMarket: true) == .fine)
      guard watch.isProbeDue(now: now) else { continue }
      watch.probed(now: now)
      pings.append(time)
    }
    #expect(pings == [30_000, 60_000, 90_000])
  }

  @Test("time in which this process stood still is nobody's silence")
  func stall() {
    var watch = ConnectionWatch(staleAfter: 10 * Microseconds.second, now: start)
    watch.heard(now: after(1_000))
    watch.heardMarket(now: after(1_000))
    #expect(watch.check(now: after(1_250), expectsMarket: true) == .fine)
    #expect(watch.check(now: after(61_250), expectsMarket: true) == .fine)
    // From then on it counts as before.
    var now = after(61_500)
    while now < after(75_000), watch.check(now: now, expectsMarket: true) == .fine {
      now = now + 250 * Microseconds.millisecond
    }
    #expect((after(71_000)...after(71_500)).contains(now), "\((now - start) / 1_000) ms")
  }

  @Test("a jump of the clock changes nothing")
  func jump() {
    for jump in [3_600, -3_600] as [Int64] {
      var watch = ConnectionWatch(staleAfter: 10 * Microseconds.second, now: start)
      #expect(watch.check(now: after(250), expectsMarket: true) == .fine)
      watch.timeJumped(by: jump * Microseconds.second)
      let shifted = jump * 1_000
      #expect(watch.check(now: after(shifted + 500), expectsMarket: true) == .fine)
      var now = after(shifted + 750)
      while case .fine = watch.check(now: now, expectsMarket: true) { now = now + 250 * Microseconds.millisecond }
      #expect((after(shifted + 10_000)...after(shifted + 10_500)).contains(now), "\(jump)")
    }
  }
}
