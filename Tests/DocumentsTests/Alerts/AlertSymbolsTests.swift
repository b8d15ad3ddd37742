import MarketData
import Testing

@testable import Documents

@Suite("Symbols of alerts")
struct AlertSymbolsTests {
  @Test("a symbol is used while a rule names it, and is not live afterwards")
  func uses() {
    var symbols = AlertSymbols()
    symbols.add("a")
    symbols.add("a")
    symbols.setLive("a", true)
    let isFirstTheLast = symbols.remove("a")
    #expect(!isFirstTheLast && symbols.isUsed("a") && symbols.allLive == ["a"])
    let isSecondTheLast = symbols.remove("a")
    #expect(isSecondTheLast && !symbols.isUsed("a") && symbols.allLive.isEmpty && symbols.all.isEmpty)
  }

  @Test("live markets are recorded every five seconds, and at once after the clock was set back")
  func records() {
    var symbols = AlertSymbols()
    let start = Timestamp(microseconds: 1_790_000_000_000_000)
    func isDue(_ seconds: Int64) -> Bool { symbols.takeRecord(now: start + seconds * Microseconds.second) }
    #expect(!isDue(0), "nothing is live")
    symbols.setLive("a", true)
    #expect(
      [isDue(0), isDue(4), isDue(5), isDue(9), isDue(8), isDue(3), isDue(7)]
        == [true, false, true, false, false, true, false])
  }
}
