import MarketData

extension OKX {
  /// A name is one of the venue (`BTC-USDT`, `BTC-USDT-SWAP`, `BTC-USDT-261225`), or a symbol as it was configured.
  /// There is a list for each kind of instrument, told apart by its query.
  static let replay = VenueReplay(
    title: "OKX v5 spot, swaps and futures", names: ["okx"], lists: ["/api/v5/public/instruments"],
    marketFields: [MarketField("instId")], isRead: { $0.url?.contains("/ws/v3") != true },
    made: MadeList(#"{"code":"0","data":["#, "instId", "baseCcy", "quoteCcy", tail: "]}") { _ in
      #""instType":"SPOT","#
    }
  ) { (name, start) throws(RecordedNameError) in
    guard let symbol = recordedSymbol(name) else {
      throw RecordedNameError("\(name) is no spot market, swap or future of OKX; options are not supported")
    }
    guard start.list != nil || symbol.kind == .spot else {
      throw RecordedNameError(
        "\(name) is a contract, and the recording has no instrument list that says what one is worth")
    }
    return NamedMarket(name: name, symbol: symbol)
  }

  private static func recordedSymbol(_ name: String) -> FeedSymbol? {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, parts[2] != "PERP", parts[2].utf8.count <= 6 else { return FeedSymbol(name) }
    if parts[2] == "SWAP" { return FeedSymbol(base: parts[0], quote: parts[1], kind: .perpetual) }
    guard parts[2].utf8.count == 6, parts[2].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return FeedSymbol(base: parts[0], quote: parts[1], kind: .future(expiry: "20" + parts[2]))
  }
}
