import Venues

extension Bitget: ScriptedVenue {
  static let scripts = [
    "bitget": VenueScript(
      symbols: ["BTC-USDT", "ETH-USDT"],
      prelude: [
        ##"#{"code":"00000","msg":"success","data":[{"symbol":"BTCUSDT","baseCoin":"BTC","quoteCoin":"USDT","pricePrecision":"2","quantityPrecision":"6","status":"online"},{"symbol":"ETHUSDT","baseCoin":"ETH","quoteCoin":"USDT","pricePrecision":"2","quantityPrecision":"4","status":"online"}]}"##,
        "!",
        #"{"action":"snapshot","arg":{"instType":"SPOT","channel":"books","instId":"BTCUSDT"},"data":[{"asks":[["80691.5","0.2"]],"bids":[["80688.1","0.5"]],"ts":"1790358811400","seq":100,"pseq":0}],"ts":1790358811401}"#,
      ]),
    "bitget-usdt": VenueScript(
      symbols: ["BTC-USDT-PERP", "ETH-USDT-PERP"],
      prelude: [
        ##"#{"code":"00000","msg":"success","data":[{"symbol":"BTCUSDT","baseCoin":"BTC","quoteCoin":"USDT","priceEndStep":"1","volumePlace":"4","pricePlace":"1","sizeMultiplier":"0.0001","symbolType":"perpetual","symbolStatus":"normal"},{"symbol":"ETHUSDT","baseCoin":"ETH","quoteCoin":"USDT","priceEndStep":"5","volumePlace":"2","pricePlace":"2","sizeMultiplier":"0.01","symbolType":"perpetual","symbolStatus":"normal"}]}"##,
        "!",
        #"{"action":"snapshot","arg":{"instType":"USDT-FUTURES","channel":"books","instId":"BTCUSDT"},"data":[{"asks":[["80691.5","0.2"]],"bids":[["80688.1","0.5"]],"ts":"1790358811400","seq":100,"pseq":0}],"ts":1790358811401}"#,
      ]),
  ]
}
