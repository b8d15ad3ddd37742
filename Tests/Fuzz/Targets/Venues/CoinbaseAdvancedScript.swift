import Venues

extension CoinbaseAdvanced: ScriptedVenue {
  static let scripts = [
    "coinbase-advanced": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        ##"#{"products":[{"product_id":"BTC-USD","base_increment":"0.00000001","quote_increment":"0.01","status":"online","product_type":"SPOT","quote_currency_id":"USD","base_currency_id":"BTC","alias":"","alias_to":["BTC-USDC"],"price_increment":"0.01"},{"product_id":"ETH-USD","base_increment":"0.001","quote_increment":"0.01","product_type":"SPOT","quote_currency_id":"USD","base_currency_id":"ETH","alias":"","price_increment":"0.05"}],"num_products":2}"##,
        #"{"channel":"subscriptions","timestamp":"2026-04-07T14:30:00.000000Z","sequence_num":0,"events":[{"subscriptions":{"heartbeats":["heartbeats"]}}]}"#,
        "!",
        #"{"channel":"subscriptions","timestamp":"2026-04-07T14:30:01.000000Z","sequence_num":1,"events":[{"subscriptions":{"market_trades":["BTC-USD"]}}]}"#,
        "!",
        #"{"channel":"l2_data","timestamp":"2026-04-07T14:30:01.456789123Z","sequence_num":2,"events":[{"type":"snapshot","product_id":"BTC-USD","updates":[{"side":"bid","event_time":"1970-01-01T00:00:00Z","price_level":"68900.00","new_quantity":"1.5"},{"side":"offer","event_time":"1970-01-01T00:00:00Z","price_level":"68901.00","new_quantity":"0.5"}]}]}"#,
      ])
  ]
}
