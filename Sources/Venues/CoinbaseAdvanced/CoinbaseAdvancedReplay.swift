extension CoinbaseAdvanced {
  /// What every frame of Advanced Trade has, and none of the Exchange feed.
  static let sequenceMark = #""sequence_num""#

  /// Names are the gateway's own.
  static let replay = VenueReplay(
    title: "Coinbase Advanced Trade", names: ["coinbase-advanced", "coinbase"], markets: ["spot", "mixed"],
    lists: ["/api/v3/brokerage/market/products"], marks: [sequenceMark], marketFields: [MarketField("product_id")],
    made: MadeList(#"{"products":["#, "product_id", "base_currency_id", "quote_currency_id", tail: "]}") { _ in
      #""product_type":"SPOT","#
    }
  ) { (name, _) throws(RecordedNameError) in try .separated(name, by: "-") }
}
