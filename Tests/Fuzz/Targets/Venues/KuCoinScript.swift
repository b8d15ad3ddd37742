import Venues

extension KuCoin: ScriptedVenue {
  static let scripts = [
    "kucoin": VenueScript(
      symbols: ["BTC-USDT", "ETH-USDT"],
      prelude: [
        ##"#{"code":"200000","data":[{"symbol":"BTC-USDT","baseCurrency":"BTC","quoteCurrency":"USDT","baseIncrement":"0.00000001","priceIncrement":"0.1","enableTrading":true},{"symbol":"ETH-USDT","baseCurrency":"ETH","quoteCurrency":"USDT","baseIncrement":"0.0000001","priceIncrement":"0.01","enableTrading":true}]}"##,
        #"{"sessionId":"e8e4","message":"welcome","pingInterval":18000}"#,
        "!",
        #"{"T":"obu.SPOT","dp":"increment@10ms","t":"snapshot","P":1768217874990007701,"d":{"a":[["80691.5","0.2"]],"b":[["80688.1","0.591532"]],"C":100,"s":"BTC-USDT","M":1768217874986000000,"O":100}}"#,
      ]),
    "kucoin-futures": VenueScript(
      symbols: ["BTC-USDT-PERP", "ETH-USDT-PERP"],
      prelude: [
        ##"#{"code":"200000","data":[{"symbol":"XBTUSDTM","type":"FFWCSX","baseCurrency":"XBT","quoteCurrency":"USDT","lotSize":1,"tickSize":0.1,"multiplier":0.001,"isInverse":false,"status":"Open"},{"symbol":"ETHUSDTM","type":"FFWCSX","baseCurrency":"ETH","quoteCurrency":"USDT","lotSize":1,"tickSize":0.01,"multiplier":0.01,"isInverse":false,"status":"Open"}]}"##,
        #"{"sessionId":"e8e4","message":"welcome","pingInterval":18000}"#,
        "!",
        #"{"T":"obu.FUTURES","dp":"increment@10ms","t":"snapshot","P":1790114459840641662,"d":{"a":[["80691.5","20"]],"b":[["80688.1","59"]],"C":100,"s":"XBTUSDTM","M":1790114459839000000,"O":100}}"#,
      ]),
  ]
}
