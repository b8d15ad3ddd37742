import Bytes
import MarketData

/// Reading Hyperliquid's lists of markets, and the 24 h figures of all of them.
extension HyperliquidHandler {
  private static let listLimit = 100_000

  /// `{"universe":[{"name":"BTC","szDecimals":5,"maxLeverage":40,"isDelisted":true},…]}`
  func readPerpetuals(_ reader: inout FieldReader) throws(FeedError) -> [HyperliquidMarket] {
    var list: [HyperliquidMarket]?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "universe"), reader.peek() == .array else {
        try reader.skipValue()
        continue
      }
      var found: [HyperliquidMarket] = []
      try reader.arrayStart()
      var index = 0
      while try reader.nextElement() {
        if let market = try readPerpetual(&reader, index) { found.append(market) }
        index += 1
        guard found.count <= Self.listLimit else { throw FeedError(.shape, "list of more than 100,000 markets") }
      }
      list = found
    }
    guard let list else { throw FeedError.missing("universe", in: "meta") }
    return list
  }

  /// Nil for a market that somebody else deployed, whose name has a colon.
  private func readPerpetual(
    _ reader: inout FieldReader, _ index: Int
  ) throws(FeedError) -> HyperliquidMarket? {
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
    return HyperliquidMarket(
      name: name, symbol: FeedSymbol(base: base, quote: "USDC", kind: .perpetual),
      priceScale: UInt8(clamping: 6 - digits), sizeScale: UInt8(clamping: digits), isDelisted: isDelisted, index: index,
      isExact: base == name)
  }

  /// `[{"universe":[…],…},[{"dayNtlVlm":…,…},…]]`: a list and the 24 h figures of its markets, in its order, or by
  /// `coin` where they name their market.
  func readWithContexts(
    _ reader: inout FieldReader, isSpot: Bool
  ) throws(FeedError) -> [HyperliquidMarket] {
    reader.field = "data"
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("universe", in: "data") }
    var list = isSpot ? try readSpots(&reader) : try readPerpetuals(&reader)
    guard try reader.nextElement() else { throw FeedError.missing("contexts", in: "data") }
    var byName: [String: Decimal64] = [:]
    var byIndex: [Int: Decimal64] = [:]
    var index = 0
    try reader.arrayStart()
    while try reader.nextElement() {
      var name: String?
      var volume: Decimal64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "dayNtlVlm") {
          volume = try longStatistic(&reader, "dayNtlVlm")
        } else if reader.equals(key, "coin"), reader.peek() == .string {
          name = try reader.decodedString("coin")
        } else {
          try reader.skipValue()
        }
      }
      if let name { byName[name] = volume } else { byIndex[index] = volume }
      index += 1
      guard index <= Self.listLimit else { throw FeedError(.shape, "contexts of more than 100,000 markets") }
    }
    while try reader.nextElement() { try reader.skipValue() }
    for place in list.indices {
      list[place].quoteVolume = byName[list[place].name] ?? (isSpot ? nil : byIndex[list[place].index])
    }
    return list
  }

  private struct Token {
    var name: String
    var digits: Int64
  }

  /// `{"tokens":[{"name":"USDC","szDecimals":8,"index":0,…},…],"universe":[{"name":"@107","tokens":[150,0],"isCanonical":false,…},…]}`:
  /// a market names its tokens, base and quote, by their index. Sizes have the digits of the base.
  func readSpots(_ reader: inout FieldReader) throws(FeedError) -> [HyperliquidMarket] {
    var tokens: [Int64: Token] = [:]
    var universe: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "tokens"), reader.peek() == .array {
        try reader.arrayStart()
        while try reader.nextElement() {
          let (index, token) = try readToken(&reader)
          tokens[index] = token
          guard tokens.count <= Self.listLimit else { throw FeedError(.shape, "list of more than 100,000 tokens") }
        }
      } else if reader.equals(key, "universe"), reader.peek() == .array {
        universe = try reader.rawValue("universe")
      } else {
        try reader.skipValue()
      }
    }
    guard let universe else { throw FeedError.missing("universe", in: "spotMeta") }
    var list: [HyperliquidMarket] = []
    var markets = reader.reader(universe)
    try markets.arrayStart()
    while try markets.nextElement() {
      if let market = try readSpot(&markets, tokens) { list.append(market) }
      guard list.count <= Self.listLimit else { throw FeedError(.shape, "list of more than 100,000 markets") }
    }
    return list
  }

  private func readToken(_ reader: inout FieldReader) throws(FeedError) -> (index: Int64, Token) {
    var token = Token(name: "", digits: 0)
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
    _ reader: inout FieldReader, _ tokens: [Int64: Token]
  ) throws(FeedError) -> HyperliquidMarket? {
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
    return HyperliquidMarket(
      name: name, symbol: FeedSymbol(base: base.name.uppercased(), quote: quote.name.uppercased()),
      priceScale: UInt8(clamping: 8 - base.digits), sizeScale: UInt8(clamping: base.digits),
      isExact: isCanonical || (base.name == base.name.uppercased() && quote.name == quote.name.uppercased()))
  }
}
