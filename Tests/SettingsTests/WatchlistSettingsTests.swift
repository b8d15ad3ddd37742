import Testing

@testable import Settings

@Suite("Lists of symbols that clients request by name")
struct WatchlistSettingsTests {
  private func load(_ text: String) throws -> LoadedConfiguration {
    try ConfigurationLoader.load(
      file: nil, environment: ["TIDEGATE_WATCHLISTS": text, "TIDEGATE_DEMO": "true"], isReadable: { _ in true })
  }

  @Test("symbols and patterns by name")
  func lists() throws {
    let loaded = try load("majors=kraken:BTC-USD kraken:ETH-USD,all=kraken:* *:BTC-USD")
    #expect(
      loaded.configuration.watchlists.lists == [
        "majors": ["kraken:BTC-USD", "kraken:ETH-USD"], "all": ["kraken:*", "*:BTC-USD"],
      ])
    #expect(
      loaded.entries.contains {
        $0.key == "watchlists" && $0.value == "all=kraken:* *:BTC-USD,majors=kraken:BTC-USD kraken:ETH-USD"
      })
  }

  @Test(
    "what is no list is refused",
    arguments: [
      "majors", "majors=", "=kraken:BTC-USD", "Ma jors=kraken:BTC-USD", "a=BTC-USD", "a=kraken:", "a=:BTC-USD",
      "a=kraken:BTC:USD", "a=kraken:BTC-USD,a=kraken:ETH-USD", "a=kraken:\u{E9}-USD",
    ])
  func refused(text: String) {
    #expect(throws: ConfigurationProblems.self) { try load(text) }
  }

  @Test("lists and their symbols have bounds")
  func bounds() {
    func isTaken(_ entries: [String]) -> Bool {
      var settings = WatchlistSettings()
      return settings.take(entries)
    }
    let symbols = (0...WatchlistSettings.symbolLimit).map { "kraken:A\($0)-USD" }
    #expect(!isTaken(["a=" + symbols.joined(separator: " ")]))
    #expect(isTaken(["a=" + symbols.dropLast().joined(separator: " ")]))
    #expect(!isTaken((0...WatchlistSettings.limit).map { "a\($0)=kraken:*" }))
    #expect(isTaken((0..<WatchlistSettings.limit).map { "a\($0)=kraken:*" }))
  }
}
