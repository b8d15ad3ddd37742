import MarketData
import Testing

@testable import Venues

@Suite("Who is to blame for the end of a connection")
struct SuspectSymbolsTests {
  fileprivate static let limits = DialectFacts.FatalNames(
    within: 3 * Microseconds.second, strikes: 3, rest: 6 * Microseconds.hour)
  private let now = Timestamp(microseconds: 1_700_000_000_000_000)

  /// Of three symbols.
  private final class Script {
    private var suspects = SuspectSymbols(.itsConnection(SuspectSymbolsTests.limits))
    private let now: Timestamp

    init(_ now: Timestamp) {
      self.now = now
      suspects.grow(to: 3)
    }

    func prove(_ index: Int) -> Bool { suspects.prove(index) }
    func end(behind indices: [Int]) -> Int? { suspects.disconnected(behind: indices, now: now) }
    func release(_ index: Int, after span: Int64) { suspects.release(index, now: now + span) }
    func next(_ indices: [Int]) -> Int? { suspects.next(among: indices) }
    func isSuspect(_ index: Int) -> Bool { suspects.isSuspect(index) }
    func isShunned(_ index: Int) -> Bool { suspects.isShunned(index) }
  }

  @Test("of several nobody is refused; they are asked for alone, who has ended the fewest connections first")
  func several() {
    let suspects = Script(now)
    #expect(!suspects.prove(0))
    #expect(suspects.end(behind: [0, 1, 2]) == nil)
    #expect((0..<3).map(suspects.isSuspect) == [false, true, true], "what the venue knew is free")
    #expect(suspects.end(behind: [1]) == nil)
    #expect(suspects.next([0, 1, 2]) == 2 && suspects.next([0]) == nil)
    #expect(suspects.prove(2) && !suspects.prove(2) && !suspects.isSuspect(2))
  }

  @Test("one that ends connection after connection alone is left alone, and then one end is enough")
  func shunned() {
    let suspects = Script(now)
    #expect(suspects.end(behind: [1]) == nil)
    #expect(suspects.end(behind: [1]) == nil)
    #expect(suspects.end(behind: [1]) == 1 && suspects.isShunned(1))
    suspects.release(1, after: Self.limits.rest - 1)
    #expect(suspects.isShunned(1))
    suspects.release(1, after: Self.limits.rest)
    #expect(!suspects.isShunned(1) && suspects.isSuspect(1))
    #expect(suspects.end(behind: [1]) == 1)
    // Once proved, its ends are forgotten.
    suspects.release(1, after: Self.limits.rest)
    #expect(suspects.prove(1))
    #expect(suspects.end(behind: []) == nil)
    #expect(suspects.end(behind: [1]) == nil && !suspects.isShunned(1))
  }
}
