extension Kraken {
  private static let mark = #""channel""#
  private static let listed = #""channel":"instrument","type":"snapshot""#

  /// Of v2, which the address says, or the first frames. The list of pairs comes in the stream; where it was not
  /// recorded, one is made that says nothing of digits, so that they are learned from the books.
  static let replay = VenueReplay(
    title: "Kraken spot v2", names: ["kraken"], markets: ["spot", "mixed"], marks: [mark, listed], listMark: listed,
    marketFields: [MarketField("symbol")], isRead: { $0.url?.hasSuffix("/v2") ?? !$0.marks.isEmpty },
    made: MadeList(#"{"channel":"instrument","type":"snapshot","data":{"pairs":["#, "symbol", tail: "]}}")
  ) { (name, _) throws(RecordedNameError) in
    if let symbol = FeedSymbol(name) { return NamedMarket(name: "\(symbol.base)/\(symbol.quote)", symbol: symbol) }
    return try .separated(name, by: "/")
  }
}
