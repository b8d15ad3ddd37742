import Bytes
import MarketData

/// Reading Hyperliquid's lists of markets, and the 24 h figures of all of them.
extension Hyperliquid {
  /// A market of a list.
  struct Listed {
    var market: ListedMarket
    /// The place in the list, by which 24 h figures are found.
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

  /// Whichever of its lists an answer is; nil if it is none.
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
    var list: [Listed]?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "universe"), reader.peek() == .array else {
        try reader.skipValue()
        continue
      }
      list = try reader.list(readPerpetual)
    }
    guard let list else { throw FeedError.missing("universe", in: "meta") }
    return list
  }

  /// Nil for a market that somebody else deployed, whose name has a colon.
  private func readPerpetual(_ reader: inout FieldReader, _ index: Int) throws(FeedError) -> Listed? {
    var name = ""
    var digits: Int64?
    var isDelisted = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "name") {
        name = try reader.decodedString("name")
      } else if reader.equals(key, "szDecimals") {
        digits = try reader.int64("szDecimals")
      } else if reader.equals(key, "isDelisted"), reader.peek() == .bool {
        isDelisted = try reader.bool("isDelisted")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("name", in: "universe") }
    guard let digits else { throw FeedError.missing("szDecimals", in: "universe") }
    guard !name.contains(":") else { return nil }
    let base = name.uppercased()
    return Listed(
      name, FeedSymbol(base: base, quote: "USDC", kind: .perpetual), priceDigits: 6, digits: digits,
      isDelisted: isDelisted, index: index, isExact: base == name)
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
      var name: String?
      var volume: Decimal64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "dayNtlVlm") {
          volume = try readLongStatistic(&reader, "dayNtlVlm")
        } else if reader.equals(key, "coin"), reader.peek() == .string {
          name = try reader.decodedString("coin")
        } else {
          try reader.skipValue()
        }
      }
      if let name { byName[name] = volume } else { byIndex[index] = volume }
      return index
    }
    while try reader.nextElement() { try reader.skipValue() }
    for place in list.indices {
      let (name, index) = (list[place].market.venueSymbol, list[place].index)
      list[place].market.quoteVolume = byName[name] ?? (part == .spots ? nil : byIndex[index])
    }
    return list
  }

  private struct Token {
    var name = ""
    var digits: Int64 = 0
  }

  /// `{"tokens":[{"name":"USDC","szDecimals":8,"index":0,…},…],
  /// "universe":[{"name":"@107","tokens":[150,0],"isCanonical":false,…},…]}`: a market names its tokens, base and
  /// quote, by their index. Sizes have the digits of the base.
  func readSpots(_ reader: inout FieldReader) throws(FeedError) -> [Listed] {
    var tokens: [Int64: Token] = [:]
    var universe: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "tokens"), reader.peek() == .array {
        let list = try reader.list { (reader, _) throws(FeedError) -> (Int64, Token)? in try readToken(&reader) }
        for (index, token) in list { tokens[index] = token }
      } else if reader.equals(key, "universe"), reader.peek() == .array {
        universe = try reader.rawValue("universe")
      } else {
        try reader.skipValue()
      }
    }
    guard let universe else { throw FeedError.missing("universe", in: "spotMeta") }
    var markets = reader.reader(universe)
    return try markets.list { (reader, index) throws(FeedError) -> Listed? in try readSpot(&reader, index, tokens) }
  }

  private func readToken(_ reader: inout FieldReader) throws(FeedError) -> (index: Int64, Token) {
    var token = Token()
    var index: Int64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "name") {
        token.name = try reader.decodedString("name")
      } else if reader.equals(key, "szDecimals") {
        token.digits = try reader.int64("szDecimals")
      } else if reader.equals(key, "index") {
        index = try reader.int64("index")
      } else {
        try reader.skipValue()
      }
    }
    guard let index else { throw FeedError.missing("index", in: "token") }
    return (index, token)
  }

  /// Nil for a market whose tokens are not listed.
  private func readSpot(
    _ reader: inout FieldReader, _ index: Int, _ tokens: [Int64: Token]
  ) throws(FeedError) -> Listed? {
    var name = ""
    var sides: [Int64] = []
    var isCanonical = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "name") {
        name = try reader.decodedString("name")
      } else if reader.equals(key, "tokens") {
        try reader.arrayStart()
        while try reader.nextElement() {
          let index = try reader.int64("tokens")
          if sides.count < 2 { sides.append(index) }
        }
      } else if reader.equals(key, "isCanonical"), reader.peek() == .bool {
        isCanonical = try reader.bool("isCanonical")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("name", in: "spot universe") }
    guard sides.count == 2, let base = tokens[sides[0]], let quote = tokens[sides[1]] else { return nil }
    let symbol = FeedSymbol(base: base.name.uppercased(), quote: quote.name.uppercased())
    return Listed(
      name, symbol, priceDigits: 8, digits: base.digits, index: index,
      isExact: isCanonical || (base.name == symbol.base && quote.name == symbol.quote))
  }
}
