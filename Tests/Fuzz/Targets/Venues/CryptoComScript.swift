import Venues

extension CryptoCom: ScriptedVenue {
  static let scripts = [
    "crypto-com": VenueScript(
      symbols: ["BTC-USD-PERP", "ETH-BTC"],
      prelude: [
        ##"#{"id":1,"method":"public/get-instruments","code":0,"result":{"data":[{"symbol":"BTCUSD-PERP","inst_type":"PERPETUAL_SWAP","base_ccy":"BTC","quote_ccy":"USD","price_tick_size":"0.5","qty_tick_size":"0.0001","tradable":true,"contract_size":"1"},{"symbol":"ETH_BTC","inst_type":"CCY_PAIR","base_ccy":"ETH","quote_ccy":"BTC","price_tick_size":"0.00001","qty_tick_size":"0.0010","tradable":true}]}}"##,
        "!", "!",
        #"{"id":2,"method":"subscribe","code":0,"channel":"book.BTCUSD-PERP.50"}"#,
        #"{"id":-1,"method":"subscribe","code":0,"result":{"instrument_name":"BTCUSD-PERP","subscription":"book.BTCUSD-PERP.50","channel":"book","depth":50,"data":[{"asks":[["86236.0","0.2008","2"]],"bids":[["86235.5","0.0301","2"]],"t":1790114273395,"tt":1790114273346,"u":100,"cs":-1183713967}]}}"#,
      ])
  ]
}
