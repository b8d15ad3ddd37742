extension KuCoin {
  /// Names are the gateway's own.
  static let replay = VenueReplay(
    title: "KuCoin spot", names: ["kucoin"], markets: ["spot", "mixed"], lists: ["/api/v2/symbols"],
    marketFields: [MarketField("s")],
    made: MadeList(#"{"code":"200000","data":["#, "symbol", "baseCurrency", "quoteCurrency", tail: "]}")
  ) { (name, _) throws(RecordedNameError) in try .separated(name, by: "-") }
}
