import Venues

extension Bitfinex: ScriptedVenue {
  static let scripts = [
    "bitfinex": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        ##"#[["BTCUSD","BTCUST","ETHUSD","AVAX:USD"],[["UST","USDt"]]]"##,
        #"{"event":"info","version":2,"serverId":"a","platform":{"status":1}}"#,
        #"{"event":"conf","status":"OK","flags":229376}"#,
        #"{"event":"subscribed","channel":"book","chanId":10,"symbol":"tBTCUSD","prec":"P0","freq":"F0","len":"100","pair":"BTCUSD"}"#,
        #"{"event":"subscribed","channel":"trades","chanId":11,"symbol":"tBTCUSD","pair":"BTCUSD"}"#,
        #"{"event":"subscribed","channel":"ticker","chanId":12,"symbol":"tBTCUSD","pair":"BTCUSD"}"#,
        #"{"event":"subscribed","channel":"book","chanId":20,"symbol":"tETHUSD","prec":"P0","freq":"F0","len":"100","pair":"ETHUSD"}"#,
        "[10,[[86704,1,0.03460649],[86701,2,0.07296393],[86719,1,-0.0348]],1,1775779200144]",
      ])
  ]
}
