import Venues

extension Gate: ScriptedVenue {
  static let scripts = [
    "gate": VenueScript(
      symbols: ["BTC-USDT", "ETH-USDT"],
      prelude: [
        ##"#[{"id":"BTC_USDT","base":"BTC","quote":"USDT","amount_precision":6,"precision":1,"trade_status":"tradable"},{"id":"ETH_USDT","base":"ETH","quote":"USDT","amount_precision":4,"precision":2,"trade_status":"tradable"}]"##,
        #"{"time":1747054611,"id":2,"channel":"spot.obu","event":"subscribe","payload":["ob.BTC_USDT.400"],"result":{"status":"success"}}"#,
        #"{"channel":"spot.obu","result":{"t":1747054612673,"full":true,"s":"ob.BTC_USDT.400","u":100,"b":[["80688.1","0.591532"],["80688","2"]],"a":[["80691.5","0.2"]]},"time_ms":1747054612848,"event":"update"}"#,
      ])
  ]
}
