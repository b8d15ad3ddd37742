import MarketData
import Testing

@Suite("Near names")
struct NearNamesTests {
  @Test(
    "the name that was meant is at most a third of its letters away",
    arguments: [
      ("lisetn", "listen"), ("feds", "feeds"), ("log_level", "log-level"), ("LOOPS", "loops"), ("abc", nil), ("x", nil),
      ("", nil), ("kraken:BCT-USD", "kraken:BTC-USD"),
    ])
  func nearest(name: String, meant: String?) {
    let names = ["listen", "feeds", "log-level", "loops", "kraken:BTC-USD"]
    #expect(NearNames.of(name, among: names, limit: 1).first == meant)
  }

  @Test("several are nearest first, then by name, up to the limit")
  func order() {
    #expect(NearNames.of("abcdef", among: ["abcdxx", "abcdez", "abcdey", "zzzzzz"]) == ["abcdey", "abcdez", "abcdxx"])
    #expect(NearNames.of("abcdef", among: ["abcdxx", "abcdez", "abcdey"], limit: 1) == ["abcdey"])
  }

  @Test("a question names them, or is empty")
  func question() {
    #expect(NearNames.question("krakne", among: ["kraken", "binance"]) == " (did you mean kraken?)")
    #expect(NearNames.question("x", among: ["kraken"]) == "")
  }
}
