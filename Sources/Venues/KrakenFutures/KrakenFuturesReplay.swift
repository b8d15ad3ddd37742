import MarketData

extension KrakenFutures {
  /// A name is one of the venue (`PF_XBTUSD`), or a symbol as it was configured.
  static let replay = VenueReplay(
    title: "Kraken's linear futures", names: ["kraken-futures"], lists: ["/derivatives/api/v3/instruments"],
    marketFields: [MarketField("product_id")],
    made: MadeList(#"{"result":"success","instruments":["#, "symbol", "base", "quote", tail: "]}") { _ in
      #""type":"flexible_futures","#
    }
  ) { (name, _) throws(RecordedNameError) in
    if let symbol = FeedSymbol(name), symbol.kind != .spot {
      return NamedMarket(name: recordedName(symbol), symbol: symbol)
    }
    guard let symbol = symbol(name) else {
      throw RecordedNameError("\(name) is no linear contract of Kraken; inverse contracts are not supported")
    }
    return NamedMarket(name: name, symbol: symbol)
  }

  private static func recordedName(_ symbol: FeedSymbol) -> String {
    let pair = (symbol.base == "BTC" ? "XBT" : symbol.base) + symbol.quote
    if case .future(let expiry) = symbol.kind { return "FF_\(pair)_\(expiry.dropFirst(2))" }
    return "PF_\(pair)"
  }
}
