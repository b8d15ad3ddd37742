import Bytes
import MarketData

extension GeminiHandler {
  private static let archived = #""type":"l2_updates""#

  /// Names run base and quote together: recorded details take them apart, else the quote currencies that Gemini has.
  static let replay = VenueReplay(
    title: "Gemini (but not its archived API)", names: ["gemini"], markets: ["spot", "mixed"], lists: ["/v1/symbols"],
    details: "/v1/symbols/details/", marks: [archived]
  ) { (start) throws(RecordedNameError) in
    guard !start.marks.contains(archived) else { return nil }
    var symbols: [FeedSymbol] = []
    for name in start.names {
      if let symbol = FeedSymbol(name) {
        symbols.append(symbol)
        continue
      }
      let quote = start.details[name.lowercased()].flatMap { quoteCurrency($0) }
      guard let symbol = GeminiName.symbol(name, quote: quote) else {
        throw RecordedNameError(
          "\(name) cannot be taken apart into base and quote, and the recording has no details of it")
      }
      symbols.append(symbol)
    }
    var list = ByteBuffer()
    list.append("[")
    for (index, symbol) in symbols.enumerated() {
      if index > 0 { list.append(",") }
      list.append(json: GeminiName.text(of: symbol))
    }
    list.append("]")
    return ReplayStart(symbols: symbols.map(\.text), instruments: start.list ?? [UInt8](list.unsafeBytes))
  }

  private static func quoteCurrency(_ details: [UInt8]) -> String? {
    let handler = GeminiHandler(configuration: FeedConfiguration(symbols: []))
    return (try? handler.readDetails(details.span.bytes))?.quote
  }
}
