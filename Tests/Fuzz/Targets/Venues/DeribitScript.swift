import Venues

extension Deribit: ScriptedVenue {
  static let scripts = [
    "deribit": VenueScript(
      symbols: ["BTC-USDC-PERP", "DOGE-USDC-PERP"],
      prelude: [
        ##"#{"jsonrpc":"2.0","result":[{"instrument_name":"BTC_USDC-PERPETUAL","kind":"future","instrument_type":"linear","tick_size":0.1,"contract_size":1.0e-4,"base_currency":"BTC","quote_currency":"USDC","settlement_period":"perpetual"},{"instrument_name":"DOGE_USDC-PERPETUAL","kind":"future","instrument_type":"linear","tick_size":1e-05,"contract_size":100,"base_currency":"DOGE","quote_currency":"USDC","settlement_period":"perpetual"}]}"##,
        #"{"jsonrpc":"2.0","id":2,"result":"ok"}"#,
        #"{"jsonrpc":"2.0","id":3,"result":["book.BTC_USDC-PERPETUAL.100ms","quote.BTC_USDC-PERPETUAL","trades.BTC_USDC-PERPETUAL.100ms","book.DOGE_USDC-PERPETUAL.100ms","platform_state"]}"#,
        #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"timestamp":1790133840448,"type":"snapshot","change_id":100,"instrument_name":"BTC_USDC-PERPETUAL","bids":[["new",86775.8,0.216]],"asks":[["new",86776.0,9.0e-4]]}}}"#,
      ])
  ]
}
