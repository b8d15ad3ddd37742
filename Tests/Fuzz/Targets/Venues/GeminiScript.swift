import Venues

extension Gemini: ScriptedVenue {
  static let scripts = [
    "gemini": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        ##"#["btcusd","ethusd","btcgusdperp"]"##,
        ##"#{"symbol":"BTCUSD","base_currency":"BTC","quote_currency":"USD","tick_size":1E-8,"quote_increment":0.01,"min_order_size":"0.00001","status":"open","contract_type":"vanilla"}"##,
        ##"#{"symbol":"ETHUSD","base_currency":"ETH","quote_currency":"USD","tick_size":1E-6,"quote_increment":0.01,"status":"open","contract_type":"vanilla"}"##,
        #"{"id":1,"status":200}"#,
        #"{"e":"depthUpdate","E":1789456740173524809,"s":"btcusd","U":100,"u":100,"b":[["80688.10","0.59100000"],["80688.00","1.5"]],"a":[["80691.50","0.20000000"]]}"#,
      ])
  ]
}
