import Bytes
import Gateway
import MarketData
import Settings
import Venues

extension FuzzTarget {
  /// What may stand behind `--feed`, a line each: `kraken=*-USD:top20,BTC-USD`.
  static let selection = FuzzTarget("selection", maxLength: 1024) { (bytes) throws(FuzzFailure) in
    for line in bytes.lines.prefix(32) {
      let text = String(decoding: line, as: UTF8.self)
      try load(text)
      let items = text.split(separator: "=", maxSplits: 1).last?.split(separator: ",").prefix(8) ?? []
      for item in items { try select(String(item)) }
    }
  }

  // MARK: The option

  private static func load(_ text: String) throws(FuzzFailure) {
    let feed: GatewayConfiguration.Feed
    switch read(text) {
    case .failure(let error):
      try require(!error.problems.isEmpty, "refused without a problem")
      for problem in error.problems {
        try require(
          !problem.message.isEmpty && problem.location == "flag --feed", "a problem without words: \(problem)")
      }
      return
    case .success(let loaded):
      guard loaded.feeds.count == 1 else { throw FuzzFailure("\(loaded.feeds.count) feeds from one") }
      feed = loaded.feeds[0]
      try spread(feed, loaded.feedConnections)
    }
    try require(Set(feed.symbols).count == feed.symbols.count && !feed.symbols.isEmpty, "symbols twice, or none")
    // Written again it says the same.
    let again = "\(feed.venue)=\(feed.symbols.joined(separator: ","))"
    guard case .success(let second) = read(again) else { throw FuzzFailure("\(again) is refused") }
    try requireSame(second.feeds, [feed], "another feed")
  }

  private static func read(_ text: String) -> Result<GatewayConfiguration, ConfigurationProblems> {
    do throws(ConfigurationProblems) {
      let flag = ConfigurationFlag("--feed", sets: "feeds", to: [text])
      return .success(try ConfigurationLoader.load(file: nil, flags: [flag]).configuration)
    } catch {
      return .failure(error)
    }
  }

  /// Every symbol is on one connection, every selection on those that may hold some of it, none on more than it may
  /// have.
  private static func spread(
    _ feed: GatewayConfiguration.Feed, _ connections: [(venue: Venue, configuration: FeedConfiguration)]
  ) throws(FuzzFailure) {
    var seen: [String: Int] = [:]
    for (venue, configuration) in connections {
      let named = configuration.symbols.count { !MarketSelection.isMeant(by: $0) }
      try require(named <= venue.symbolLimit, "\(named) symbols on a connection of \(venue.symbolLimit)")
      for symbol in configuration.symbols { seen[symbol, default: 0] += 1 }
    }
    try requireSame(Set(seen.keys), Set(feed.symbols), "symbols get lost, or come from nowhere")
    for (symbol, count) in seen where !MarketSelection.isMeant(by: symbol) {
      try require(count == 1, "\(symbol) is on \(count) connections")
    }
  }

  // MARK: A selection

  private static func select(_ text: String) throws(FuzzFailure) {
    let selection: MarketSelection
    do throws(MarketSelectionError) {
      selection = try MarketSelection(text)
    } catch {
      return try require(!error.description.isEmpty, "refused without words")
    }
    let narrow = selection.narrowed(to: 7)
    let rank: Int?
    do throws(MarketSelectionError) {
      rank = try MarketSelection(narrow).rank
    } catch {
      throw FuzzFailure("\(text) is to be narrowed to \(narrow): \(error)")
    }
    try requireSame(rank, 7, "the rank of \(narrow)")
    let chosen = selection.choose(from: markets)
    try require(chosen.count <= selection.rank ?? .max, "\(chosen.count) of rank \(selection.rank ?? 0)")
    try require(
      chosen.allSatisfy { selection.matches($0.symbol) && selection.mayHold($0.symbol.kind.family) },
      "what does not match is chosen")
    for market in markets {
      try requireSame(
        selection.matches(market.symbol), reference(text, market.symbol), "\(text), \(market.symbol.text)")
    }
    guard selection.rank == nil else { return }
    let wanted = markets.filter { $0.state == .trading && $0.contractSize != nil && selection.matches($0.symbol) }
    try requireSame(Set(chosen), Set(wanted), "what matches is left out")
  }

  /// The rule the long way: whole names, each `*` by every length that it may have.
  private static func reference(_ text: String, _ symbol: FeedSymbol) -> Bool {
    var pattern = String(text.prefix { $0 != ":" })
    if pattern == "*" { return true }
    if pattern.hasPrefix("=") { pattern.removeFirst() }
    if !pattern.contains("-") { pattern = "*-" + pattern }
    let wanted = pattern.split(separator: "-").map { Array($0.utf8) }
    let parts = symbol.text.split(separator: "-").map { Array($0.utf8) }
    guard wanted.count == parts.count else { return false }
    // A pattern with a letter is for no day, and one without is for no perpetual but by a star.
    if case .future = symbol.kind, wanted[2].contains(where: { $0 != 0x2A && !(0x30...0x39).contains($0) }) {
      return false
    }
    return zip(wanted, parts).allSatisfy { matches($0[...], $1[...]) }
  }

  private static func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
    // By dynamic programming over prefixes of the text: which of them the pattern so far takes whole.
    var reached = [true] + [Bool](repeating: false, count: text.count)
    for byte in pattern {
      var next = [Bool](repeating: false, count: text.count + 1)
      for (index, letter) in zip(0..., text) {
        if byte == UInt8(ascii: "*") {
          next[index] = next[index] || reached[index] || (index > 0 && next[index - 1])
        } else if reached[index], letter == byte {
          next[index + 1] = true
        }
      }
      if byte == UInt8(ascii: "*") {
        next[text.count] = reached[text.count] || (text.count > 0 && next[text.count - 1])
      }
      reached = next
    }
    return reached[text.count]
  }

  private static let markets: [ListedMarket] = {
    let names = [
      "BTC-USD", "ETH-USD", "BTC-USDT", "1000PEPE-USDT-PERP", "BTC-USDT-PERP", "BTC-USDT-20261225",
      "ETH-USDT-20270326", "USD-USD", "A-B", "AB-AB",
    ]
    return names.enumerated().compactMap { index, name in
      FeedSymbol(name).map {
        ListedMarket(
          venueSymbol: name, symbol: $0,
          contractSize: Decimal64(mantissa: name == "AB-AB" ? 0 : 1, scale: 0),
          state: name == "USD-USD" ? .halted : .trading,
          quoteVolume: index % 3 == 0 ? nil : Decimal64(mantissa: Int64(index * 37 % 11), scale: 0))
      }
    }
  }()
}
