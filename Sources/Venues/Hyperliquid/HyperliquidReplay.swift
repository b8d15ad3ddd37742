import MarketData

extension Hyperliquid {
  private static let listed = #""payload":{"type":""#

  /// `BTC` is a perpetual, `PURR/USDC` a spot market; or a symbol as it was configured. The list comes in the stream.
  static let replay = VenueReplay(
    title: "Hyperliquid", names: ["hyperliquid"], marks: [listed], listMark: listed,
    marketFields: [MarketField("coin")],
    made: MadeList(
      #"{"channel":"post","data":{"response":{"type":"info","payload":{"type":"meta","data":{"universe":["#, "name",
      tail: "]}}}}}"
    ) { _ in #""szDecimals":0,"# }
  ) { (name, start) throws(RecordedNameError) in
    if let symbol = FeedSymbol(name) { return NamedMarket(name: symbol.base, symbol: symbol) }
    let pair = name.split(separator: "/").map(String.init)
    guard start.marks.contains(listed) || pair.count == 1 && !name.hasPrefix("@") else {
      throw RecordedNameError(
        "\(name) is a spot market, and the recording has no list that says what the venue calls it")
    }
    let symbol =
      pair.count == 2
      ? FeedSymbol(base: pair[0].uppercased(), quote: pair[1].uppercased())
      : FeedSymbol(base: name.uppercased(), quote: "USDC", kind: .perpetual)
    return NamedMarket(name: name, symbol: symbol)
  }
}
