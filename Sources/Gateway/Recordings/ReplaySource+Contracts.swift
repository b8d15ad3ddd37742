import Bytes
import MarketData
import Venues

/// Recordings of Deribit and Hyperliquid: how their names are taken apart, and lists for recordings that have none.
extension ReplaySource {
  /// A market by the venue's name and the gateway's.
  struct NamedMarket {
    var name: String
    var symbol: FeedSymbol
  }

  /// `BTC_USDC-PERPETUAL`, `BTC_USDC-25DEC26`, or a symbol as it was configured.
  static func deribitMarkets(_ names: [String], path: String) throws(RecordingError) -> [NamedMarket] {
    var markets: [NamedMarket] = []
    for name in names {
      if let symbol = FeedSymbol(name), symbol.kind != .spot {
        markets.append(NamedMarket(name: deribitName(symbol), symbol: symbol))
        continue
      }
      let parts = name.split(separator: "-", omittingEmptySubsequences: false)
      let pair = parts[0].split(separator: "_").map(String.init)
      let kind = parts.count == 2 ? deribitKind(parts[1]) : nil
      guard pair.count == 2, let kind else {
        throw RecordingError(
          path: path, line: 1, field: "symbols",
          "\(name) is no linear perpetual or future of Deribit; options and inverse contracts are not carried")
      }
      markets.append(NamedMarket(name: name, symbol: FeedSymbol(base: pair[0], quote: pair[1], kind: kind)))
    }
    return markets
  }

  private static let months = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
  ]

  /// `PERPETUAL`, `25DEC26`, `3JUN22`
  private static func deribitKind(_ text: Substring) -> Instrument.Kind? {
    if text == "PERPETUAL" { return .perpetual }
    guard (6...7).contains(text.utf8.count), let day = Int(text.dropLast(5)), let year = Int(text.suffix(2)),
      let month = months.firstIndex(of: String(text.suffix(5).prefix(3)))
    else { return nil }
    return .future(expiry: String((2000 + year) * 10_000 + (month + 1) * 100 + day))
  }

  private static func deribitName(_ symbol: FeedSymbol) -> String {
    var suffix = "PERPETUAL"
    if case .future(let expiry) = symbol.kind, let number = Int(expiry), (1...12).contains(number / 100 % 100) {
      suffix = "\(number % 100)\(months[number / 100 % 100 - 1])\(expiry.dropFirst(2).prefix(2))"
    }
    return "\(symbol.base)_\(symbol.quote)-\(suffix)"
  }

  /// Without increments: the values of the recording widen the scales.
  static func deribitList(_ markets: [NamedMarket], path: String) throws(RecordingError) -> [UInt8] {
    var out = ByteBuffer()
    out.append("{\"result\":[")
    for (index, market) in markets.enumerated() {
      guard market.symbol.kind == .perpetual else {
        throw RecordingError(
          path: path, line: 1, field: "symbols",
          "\(market.name) is a dated future, and the recording has no instrument list that says when it expires")
      }
      if index > 0 { out.append(",") }
      out.append(
        "{\"kind\":\"future\",\"instrument_type\":\"linear\",\"settlement_period\":\"perpetual\",\"instrument_name\":")
      out.append(json: market.name)
      out.append(",\"base_currency\":")
      out.append(json: market.symbol.base)
      out.append(",\"quote_currency\":")
      out.append(json: market.symbol.quote)
      out.append("}")
    }
    out.append("]}")
    return [UInt8](out.unsafeBytes)
  }

  /// `BTC` is a perpetual, `PURR/USDC` a spot market; or a symbol as it was configured.
  static func hyperliquidMarkets(_ names: [String]) -> [NamedMarket] {
    names.map { name in
      if let symbol = FeedSymbol(name) { return NamedMarket(name: symbol.base, symbol: symbol) }
      let pair = name.split(separator: "/").map(String.init)
      let symbol =
        pair.count == 2
        ? FeedSymbol(base: pair[0].uppercased(), quote: pair[1].uppercased())
        : FeedSymbol(base: name.uppercased(), quote: "USDC", kind: .perpetual)
      return NamedMarket(name: name, symbol: symbol)
    }
  }

  /// The list of perpetuals as it comes in the stream; their values widen the scales of sizes.
  static func hyperliquidList(_ markets: [NamedMarket], path: String) throws(RecordingError) -> [UInt8] {
    var out = ByteBuffer()
    out.append(
      "{\"channel\":\"post\",\"data\":{\"response\":{\"type\":\"info\",\"payload\":{\"type\":\"meta\",\"data\":{\"universe\":["
    )
    for (index, market) in markets.enumerated() {
      guard market.symbol.kind == .perpetual else {
        throw RecordingError(
          path: path, line: 1, field: "symbols",
          "\(market.name) is a spot market, and the recording has no list that says what the venue calls it")
      }
      if index > 0 { out.append(",") }
      out.append("{\"szDecimals\":0,\"name\":")
      out.append(json: market.name)
      out.append("}")
    }
    out.append("]}}}}}")
    return [UInt8](out.unsafeBytes)
  }
}
