extension Gate {
  static let replay = VenueReplay(
    title: "Gate spot", names: ["gate"], markets: ["spot", "mixed"], lists: ["/api/v4/spot/currency_pairs"],
    marketFields: [MarketField("s"), MarketField("currency_pair")],
    books: [BookRequest("/spot/order_book?", parameter: "currency_pair")],
    made: MadeList("[", "id", "base", "quote", tail: "]")
  ) { (name, _) throws(RecordedNameError) in
    // `ob.BTC_USDT.50` names the market's book.
    let parts = name.split(separator: ".")
    return try .separated(parts.count == 3 && parts[0] == "ob" ? String(parts[1]) : name, by: "_")
  }
}
