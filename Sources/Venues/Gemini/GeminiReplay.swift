import Bytes

extension Gemini {
  private static let archived = #""type":"l2_updates""#

  /// Names run base and quote together: recorded details take them apart, else the quote currencies that Gemini has.
  static let replay = VenueReplay(
    title: "Gemini (but not its archived API)", names: ["gemini"], markets: ["spot", "mixed"], lists: ["/v1/symbols"],
    details: "/v1/symbols/details/", marks: [archived], marketFields: [MarketField("s")],
    isRead: { !$0.marks.contains(archived) }, made: MadeList("[", tail: "]")
  ) { (name, start) throws(RecordedNameError) in
    let quote = start.details[name.lowercased()].flatMap { details in
      (try? FieldObject(details.span.bytes, "symbol details"))?.text("quote_currency")
    }
    guard let symbol = FeedSymbol(name) ?? GeminiName.symbol(name, quote: quote) else {
      throw RecordedNameError(
        "\(name) does not show its base and quote, and the recording has no details of it")
    }
    return NamedMarket(name: GeminiName.text(of: symbol), symbol: symbol)
  }
}
