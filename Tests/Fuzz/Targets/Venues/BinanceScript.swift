import Venues

extension Binance: ScriptedVenue {
  static let scripts = [
    "binance": VenueScript(
      symbols: ["BNB-BTC", "ETH-BTC"],
      prelude: [
        ##"#{"symbols":[{"symbol":"BNBBTC","status":"TRADING","baseAsset":"BNB","quoteAsset":"BTC","filters":[{"filterType":"PRICE_FILTER","tickSize":"0.00000100"},{"filterType":"LOT_SIZE","stepSize":"0.00100000"}]},{"symbol":"ETHBTC","status":"TRADING","baseAsset":"ETH","quoteAsset":"BTC","filters":[]}]}"##,
        #"{"e":"depthUpdate","E":1672515782136,"s":"BNBBTC","U":151,"u":160,"b":[["0.00240000","10.00000000"]],"a":[["0.00260000","100.00000000"]]}"#,
        ##"#{"lastUpdateId":155,"bids":[["0.00230000","431.00000000"]],"asks":[["0.00270000","12.00000000"]]}"##,
      ]),
    "binance-usdm": VenueScript(
      symbols: ["BTC-USDT-PERP", "BTC-USDT-20261225"],
      prelude: [
        ##"#{"symbols":[{"symbol":"BTCUSDT","contractType":"PERPETUAL","status":"TRADING","baseAsset":"BTC","quoteAsset":"USDT","pricePrecision":2,"quantityPrecision":3,"filters":[{"filterType":"PRICE_FILTER","tickSize":"0.10"},{"filterType":"LOT_SIZE","stepSize":"0.001"}]},{"symbol":"BTCUSDT_261225","contractType":"CURRENT_QUARTER","baseAsset":"BTC","quoteAsset":"USDT","pricePrecision":1,"quantityPrecision":3,"filters":[]}]}"##,
        #"{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1791382994616,"T":1791382994613,"s":"BTCUSDT","U":1000,"u":1200,"pu":900,"b":[["83091.60","4.215"]],"a":[["83091.70","3.768"]]}}"#,
        ##"#{"lastUpdateId":1100,"E":1618677448324,"T":1618677448305,"bids":[["83091.50","1.000"]],"asks":[["83091.80","2.500"]]}"##,
      ]),
  ]
}
