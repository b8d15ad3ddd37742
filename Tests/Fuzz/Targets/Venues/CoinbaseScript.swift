import Venues

extension Coinbase: ScriptedVenue {
  static let scripts = [
    "coinbase": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        ##"#[{"id":"BTC-USD","base_currency":"BTC","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001","status":"online","trading_disabled":false},{"id":"ETH-USD","base_currency":"ETH","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.001"}]"##,
        #"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.20084671"]],"bids":[["80688.08","0.59153273"]]}"#,
      ])
  ]
}
