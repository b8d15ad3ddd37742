import MarketData
import Testing

@testable import PubSub

@Suite("Names of assets")
struct DirectoryAssetsTests {
  private func directory(_ pairs: [(base: String, quote: String)], venues: [String] = ["kraken"]) -> Directory {
    var directory = Directory()
    directory.venues = venues
    for (index, pair) in pairs.enumerated() {
      let instrument = Instrument(
        id: InstrumentID(index), venue: "kraken", venueSymbol: pair.base, base: pair.base,
        quote: pair.quote, priceScale: 2, sizeScale: 8)
      directory.update(DirectoryEntry(loop: 0, market: 0, instrument: instrument, bookState: .live))
    }
    return directory
  }

  @Test("an asset of a market, one that a venue names, and a state's currency are known as they are written")
  func known() {
    var directory = directory([("BTC", "USD"), ("kPEPE", "USDC")])
    directory.names.set(["ZEC": "Zcash"], of: "coinbase")
    for name in ["BTC", "USD", "kPEPE", "USDC", "ZEC", "CHF"] { #expect(directory.mistake(inAsset: name) == nil) }
    for (wrong, right) in [("btc", "BTC"), ("KPEPE", "kPEPE"), ("kpepe", "kPEPE"), ("zec", "ZEC"), ("Chf", "CHF")] {
      #expect(directory.mistake(inAsset: wrong) == .spelling(right))
      #expect(directory.misspelling(inAsset: wrong) == .spelling(right))
    }
    #expect(directory.mistake(inAsset: "btc")?.hint.contains("did you mean BTC?") == true)
  }

  @Test("a name that nobody knows is refused with near ones, and is no misspelling of what nothing keeps")
  func unknown() {
    var directory = directory([("BTC", "USD"), ("ETH", "USD")])
    #expect(directory.mistake(inAsset: "BTX") == .unknown(near: ["BTC"]))
    #expect(directory.mistake(inAsset: "XYZXYZ") == .unknown(near: []))
    #expect(directory.misspelling(inAsset: "BTX") == nil)
  }

  @Test("until every venue has listed its markets, only what cannot be an asset's name is refused")
  func early() {
    for venues in [[], ["kraken"], ["kraken", "okx"]] {
      var directory = directory(venues.count == 2 ? [("BTC", "USD")] : [], venues: venues)
      #expect(directory.mistake(inAsset: "SOL") == nil)
      #expect(directory.mistake(inAsset: "sol") == .unknown(near: []))
    }
  }

  @Test("a new instrument brings its assets")
  func later() {
    var directory = directory([("BTC", "USD")])
    #expect(directory.mistake(inAsset: "SOL") != nil)
    directory.update(
      DirectoryEntry(
        loop: 0, market: 0,
        instrument: Instrument(
          id: InstrumentID(1), venue: "kraken", venueSymbol: "s", base: "SOL", quote: "EUR", priceScale: 2,
          sizeScale: 8), bookState: .live))
    #expect(directory.mistake(inAsset: "SOL") == nil)
  }
}
