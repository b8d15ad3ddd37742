import Venues

extension Bitstamp: ScriptedVenue {
  static let scripts = [
    "bitstamp": VenueScript(
      symbols: ["BTC-USD", "USDT-EUR"],
      prelude: [
        ##"#[{"name":"BTC/USD","market_symbol":"btcusd","base_currency":"BTC","base_decimals":8,"counter_currency":"USD","counter_decimals":2,"trading":"Enabled","market_type":"SPOT"},{"name":"USDT/EUR","market_symbol":"usdteur","base_currency":"USDT","base_decimals":5,"counter_currency":"EUR","counter_decimals":5,"market_type":"SPOT"}]"##,
        #"{"event":"bts:subscription_succeeded","channel":"diff_order_book_btcusd","data":{}}"#,
        #"{"data":{"timestamp":"1790000001","microtimestamp":"1790000001000000","bids":[["59990.00","3.00000000"]],"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
        "!", "!", "!",
        ##"#{"timestamp":"1790000002","microtimestamp":"1790000002000000","bids":[["60000.00","1.00000000"]],"asks":[["60010.00","2.0"]]}"##,
      ])
  ]
}
