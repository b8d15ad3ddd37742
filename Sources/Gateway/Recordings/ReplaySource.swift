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

  package let venue: Venue
  /// `BTC-USDT`
  package let symbols: [String]
  /// The instrument list to answer with: the recorded one, or one made from the header.
  package let instruments: [UInt8]

  /// Looks through the beginning of the recording.
  /// - Throws: what is wrong with it, or that its venue is none of those that can be replayed.
  package init(path: String) throws(RecordingError) {
    let reader = try RecordingReader(path: path)
    let header = reader.header
    var list: [UInt8]?
    var url: String?
    var speaksV2 = false
    for _ in 0..<Self.searchLimit {
      guard let record = try reader.next() else { break }
      switch record.kind {
      case .open: url = url ?? record.url
      case .text:
        if !speaksV2 { speaksV2 = Self.contains(reader.payload.unsafeBytes, "\"channel\"") }
      case .http:
        if list == nil, let url = record.url,
          ["/exchangeInfo", "/products", "/instruments-info", "/currency_pairs", "/api/v2/symbols"].contains(where: {
            url.contains($0)
          }),
          record.status == 200
        {
          list = [UInt8](reader.payload.unsafeBytes)
        }
      case .binary, .sent, .close: break
      }
    }
    guard !header.symbols.isEmpty else {
      throw RecordingError(path: path, line: 1, field: "symbols", "is empty: there is no market to replay")
    }
    switch (header.venue, header.market) {
    case ("binance", "spot"), ("binanceus", "spot"), ("binancetr", "spot"):
      venue = VenueRegistry.venue(named: "binance")!
      let pairs = try Self.binancePairs(header.symbols, list: list, path: path)
      symbols = pairs.map { "\($0.base)-\($0.quote)" }
      instruments = list ?? Self.binanceList(pairs)
    case ("coinbase", "spot"):
      venue = VenueRegistry.venue(named: "coinbase")!
      symbols = header.symbols
      instruments = list ?? Self.coinbaseList(header.symbols)
    case ("kraken", "spot") where url?.hasSuffix("/v2") ?? speaksV2:
      venue = VenueRegistry.venue(named: "kraken")!
      symbols = header.symbols.map { $0.split(separator: "/").joined(separator: "-") }
      instruments = []
    case ("binance", "usdm"):
      let pairs = try Self.binancePairs(header.symbols, list: list, path: path)
      symbols = pairs.map(Self.contract)
      venue = VenueRegistry.venue(named: "binance")!.connections(for: FeedConfiguration(symbols: symbols))[0].venue
      instruments = list ?? Self.binanceList(pairs, isFutures: true)
    case ("bybit", "spot"), ("bybit", "linear"):
      let isSpot = header.market == "spot"
      let pairs = try Self.bybitPairs(header.symbols, isSpot: isSpot, path: path)
      symbols = pairs.map { FeedSymbol(base: $0.base, quote: $0.quote, kind: isSpot ? .spot : .perpetual).text }
      venue = VenueRegistry.venue(named: "bybit")!.connections(for: FeedConfiguration(symbols: symbols))[0].venue
      instruments = list ?? Self.bybitList(pairs, isSpot: isSpot)
    case ("gate", "spot"):
      venue = VenueRegistry.venue(named: "gate")!
      symbols = header.symbols.map { $0.split(separator: "_").joined(separator: "-") }
      instruments = list ?? Self.gateList(header.symbols)
    case ("kucoin", "spot"):
      venue = VenueRegistry.venue(named: "kucoin")!
      symbols = header.symbols
      instruments = list ?? Self.kucoinList(header.symbols)
    default:
      throw RecordingError(
        path: path, line: 1, field: "venue",
        "\(header.venue) \(header.market) cannot be replayed; Binance spot (binance, binanceus, binancetr) and USD-M, Bybit v5 spot and "
          + "linear, the Coinbase Exchange feed, Gate and KuCoin spot and Kraken spot v2 can")
    }
  }

  /// The symbol that a REST path or URL asks the order book of; nil if it asks for something else.
  static func depthSymbol(_ path: String) -> String? {
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
