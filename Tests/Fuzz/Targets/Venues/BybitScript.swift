import Venues

extension Bybit: ScriptedVenue {
  static let scripts = [
    "bybit": VenueScript(
      symbols: ["BTC-USDT", "ETH-USDT"],
      prelude: [
        ##"#{"retCode":0,"retMsg":"OK","result":{"category":"spot","list":[{"symbol":"BTCUSDT","baseCoin":"BTC","quoteCoin":"USDT","status":"Trading","lotSizeFilter":{"basePrecision":"0.000001"},"priceFilter":{"tickSize":"0.1"}},{"symbol":"ETHUSDT","baseCoin":"ETH","quoteCoin":"USDT","lotSizeFilter":{"basePrecision":"0.00001"},"priceFilter":{"tickSize":"0.01"}}]}}"##,
        #"{"topic":"orderbook.200.BTCUSDT","ts":1790134712130,"type":"snapshot","data":{"s":"BTCUSDT","b":[["80688.1","0.591532"],["80688.0","2"]],"a":[["80691.5","0.2"]],"u":100,"seq":8},"cts":1790134712126}"#,
      ]),
    "bybit-linear": VenueScript(
      symbols: ["BTC-USDT-PERP", "BTC-USDT-20261225"],
      prelude: [
        ##"#{"retCode":0,"retMsg":"OK","result":{"category":"linear","nextPageCursor":"first%3D1","list":[{"symbol":"BTCUSDT","contractType":"LinearPerpetual","status":"Trading","baseCoin":"BTC","quoteCoin":"USDT","deliveryTime":"0","priceFilter":{"tickSize":"0.10"},"lotSizeFilter":{"qtyStep":"0.001"}}]}}"##,
        ##"#{"retCode":0,"retMsg":"OK","result":{"category":"linear","nextPageCursor":"","list":[{"symbol":"BTCUSDT-25DEC26","contractType":"LinearFutures","baseCoin":"BTC","quoteCoin":"USDT","deliveryTime":"1798185600000","priceFilter":{"tickSize":"0.50"},"lotSizeFilter":{"qtyStep":"0.001"}}]}}"##,
        #"{"topic":"orderbook.200.BTCUSDT","ts":1790134712130,"type":"snapshot","data":{"s":"BTCUSDT","b":[["80688.10","0.591"]],"a":[["80691.50","0.200"]],"u":100,"seq":8},"cts":1790134712126}"#,
      ]),
  ]
}
