import MarketData

extension Deribit {
  /// A name is one of the venue (`BTC_USDC-PERPETUAL`, `BTC_USDC-25DEC26`), or a symbol as it was configured.
  static let replay = VenueReplay(
    title: "Deribit's linear contracts", names: ["deribit"], lists: ["/api/v2/public/get_instruments"],
    marketFields: [MarketField("instrument_name")],
    made: MadeList(#"{"result":["#, "instrument_name", "base_currency", "quote_currency", tail: "]}") { _ in
      #""kind":"future","instrument_type":"linear","settlement_period":"perpetual","#
    }
  ) { (name, start) throws(RecordedNameError) in
    let market = try recordedMarket(name)
    guard start.list != nil || market.symbol.kind == .perpetual else {
      throw RecordedNameError(
        "\(name) is a dated future, and the recording has no instrument list that says when it expires")
    }
    return market
  }

  private static func recordedMarket(_ name: String) throws(RecordedNameError) -> NamedMarket {
    if let symbol = FeedSymbol(name), symbol.kind != .spot {
      return NamedMarket(name: recordedName(symbol), symbol: symbol)
    }
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    let pair = parts[0].split(separator: "_").map(String.init)
    guard pair.count == 2, parts.count == 2, let kind = recordedKind(parts[1]) else {
      throw RecordedNameError(
        "\(name) is no linear perpetual or future of Deribit; options and inverse contracts are not supported")
    }
    return NamedMarket(name: name, symbol: FeedSymbol(base: pair[0], quote: pair[1], kind: kind))
  }

  private static let months = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
  ]

  /// `PERPETUAL`, `25DEC26`, `3JUN22`
  private static func recordedKind(_ text: Substring) -> Instrument.Kind? {
    if text == "PERPETUAL" { return .perpetual }
    guard (6...7).contains(text.utf8.count), let day = Int(text.dropLast(5)), let year = Int(text.suffix(2)),
      let month = months.firstIndex(of: String(text.suffix(5).prefix(3)))
    else { return nil }
    return .future(expiry: String((2000 + year) * 10_000 + (month + 1) * 100 + day))
  }

  private static func recordedName(_ symbol: FeedSymbol) -> String {
    var suffix = "PERPETUAL"
    if case .future(let expiry) = symbol.kind, let number = Int(expiry), (1...12).contains(number / 100 % 100) {
      suffix = "\(number % 100)\(months[number / 100 % 100 - 1])\(expiry.dropFirst(2).prefix(2))"
    }
    return "\(symbol.base)_\(symbol.quote)-\(suffix)"
  }
}
