extension Coinbase {
  /// Names are the gateway's own. Frames of Advanced Trade, which others record under the same name, have `channel`
  /// where these have `type`.
  static let replay = VenueReplay(
    title: "the Coinbase Exchange feed", names: ["coinbase"], markets: ["spot", "mixed"], lists: ["/products"],
    marks: [CoinbaseAdvanced.sequenceMark], marketFields: [MarketField("product_id")],
    isRead: { !$0.marks.contains(CoinbaseAdvanced.sequenceMark) },
    made: MadeList("[", "id", "base_currency", "quote_currency", tail: "]")
  ) { (name, _) throws(RecordedNameError) in try .separated(name, by: "-") }
}
