import Venues

extension Hyperliquid: ScriptedVenue {
  static let scripts = [
    "hyperliquid": VenueScript(
      symbols: ["BTC-USDC-PERP", "HYPE-USDC"],
      prelude: [
        #"{"channel":"post","data":{"id":1,"response":{"type":"info","payload":{"type":"meta","data":{"universe":[{"name":"BTC","szDecimals":5,"maxLeverage":40},{"name":"kPEPE","szDecimals":0}]}}}}}"#,
        #"{"channel":"post","data":{"id":2,"response":{"type":"info","payload":{"type":"spotMeta","data":{"universe":[{"tokens":[150,0],"name":"@107","index":107}],"tokens":[{"name":"USDC","szDecimals":8,"index":0},{"name":"HYPE","szDecimals":2,"index":150}]}}}}}"#,
        #"{"channel":"subscriptionResponse","data":{"method":"subscribe","subscription":{"type":"l2Book","coin":"BTC","fast":true}}}"#,
        #"{"channel":"l2Book","data":{"coin":"BTC","time":1790000000000,"levels":[[{"px":"84143.0","sz":"10.25923","n":36}],[{"px":"84144.0","sz":"50.66449","n":18}]],"fast":true}}"#,
      ])
  ]
}
