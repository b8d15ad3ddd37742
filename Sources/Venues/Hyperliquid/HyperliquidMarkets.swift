import Bytes
import MarketData

/// Reading Hyperliquid's lists of markets, and the 24 h figures of all of them.
extension Hyperliquid {
  /// A market of a list.
  struct Listed {
    var market: ListedMarket
    /// The index in the list, by which 24 h figures are found.
    var index: Int
    /// Whether the symbol is spelled as the name is: of names that differ in case only, that one comes first.
    var isExact: Bool

    /// Prices have at most so many digits after the point, 6 on perpetuals and 8 on spot, less those of sizes. They
    /// have at most five significant digits besides, unless they are whole: the step grows with the price, and there is
    /// no increment to tell.
    fileprivate init(
      _ name: String, _ symbol: FeedSymbol, priceDigits: Int64, digits: Int64, isDelisted: Bool = false, index: Int,
      isExact: Bool
    ) {
      market = ListedMarket(
        venueSymbol: name, symbol: symbol, priceScale: UInt8(clamping: priceDigits - digits),
        sizeIncrement: Decimal64(mantissa: 1, scale: UInt8(clamping: digits)),
        state: isDelisted ? .halted : .trading)
      self.index = index
      self.isExact = isExact
    }
  }

  /// Which of its lists an answer is; nil if it is not a list.
  static func part(of type: JSONSlice, _ reader: borrowing FieldReader) -> (part: Part, hasContexts: Bool)? {
    if reader.equals(type, "meta") { return (.perpetuals, false) }
    if reader.equals(type, "spotMeta") { return (.spots, false) }
    if reader.equals(type, "metaAndAssetCtxs") { return (.perpetuals, true) }
    return reader.equals(type, "spotMetaAndAssetCtxs") ? (.spots, true) : nil
  }

  func readList(
    _ reader: inout FieldReader, _ part: Part, hasContexts: Bool
  ) throws(FeedError) -> [ListedMarket] {
    let list = hasContexts ? try readWithContexts(&reader, part) : try readUniverse(&reader, part)
    return (list.filter(\.isExact) + list.filter { !$0.isExact }).map(\.market)
  }

  private func readUniverse(_ reader: inout FieldReader, _ part: Part) throws(FeedError) -> [Listed] {
    part == .spots ? try readSpots(&reader) : try readPerpetuals(&reader)
  }

  /// `{"universe":[{"name":"BTC","szDecimals":5,"maxLeverage":40,"isDelisted":true},…]}`
  func readPerpetuals(_ reader: inout FieldReader) throws(FeedError) -> [Listed] {
    let answer = try FieldObject(&reader, "meta")
    return try answer.objects("universe") { (row, index) throws(FeedError) -> Listed? in
      let name = try row.name("name")
      guard let digits = row.integer("szDecimals") else { throw FeedError.missing("szDecimals", in: "universe") }
      // A market that somebody else deployed has a name with a colon.
      guard !name.contains(":") else { return nil }
      let base = name.uppercased()
      return Listed(
        name, FeedSymbol(base: base, quote: "USDC", kind: .perpetual), priceDigits: 6, digits: digits,
        isDelisted: row.flag("isDelisted") ?? false, index: index, isExact: base == name)
    }
  }

  /// `[{"universe":[…],…},[{"dayNtlVlm":…,…},…]]`: a list and the 24 h figures of its markets, in its order, or by
  /// `coin` where they name their market.
  private func readWithContexts(_ reader: inout FieldReader, _ part: Part) throws(FeedError) -> [Listed] {
    reader.field = "data"
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("universe", in: "data") }
    var list = try readUniverse(&reader, part)
    guard try reader.nextElement() else { throw FeedError.missing("contexts", in: "data") }
    var byName: [String: Decimal64] = [:]
    var byIndex: [Int: Decimal64] = [:]
    _ = try reader.list { (reader, index) throws(FeedError) -> Int? in
      let row = try FieldObject(&reader, "contexts")
      let volume = row.value("dayNtlVlm") { (value) throws(FeedError) in
        try readLongStatistic(&value, "dayNtlVlm")
      }
      if let name = row.text("coin") { byName[name] = volume } else { byIndex[index] = volume }
      return index
    }
    while try reader.nextElement() { try reader.skipValue() }
    for symbolIndex in list.indices {
      let (name, index) = (list[symbolIndex].market.venueSymbol, list[symbolIndex].index)
      list[symbolIndex].market.quoteVolume = byName[name] ?? (part == .spots ? nil : byIndex[index])
    }
    return list
  }

  /// `{"tokens":[{"name":"USDC","szDecimals":8,"index":0,…},…],
  /// "universe":[{"name":"@107","tokens":[150,0],"isCanonical":false,…},…]}`: a market names its tokens, base and
  /// quote, by their index. Sizes have the digits of the base. A market whose tokens are not listed is left out.
  func readSpots(_ reader: inout FieldReader) throws(FeedError) -> [Listed] {
    let answer = try FieldObject(&reader, "spotMeta")
    var tokens: [Int64: (name: String, digits: Int64)] = [:]
    _ = try answer.objects("tokens") { (row, _) throws(FeedError) -> Int64? in
      guard let index = row.integer("index") else { throw FeedError.missing("index", in: "token") }
      tokens[index] = (row.text("name") ?? "", row.integer("szDecimals") ?? 0)
      return index
    }
    return try answer.objects("universe") { (row, index) throws(FeedError) -> Listed? in
      let name = try row.name("name")
      let sides = row.elements("tokens") { (value) throws(FeedError) in try value.int64("tokens") }
      guard sides.count >= 2, let base = tokens[sides[0]], let quote = tokens[sides[1]] else { return nil }
      let symbol = FeedSymbol(base: base.name.uppercased(), quote: quote.name.uppercased())
      return Listed(
        name, symbol, priceDigits: 8, digits: base.digits, index: index,
        isExact: row.flag("isCanonical") == true || (base.name == symbol.base && quote.name == symbol.quote))
    }
  }
}
