import Bytes
import MarketData
import Venues

/// What has to be known of a recording before it can be played: its venue, its symbols in the gateway's words, its instruments.
package struct ReplaySource {
  /// How many records are looked through for the instrument list; recorders ask for it first.
  private static let searchLimit = 4096
  /// Quote currencies by which a Binance symbol is taken apart where the recording has no instrument list; longest match.
  private static let quotes = [
    "USDT", "USDC", "BUSD", "FDUSD", "TUSD", "USDP", "BTC", "ETH", "BNB", "TRY", "EUR", "BRL", "RUB", "GBP", "AUD",
    "JPY", "USD",
    "DAI", "XRP", "TRX", "DOGE",
  ]

  /// What URLs of instrument lists have in them.
  private static let listPaths = [
    "/exchangeInfo", "/products", "/instruments-info", "/currency_pairs", "/api/v2/symbols",
    "/conf/pub:list:pair:exchange", "/v2/markets", "/trading-pairs-info", "/v1/symbols", "/get_instruments",
  ]

  package let venue: Venue
  /// `BTC-USDT`
  package let symbols: [String]
  /// The instrument list to answer with: the recorded one, or one made from the header.
  package let instruments: [UInt8]
  /// Recorded answers to other requests that came before the first frames (24 h volumes), by path; at most `answerLimit`.
  let answers: [String: [UInt8]]
  private static let answerLimit = 64
  /// By the market's name: recorded answers about single instruments, where the list has names only (Gemini).
  private let details: [String: [UInt8]]
  /// A message that comes first on every connection: an instrument list that is part of the stream and was not recorded. Mostly empty.
  package private(set) var preamble: [UInt8] = []

  /// Looks through the beginning of the recording.
  /// - Throws: what is wrong with it, or that its venue is none of those that can be replayed.
  package init(path: String) throws(RecordingError) {
    let reader = try RecordingReader(path: path)
    let header = reader.header
    var list: [UInt8]?
    var url: String?
    var speaksV2 = false
    var answers: [String: [UInt8]] = [:]
    var isArchived = false
    var details: [String: [UInt8]] = [:]
    var hasPosts = false
    for _ in 0..<Self.searchLimit {
      guard let record = try reader.next() else { break }
      switch record.kind {
      case .open: url = url ?? record.url
      case .text:
        if !speaksV2 { speaksV2 = Self.contains(reader.payload.unsafeBytes, "\"channel\"") }
        if !isArchived { isArchived = Self.contains(reader.payload.unsafeBytes, "\"type\":\"l2_updates\"") }
        if !hasPosts { hasPosts = Self.contains(reader.payload.unsafeBytes, "\"payload\":{\"type\":\"") }
      case .http:
        guard let url = record.url, record.status == 200, Self.depthSymbol(url) == nil else { break }
        let path = Self.path(of: url)
        if let market = path.firstRange(of: Self.detailsPath) {
          details[String(path[market.upperBound...])] = [UInt8](reader.payload.unsafeBytes)
        } else if path != "/products/stats", Self.listPaths.contains(where: { path.contains($0) }) {
          list = list ?? [UInt8](reader.payload.unsafeBytes)
        } else if answers.count < Self.answerLimit {
          answers[path] = [UInt8](reader.payload.unsafeBytes)
        }
      case .binary, .sent, .close, .gap: break
      }
    }
    self.details = details
    guard !header.symbols.isEmpty else {
      throw RecordingError(path: path, line: 1, field: "symbols", "is empty: there is no market to replay")
    }
    self.answers = answers
    // What they came to is found again in the recorded list, with the recorded volumes.
    // A name of the venue's own may hold a colon, too (Bitfinex).
    let selections = header.symbols.filter { MarketSelection.isMeant(by: $0) && (try? MarketSelection($0)) != nil }
    let names = header.symbols.filter { !selections.contains($0) }
    switch (header.venue, header.market) {
    case ("binance", "spot"), ("binanceus", "spot"), ("binancetr", "spot"):
      venue = VenueRegistry.venue(named: "binance")!
      let pairs = try Self.binancePairs(names, list: list, path: path)
      symbols = pairs.map { "\($0.base)-\($0.quote)" } + selections
      instruments = list ?? Self.binanceList(pairs)
    case ("coinbase", "spot"):
      venue = VenueRegistry.venue(named: "coinbase")!
      symbols = header.symbols
      instruments = list ?? Self.coinbaseList(names)
    case ("coinbase-advanced", "spot"):
      venue = VenueRegistry.venue(named: "coinbase-advanced")!
      symbols = header.symbols
      instruments = list ?? Self.coinbaseAdvancedList(names)
    case ("kraken", "spot") where url?.hasSuffix("/v2") ?? speaksV2:
      venue = VenueRegistry.venue(named: "kraken")!
      symbols = names.map { $0.split(separator: "/").joined(separator: "-") } + selections
      instruments = []
    case ("binance", "usdm"):
      let pairs = try Self.binancePairs(names, list: list, path: path)
      symbols = pairs.map(Self.contract) + selections
      venue = VenueRegistry.venue(named: "binance")!.connections(for: FeedConfiguration(symbols: symbols))[0].venue
      instruments = list ?? Self.binanceList(pairs, isFutures: true)
    case ("bitfinex", "spot"):
      venue = VenueRegistry.venue(named: "bitfinex")!
      let pairs = try Self.bitfinexPairs(names, list: list, path: path)
      symbols = pairs.map(\.symbol.text) + selections
      instruments = list ?? Self.bitfinexList(pairs)
    case ("bitstamp", "spot"):
      venue = VenueRegistry.venue(named: "bitstamp")!
      let pairs = try Self.bitstampPairs(names, list: list, path: path)
      symbols = pairs.map { "\($0.base)-\($0.quote)" } + selections
      instruments = list ?? Self.bitstampList(pairs)
    case ("bybit", "spot"), ("bybit", "linear"):
      let isSpot = header.market == "spot"
      let pairs = try Self.bybitPairs(names, isSpot: isSpot, path: path)
      symbols =
        pairs.map { FeedSymbol(base: $0.base, quote: $0.quote, kind: isSpot ? .spot : .perpetual).text } + selections
      venue = VenueRegistry.venue(named: "bybit")!.connections(for: FeedConfiguration(symbols: symbols))[0].venue
      instruments = list ?? Self.bybitList(pairs, isSpot: isSpot)
    case ("gemini", "spot") where !isArchived, ("gemini", "mixed") where !isArchived:
      venue = VenueRegistry.venue(named: "gemini")!
      let pairs = try Self.geminiSymbols(names, details: details, path: path)
      symbols = pairs.map(\.text) + selections
      instruments = list ?? Self.geminiList(pairs)
    case ("deribit", _):
      venue = VenueRegistry.venue(named: "deribit")!
      let markets = try Self.deribitMarkets(names, path: path)
      symbols = markets.map(\.symbol.text) + selections
      if let list { instruments = list } else { instruments = try Self.deribitList(markets, path: path) }
    case ("hyperliquid", _):
      venue = VenueRegistry.venue(named: "hyperliquid")!
      let markets = Self.hyperliquidMarkets(names)
      symbols = markets.map(\.symbol.text) + selections
      instruments = []
      if !hasPosts { preamble = try Self.hyperliquidList(markets, path: path) }
    case ("gate", "spot"):
      venue = VenueRegistry.venue(named: "gate")!
      symbols = names.map { $0.split(separator: "_").joined(separator: "-") } + selections
      instruments = list ?? Self.gateList(names)
    case ("kucoin", "spot"):
      venue = VenueRegistry.venue(named: "kucoin")!
      symbols = header.symbols
      instruments = list ?? Self.kucoinList(names)
    default:
      throw RecordingError(
        path: path, line: 1, field: "venue",
        "\(header.venue) \(header.market) cannot be replayed; Binance spot (binance, binanceus, binancetr) and USD-M, Bitfinex and Bitstamp "
          + "spot, Bybit v5 spot and linear, the Coinbase Exchange feed, Coinbase Advanced Trade, Deribit's linear contracts, Gate and "
          + "KuCoin spot, Gemini (but not its archived API), Hyperliquid and Kraken spot v2 can")
    }
  }

  /// Path and query of a URL.
  private static func path(of url: String) -> String {
    guard let host = url.firstRange(of: "://")?.upperBound, let start = url[host...].firstIndex(of: "/") else {
      return url
    }
    return String(url[start...])
  }

  private static let detailsPath = "/v1/symbols/details/"

  /// What a REST request for anything but an order book is answered with; nil if the recording has nothing.
  func answer(to path: String) -> [UInt8]? {
    if let known = answers[path] { return known }
    guard venue.name == "gemini", path != "/v1/symbols" else { return instruments }
    return path.firstRange(of: Self.detailsPath).flatMap { details[String(path[$0.upperBound...])] }
  }

  /// The symbol that a REST path or URL asks the order book of; nil if it asks for something else.
  static func depthSymbol(_ path: String) -> String? {
    // Bitstamp has it in the path.
    if let start = path.firstRange(of: "/order_book/")?.upperBound {
      return String(path[start...].prefix { $0 != "/" && $0 != "?" })
    }
    let names = ["/depth?": "symbol=", "/spot/order_book?": "currency_pair="]
    guard let name = names.first(where: { path.contains($0.key) })?.value, let query = path.split(separator: "?").last
    else { return nil }
    for part in query.split(separator: "&") where part.hasPrefix(name) { return String(part.dropFirst(name.count)) }
    return nil
  }

  private struct Pair {
    var name: String
    var base: String
    var quote: String
  }

  private static func binancePairs(_ names: [String], list: [UInt8]?, path: String) throws(RecordingError) -> [Pair] {
    let known = list.flatMap(pairs) ?? []
    var found: [Pair] = []
    for name in names {
      if let pair = known.first(where: { $0.name == name }) {
        found.append(pair)
      } else if let pair = name.split(separator: "_").first,
        let quote = quotes.filter({ pair.hasSuffix($0) && pair != $0 }).max(by: { $0.count < $1.count })
      {
        found.append(Pair(name: name, base: String(pair.dropLast(quote.count)), quote: quote))
      } else {
        throw RecordingError(
          path: path, line: 1, field: "symbols",
          "\(name) cannot be taken apart into base and quote, and the recording has no instrument list")
      }
    }
    return found
  }

  private static func pairs(_ list: [UInt8]) -> [Pair]? {
    var pairs: [Pair] = []
    var json = JSONScanner(list.span.bytes)
    do throws(JSONError) {
      try json.objectStart()
      while let key = try json.nextKey() {
        guard json.equals(key, "symbols") else {
          try json.skipValue()
          continue
        }
        try json.arrayStart()
        while try json.nextElement() {
          var pair = Pair(name: "", base: "", quote: "")
          try json.objectStart()
          while let name = try json.nextKey() {
            if json.equals(name, "symbol") {
              let slice = try json.string()
              pair.name = try json.decoded(slice)
            } else if json.equals(name, "baseAsset") {
              let slice = try json.string()
              pair.base = try json.decoded(slice)
            } else if json.equals(name, "quoteAsset") {
              let slice = try json.string()
              pair.quote = try json.decoded(slice)
            } else {
              try json.skipValue()
            }
          }
          pairs.append(pair)
        }
      }
    } catch {
      return nil
    }
    return pairs
  }

  /// A contract's symbol by its name: `BTCUSDT`, `BTCUSDT_261225`.
  private static func contract(_ pair: Pair) -> String {
    let parts = pair.name.split(separator: "_")
    let kind: Instrument.Kind = parts.count == 2 ? .future(expiry: "20" + parts[1]) : .perpetual
    return FeedSymbol(base: pair.base, quote: pair.quote, kind: kind).text
  }

  private static func binanceList(_ pairs: [Pair], isFutures: Bool = false) -> [UInt8] {
    var out = ByteBuffer()
    out.append("{\"symbols\":[")
    for (index, pair) in pairs.enumerated() {
      if index > 0 { out.append(",") }
      out.append(isFutures ? "{\"contractType\":\"PERPETUAL\",\"symbol\":" : "{\"symbol\":")
      out.append(json: pair.name)
      out.append(",\"baseAsset\":")
      out.append(json: pair.base)
      out.append(",\"quoteAsset\":")
      out.append(json: pair.quote)
      out.append("}")
    }
    out.append("]}")
    return [UInt8](out.unsafeBytes)
  }

  /// A name is one of the venue (`tBTCUST`), or a symbol as it was configured, with a colon (`BTC:USDT`).
  private static func bitfinexPairs(
    _ names: [String], list: [UInt8]?, path: String
  ) throws(RecordingError) -> [BitfinexPair] {
    let known = list.flatMap { try? BitfinexPair.list($0.span.bytes) } ?? []
    var found: [BitfinexPair] = []
    for name in names {
      let pair =
        known.first { $0.name == name || "\($0.symbol.base):\($0.symbol.quote)" == name }
        ?? BitfinexPair(pair: name.hasPrefix("t") ? String(name.dropFirst()) : name)
      guard let pair else {
        throw RecordingError(
          path: path, line: 1, field: "symbols", "\(name) cannot be taken apart into base and quote")
      }
      found.append(pair)
    }
    return found
  }

  private static func bitfinexList(_ pairs: [BitfinexPair]) -> [UInt8] {
    var out = ByteBuffer()
    out.append("[[")
    for (index, pair) in pairs.enumerated() {
      if index > 0 { out.append(",") }
      out.append(json: String(pair.name.dropFirst()))
    }
    out.append("]]")
    return [UInt8](out.unsafeBytes)
  }

  /// A name is one of the venue (`btcusd`), or a symbol as it was configured, with a slash (`BTC/USD`).
  private static func bitstampPairs(
    _ names: [String], list: [UInt8]?, path: String
  ) throws(RecordingError) -> [Pair] {
    let known = list.flatMap { try? BitstampMarket.list($0.span.bytes) } ?? []
    var found: [Pair] = []
    for name in names {
      let parts = name.split(separator: "/")
      if let market = known.first(where: { $0.name == name || "\($0.symbol.base)/\($0.symbol.quote)" == name }) {
        found.append(Pair(name: market.name, base: market.symbol.base, quote: market.symbol.quote))
      } else if parts.count == 2 {
        found.append(
          Pair(name: parts.joined().lowercased(), base: String(parts[0]), quote: String(parts[1])))
      } else {
        found += try binancePairs([name.uppercased()], list: nil, path: path).map {
          Pair(name: name, base: $0.base, quote: $0.quote)
        }
      }
    }
    return found
  }

  /// Without decimals: the values of the recording widen the scales.
  private static func bitstampList(_ pairs: [Pair]) -> [UInt8] {
    var out = ByteBuffer()
    out.append("[")
    for (index, pair) in pairs.enumerated() {
      if index > 0 { out.append(",") }
      out.append("{\"market_symbol\":")
      out.append(json: pair.name)
      out.append(",\"base_currency\":")
      out.append(json: pair.base)
      out.append(",\"counter_currency\":")
      out.append(json: pair.quote)
      out.append("}")
    }
    out.append("]")
    return [UInt8](out.unsafeBytes)
  }

  /// Spot markets and perpetuals; a name is one of the venue, or a symbol as it was configured.
  private static func bybitPairs(_ names: [String], isSpot: Bool, path: String) throws(RecordingError) -> [Pair] {
    var pairs: [Pair] = []
    for name in names {
      if let symbol = FeedSymbol(name), symbol.kind == .perpetual {
        pairs.append(
          Pair(
            name: symbol.base + (symbol.quote == "USDC" ? "PERP" : symbol.quote), base: symbol.base, quote: symbol.quote
          ))
      } else if !isSpot, name.hasSuffix("PERP"), name != "PERP" {
        pairs.append(Pair(name: name, base: String(name.dropLast(4)), quote: "USDC"))
      } else {
        pairs += try binancePairs([name], list: nil, path: path)
      }
    }
    return pairs
  }

  private static func bybitList(_ pairs: [Pair], isSpot: Bool) -> [UInt8] {
    var out = ByteBuffer()
    out.append("{\"retCode\":0,\"result\":{\"list\":[")
    for (index, pair) in pairs.enumerated() {
      if index > 0 { out.append(",") }
      out.append("{\"symbol\":")
      out.append(json: pair.name)
      out.append(isSpot ? ",\"baseCoin\":" : ",\"contractType\":\"LinearPerpetual\",\"baseCoin\":")
      out.append(json: pair.base)
      out.append(",\"quoteCoin\":")
      out.append(json: pair.quote)
      out.append("}")
    }
    out.append("]}}")
    return [UInt8](out.unsafeBytes)
  }

  private static func coinbaseAdvancedList(_ symbols: [String]) -> [UInt8] {
    var out = ByteBuffer()
    out.append("{\"products\":[")
    for (index, symbol) in symbols.enumerated() {
      out.append(index > 0 ? ",{\"product_id\":" : "{\"product_id\":")
      out.append(json: symbol)
      out.append(",\"product_type\":\"SPOT\"}")
    }
    out.append("]}")
    return [UInt8](out.unsafeBytes)
  }

  /// Names run base and quote together: recorded details take them apart, else the quote currencies that Gemini has.
  private static func geminiSymbols(
    _ names: [String], details: [String: [UInt8]], path: String
  ) throws(RecordingError) -> [FeedSymbol] {
    var found: [FeedSymbol] = []
    for name in names {
      if let symbol = FeedSymbol(name) {
        found.append(symbol)
        continue
      }
      guard let symbol = GeminiName.symbol(name, quote: details[name.lowercased()].flatMap(Self.quoteCurrency)) else {
        throw RecordingError(
          path: path, line: 1, field: "symbols",
          "\(name) cannot be taken apart into base and quote, and the recording has no details of it")
      }
      found.append(symbol)
    }
    return found
  }

  private static func quoteCurrency(_ details: [UInt8]) -> String? {
    var json = JSONScanner(details.span.bytes)
    do throws(JSONError) {
      try json.objectStart()
      while let key = try json.nextKey() {
        if json.equals(key, "quote_currency") {
          let slice = try json.string()
          return try json.decoded(slice)
        }
        try json.skipValue()
      }
    } catch {
      return nil
    }
    return nil
  }

  private static func geminiList(_ symbols: [FeedSymbol]) -> [UInt8] {
    var out = ByteBuffer()
    out.append("[")
    for (index, symbol) in symbols.enumerated() {
      if index > 0 { out.append(",") }
      out.append(json: GeminiName.text(of: symbol))
    }
    out.append("]")
    return [UInt8](out.unsafeBytes)
  }

  /// Without increments: the values of the recording widen the scales.
  private static func coinbaseList(_ symbols: [String]) -> [UInt8] {
    var out = ByteBuffer()
    out.append("[")
    for (index, symbol) in symbols.enumerated() {
      let parts = symbol.split(separator: "-", maxSplits: 1).map(String.init)
      if index > 0 { out.append(",") }
      out.append("{\"id\":")
      out.append(json: symbol)
      out.append(",\"base_currency\":")
      out.append(json: parts.first ?? symbol)
      out.append(",\"quote_currency\":")
      out.append(json: parts.last ?? symbol)
      out.append("}")
    }
    out.append("]")
    return [UInt8](out.unsafeBytes)
  }

  /// Without precisions: the values of the recording widen the scales.
  private static func gateList(_ symbols: [String]) -> [UInt8] {
    var out = ByteBuffer()
    out.append("[")
    for (index, symbol) in symbols.enumerated() {
      let parts = symbol.split(separator: "_", maxSplits: 1).map(String.init)
      if index > 0 { out.append(",") }
      out.append("{\"id\":")
      out.append(json: symbol)
      out.append(",\"base\":")
      out.append(json: parts.first ?? symbol)
      out.append(",\"quote\":")
      out.append(json: parts.last ?? symbol)
      out.append("}")
    }
    out.append("]")
    return [UInt8](out.unsafeBytes)
  }

  /// Without increments, as Gate's.
  private static func kucoinList(_ symbols: [String]) -> [UInt8] {
    var out = ByteBuffer()
    out.append("{\"code\":\"200000\",\"data\":[")
    for (index, symbol) in symbols.enumerated() {
      let parts = symbol.split(separator: "-", maxSplits: 1).map(String.init)
      if index > 0 { out.append(",") }
      out.append("{\"symbol\":")
      out.append(json: symbol)
      out.append(",\"baseCurrency\":")
      out.append(json: parts.first ?? symbol)
      out.append(",\"quoteCurrency\":")
      out.append(json: parts.last ?? symbol)
      out.append("}")
    }
    out.append("]}")
    return [UInt8](out.unsafeBytes)
  }

  private static func contains(_ bytes: UnsafeRawBufferPointer, _ text: String) -> Bool {
    String(decoding: bytes.prefix(200), as: UTF8.self).contains(text)
  }
}
