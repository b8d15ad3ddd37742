import Bytes
import MarketData

/// A market by the venue's name and the gateway's.
struct NamedMarket {
  var name: String
  var symbol: FeedSymbol
}

extension NamedMarket {
  /// Quote currencies by which a name that runs base and quote together is taken apart where the recording has no
  /// list; the longest counts.
  private static let quotes = [
    "USDT", "USDC", "BUSD", "FDUSD", "TUSD", "USDP", "BTC", "ETH", "BNB", "TRY", "EUR", "BRL", "RUB", "GBP", "AUD",
    "JPY", "USD", "DAI", "XRP", "TRX", "DOGE", "PAX", "USDS", "UST", "BIDR", "IDRT", "BKRW", "UAH", "NGN", "ZAR", "ARS",
    "MXN", "PLN", "RON", "CZK", "COP", "VAI", "EURI", "AEUR", "USD1",
  ]

  /// Takes `BTCUSDT` apart, or `BTCUSDT_261225` as far as its underscore.
  static func joined(_ name: String, _ kind: Instrument.Kind = .spot) throws(RecordedNameError) -> NamedMarket {
    guard let pair = name.split(separator: "_").first,
      let quote = quotes.filter({ pair.hasSuffix($0) && pair != $0 }).max(by: { $0.count < $1.count }),
      pair.utf8.allSatisfy({ $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "/") })
    else {
      throw RecordedNameError(
        "\(name) does not show its base and quote, and the recording has no instrument list")
    }
    return NamedMarket(
      name: name, symbol: FeedSymbol(base: String(pair.dropLast(quote.count)), quote: quote, kind: kind))
  }

  /// Takes `BTC_USDT` apart at `separator`.
  static func separated(_ name: String, by separator: Character) throws(RecordedNameError) -> NamedMarket {
    let parts = name.split(separator: separator, maxSplits: 1).map(String.init)
    guard parts.count == 2 else { throw RecordedNameError("\(name) is no spot market: it has no \(separator)") }
    return NamedMarket(name: name, symbol: FeedSymbol(base: parts[0], quote: parts[1]))
  }
}

/// A list of markets as its venue would write it: one that was not recorded, with names only.
struct MadeList: Sendable {
  let head: StaticString
  let tail: StaticString
  /// The field names of a market's name, base and quote; empty where a market is only a name.
  let fields: [StaticString]
  /// What stands in front of them, by the market of the recording.
  var others: @Sendable (_ market: String) -> StaticString = { _ in "" }

  init(
    _ head: StaticString, _ fields: StaticString..., tail: StaticString,
    others: @escaping @Sendable (_ market: String) -> StaticString = { _ in "" }
  ) {
    self.head = head
    self.tail = tail
    self.fields = fields
    self.others = others
  }

  func text(_ markets: [NamedMarket], of market: String) -> [UInt8] {
    var out = ByteBuffer()
    out.append(head)
    for (index, listed) in markets.enumerated() {
      if index > 0 { out.append(",") }
      if fields.isEmpty { out.append(json: listed.name) } else { append(listed, of: market, to: &out) }
    }
    out.append(tail)
    return [UInt8](out.unsafeBytes)
  }

  private func append(_ listed: NamedMarket, of market: String, to out: inout ByteBuffer) {
    out.append("{")
    out.append(others(market))
    for (index, (field, value)) in zip(fields, [listed.name, listed.symbol.base, listed.symbol.quote]).enumerated() {
      out.append(index > 0 ? ",\"" : "\"")
      out.append(field)
      out.append("\":")
      out.append(json: value)
    }
    out.append("}")
  }
}
