import Venues

extension KrakenFutures: ScriptedVenue {
  static let scripts = [
    "kraken-futures": VenueScript(
      symbols: ["BTC-USD-PERP", "ETH-USD-PERP"],
      prelude: [
        ##"#{"result":"success","instruments":[{"symbol":"PF_XBTUSD","type":"flexible_futures","tickSize":0.5,"contractSize":1,"contractValueTradePrecision":4,"tradeable":true,"base":"BTC","quote":"USD"},{"symbol":"PF_ETHUSD","type":"flexible_futures","tickSize":0.1,"contractSize":1,"contractValueTradePrecision":3,"tradeable":true}]}"##,
        #"{"event":"info","version":1}"#,
        "!",
        #"{"event":"subscribed","feed":"book","product_ids":["PF_XBTUSD"]}"#,
        #"{"feed":"book_snapshot","product_id":"PF_XBTUSD","timestamp":1783587648112,"seq":100,"tickSize":null,"bids":[{"price":80688.0,"qty":0.5915}],"asks":[{"price":80691.5,"qty":0.2}]}"#,
      ])
  ]
}
