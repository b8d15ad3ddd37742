import MarketData

/// An instrument with the location of its state.
package struct DirectoryEntry: Sendable {
  /// The loop that owns its market state.
  package var loop: Int
  /// The slot of its market in that loop's publisher.
  package var market: Int
  package var instrument: Instrument
  package var bookState: BookState
  package init(loop: Int, market: Int, instrument: Instrument, bookState: BookState) {
    self.loop = loop
    self.market = market
    self.instrument = instrument
    self.bookState = bookState
  }
}

/// Every instrument by symbol; each loop has a directory. The symbols of a pattern are stored until an instrument is
/// added.
package struct Directory: Sendable {
  /// Symbols in their order.
  private struct Index {
    var byVenue: [Substring: [String]] = [:]
    /// By the part after the colon.
    var byName: [Substring: [String]] = [:]
  }

  /// The bases and quotes of the instruments.
  struct Assets {
    var names: Set<String> = []
    var byCapitals: [String: String] = [:]
  }

  package var entries: [String: DirectoryEntry] = [:] {
    didSet {
      index = nil
      assets = nil
      revision &+= 1
    }
  }
  /// Grows with each change of the entries.
  private(set) var revision: UInt64 = 0
  /// The names of the configured venues, also of those without instruments yet.
  package var venues: [String] = []
  /// The names of assets.
  package var names = AssetNames()
  private var index: Index?
  private var assets: Assets?
  /// How often the index was built. For tests.
  private(set) var indexings = 0
  package init() {}

  /// Adds an instrument, or replaces one. O(1).
  package mutating func update(_ entry: DirectoryEntry) {
    let symbol = entry.instrument.symbol
    let isNew = entries[symbol] == nil
    let kept = (isNew ? nil : index, isNew ? nil : assets)
    entries[symbol] = entry
    (index, assets) = kept
  }

  /// The symbols that `kraken:*` or `*:BTC-USD` stands for, in their order; none for any other text. O(1), and O(n log
  /// n) the first time after a new instrument.
  mutating func symbols(matching wildcard: String) -> [String] {
    guard let colon = wildcard.firstIndex(of: ":") else { return [] }
    let (venue, name) = (wildcard[..<colon], wildcard[wildcard.index(after: colon)...])
    if name == "*" { return indexed().byVenue[venue] ?? [] }
    return venue == "*" ? indexed().byName[name] ?? [] : []
  }

  /// Whether the instruments of a venue are known. O(1), like `symbols(matching:)`.
  mutating func hasInstruments(of venue: Substring) -> Bool { indexed().byVenue[venue] != nil }

  /// The assets that the instruments are made of. O(1), and O(n) the first time after a new instrument.
  mutating func tradedAssets() -> Assets {
    if let assets { return assets }
    var all = Assets()
    for entry in entries.values {
      for name in [entry.instrument.base, entry.instrument.quote] where all.names.insert(name).inserted {
        let capitals = Self.capitals(name)
        all.byCapitals[capitals] = min(name, all.byCapitals[capitals] ?? name)
      }
    }
    assets = all
    return all
  }

  /// A to Z for a to z.
  static func capitals(_ name: String) -> String {
    String(decoding: name.utf8.map { $0 &- UInt8(ascii: "a") < 26 ? $0 & 0xDF : $0 }, as: UTF8.self)
  }

  private mutating func indexed() -> Index {
    if let index { return index }
    var index = Index()
    for symbol in entries.keys.sorted() {
      guard let colon = symbol.firstIndex(of: ":") else { continue }
      index.byVenue[symbol[..<colon], default: []].append(symbol)
      index.byName[symbol[symbol.index(after: colon)...], default: []].append(symbol)
    }
    self.index = index
    indexings += 1
    return index
  }
}
