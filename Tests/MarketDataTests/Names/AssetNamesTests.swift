import TestSupport
import Testing

@testable import MarketData

@Suite("Names of assets")
struct AssetNamesTests {
  @Test("a venue's own name counts in its markets, elsewhere the one that most venues say")
  func rule() {
    var names = AssetNames()
    names.set(["ATOM": "Cosmos-Atom", "BTC": "Bitcoin"], of: "bitfinex")
    #expect(names.name(of: "ATOM", at: "kraken") == "Cosmos-Atom")
    names.set(["ATOM": "Cosmos", "BTC": "bitcoin"], of: "kucoin")
    // One says this, one says that: the order decides.
    #expect(names.name(of: "ATOM", at: "kraken") == "Cosmos")
    #expect(names.name(of: "ATOM", at: "bitfinex") == "Cosmos-Atom")
    names.set(["ATOM": "COSMOS ATOM"], of: "deribit")
    #expect(names.name(of: "ATOM", at: "kraken") == "Cosmos-Atom", "two say it, however they write it")
    #expect(names.name(of: "BTC", at: "kraken") == "bitcoin")
    #expect(names.name(of: "NOPE", at: "kraken") == nil)
    #expect(names.assets.map(\.code) == ["ATOM", "BTC"])
    #expect(names.assets[0].sources.map(\.venue) == ["kucoin", "bitfinex", "deribit"])
  }

  @Test("a list replaces the one before, and the same list changes nothing")
  func replaced() {
    var names = AssetNames()
    names.set(["ZEC": "Zcash", "OLD": "Gone"], of: "coinbase")
    let revision = names.revision
    names.set(["ZEC": "Zcash", "OLD": "Gone"], of: "coinbase")
    #expect(names.revision == revision)
    names.set(["ZEC": "Zcash"], of: "coinbase")
    #expect(names.revision == revision + 1)
    #expect(names.name(of: "OLD", at: "coinbase") == nil)
    #expect(names.assets.map(\.code) == ["ZEC"])
  }

  @Test(
    "refuses what is no name",
    arguments: [
      ("BTC", ""), ("BTC", "   "), ("BTC", "btc"), ("BTC", "B-T-C"), ("BTC", "a\u{7}b"), ("BTC", "\u{202E}nioctib"),
      ("BTC", "a\nb"), ("BTC", String(repeating: "x", count: 65)), ("", "Nothing"), ("<B>", "Markup"), ("A B", "Space"),
      (String(repeating: "A", count: 25), "Long"), ("BTC", "\u{E000}"),
    ])
  func refused(code: String, name: String) {
    #expect(AssetNames.name(name, of: code) == nil)
    var names = AssetNames()
    names.set([code: name], of: "coinbase")
    #expect(names.isEmpty)
  }

  @Test("takes names as people write them", arguments: ["Bitcoin", "0x Protocol", "Crédit", "比特币", "SHIBA INU", "₿"])
  func taken(name: String) {
    #expect(AssetNames.name("  \(name) ", of: "XYZ") == name)
  }

  /// Every list in one table, searched anew for every question.
  private struct Naive {
    var lists: [(venue: String, names: [String: String])] = []

    func name(of code: String, at venue: String) -> String? {
      let ranked = lists.sorted { rank($0.venue) < rank($1.venue) }
      if let own = ranked.first(where: { $0.venue == venue })?.names[code] { return own }
      let said = ranked.compactMap { $0.names[code] }
      var best: (name: String, count: Int)?
      for name in said {
        let count = said.count { AssetNames.key($0) == AssetNames.key(name) }
        if count > (best?.count ?? 0) { best = (name, count) }
      }
      return best?.name
    }

    private func rank(_ venue: String) -> String {
      "\(AssetNames.order.firstIndex(of: venue) ?? 9)\(venue)"
    }
  }

  @Test("answers what a naive table answers, under seeded lists", arguments: 0..<20)
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let venues = ["kraken", "deribit", "bitfinex", "kucoin", "coinbase", "gate"]
    let words = ["Alpha", "alpha", "Al-pha", "Beta", "Beta Coin", "beta coin", "Gamma"]
    let codes = (0..<12).map { "C\($0)" }
    var (names, naive) = (AssetNames(), Naive())
    for step in 0..<60 {
      let venue = venues.randomElement(using: &random) ?? ""
      var list: [String: String] = [:]
      for code in codes where Bool.random(using: &random) { list[code] = words.randomElement(using: &random) }
      names.set(list, of: venue)
      naive.lists.removeAll { $0.venue == venue }
      naive.lists.append((venue, list))
      for code in codes {
        for venue in venues {
          #expect(names.name(of: code, at: venue) == naive.name(of: code, at: venue), "seed \(seed), step \(step)")
        }
      }
      let known = codes.filter { code in naive.lists.contains { $0.names[code] != nil } }.sorted()
      #expect(names.assets.map(\.code) == known, "seed \(seed), step \(step)")
      let after = codes.randomElement(using: &random) ?? ""
      #expect(names.assets[names.index(after: after)...].map(\.code) == known.filter { $0 > after })
    }
  }
}
