import Venues

extension OKX: ScriptedVenue {
  static let scripts = [
    "okx": VenueScript(
      symbols: ["BTC-USDT", "BTC-USDT-PERP"],
      prelude: [
        ##"#{"code":"0","msg":"","data":[{"instType":"SPOT","instId":"BTC-USDT","baseCcy":"BTC","quoteCcy":"USDT","ctVal":"","tickSz":"0.1","lotSz":"0.00000001","state":"live"}]}"##,
        ##"#{"code":"0","msg":"","data":[{"instType":"SWAP","instId":"BTC-USDT-SWAP","settleCcy":"USDT","ctVal":"0.01","ctMult":"1","ctType":"linear","ctValCcy":"BTC","tickSz":"0.1","lotSz":"0.01","state":"live"},{"instType":"SWAP","instId":"BTC-USD-SWAP","ctVal":"100","ctMult":"1","ctType":"inverse","tickSz":"0.1","lotSz":"1"}]}"##,
        #"{"arg":{"channel":"books","instId":"BTC-USDT"},"action":"snapshot","data":[{"asks":[["80691.5","0.2","0","1"]],"bids":[["80688.1","0.5","0","1"]],"ts":"1790394877200","checksum":0,"seqId":100,"prevSeqId":-1}]}"#,
      ])
  ]
}
