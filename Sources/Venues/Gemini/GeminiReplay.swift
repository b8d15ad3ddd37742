import Bytes
import MarketData

extension Gemini {
  private static let archived = #""type":"l2_updates""#

  /// Names run base and quote together: recorded details take them apart, else the quote currencies that Gemini has.
  static let replay = VenueReplay(
    title: "Gemini (but not its archived API)", names: ["gemini"], markets: ["spot", "mixed"], lists: ["/v1/symbols"],
    details: "/v1/symbols/details/", marks: [archived], marketFields: [MarketField("s")]
  ) { start in
    guard !start.marks.contains(archived) else { return nil }
    let markets = start.markets { (name) throws(RecordedNameError) in
      if let symbol = FeedSymbol(name) { return NamedMarket(name: name, symbol: symbol) }
      let quote = start.details[name.lowercased()].flatMap { quoteCurrency($0) }
      guard let symbol = GeminiName.symbol(name, quote: quote) else {
        throw RecordedNameError(
          "\(name) cannot be taken apart into base and quote, and the recording has no details of it")
      }
      return NamedMarket(name: name, symbol: symbol)
    }
    var list = ByteBuffer()
    list.append("[")
    for (index, market) in markets.found.enumerated() {
      if index > 0 { list.append(",") }
      list.append(json: GeminiName.text(of: market.symbol))
    }
    list.append("]")
    return ReplayStart(markets, instruments: start.list ?? [UInt8](list.unsafeBytes))
  }

  private static func quoteCurrency(_ details: [UInt8]) -> String? {
    var reader = FieldReader(details.span.bytes)
    return (try? FieldObject(&reader, "symbol details"))?.text("quote_currency")
  }
}
