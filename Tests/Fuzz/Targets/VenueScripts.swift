/// What the target of a connection begins with; all else is the same for every venue.
struct VenueScript {
  let symbols: [String]
  /// Lines after which the first symbol's feed is in sync, as an input has them.
  let prelude: [String]

  /// By the label of the connection (`bybit`, `bybit-linear`).
  static let all: [String: VenueScript] = [
    "binance": VenueScript(
      symbols: ["BNB-BTC", "ETH-BTC"],
      prelude: [
        ##"#{"symbols":[{"symbol":"BNBBTC","status":"TRADING","baseAsset":"BNB","quoteAsset":"BTC","filters":[{"filterType":"PRICE_FILTER","tickSize":"0.00000100"},{"filterType":"LOT_SIZE","stepSize":"0.00100000"}]},{"symbol":"ETHBTC","status":"TRADING","baseAsset":"ETH","quoteAsset":"BTC","filters":[]}]}"##,
        #"{"e":"depthUpdate","E":1672515782136,"s":"BNBBTC","U":151,"u":160,"b":[["0.00240000","10.00000000"]],"a":[["0.00260000","100.00000000"]]}"#,
        ##"#{"lastUpdateId":155,"bids":[["0.00230000","431.00000000"]],"asks":[["0.00270000","12.00000000"]]}"##,
      ]),
    "binance-usdm": VenueScript(
      symbols: ["BTC-USDT-PERP", "BTC-USDT-20261225"],
      prelude: [
        ##"#{"symbols":[{"symbol":"BTCUSDT","contractType":"PERPETUAL","status":"TRADING","baseAsset":"BTC","quoteAsset":"USDT","pricePrecision":2,"quantityPrecision":3,"filters":[{"filterType":"PRICE_FILTER","tickSize":"0.10"},{"filterType":"LOT_SIZE","stepSize":"0.001"}]},{"symbol":"BTCUSDT_261225","contractType":"CURRENT_QUARTER","baseAsset":"BTC","quoteAsset":"USDT","pricePrecision":1,"quantityPrecision":3,"filters":[]}]}"##,
        #"{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1791382994616,"T":1791382994613,"s":"BTCUSDT","U":1000,"u":1200,"pu":900,"b":[["83091.60","4.215"]],"a":[["83091.70","3.768"]]}}"#,
        ##"#{"lastUpdateId":1100,"E":1618677448324,"T":1618677448305,"bids":[["83091.50","1.000"]],"asks":[["83091.80","2.500"]]}"##,
      ]),
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
      ]),
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
    "bitstamp": VenueScript(
      symbols: ["BTC-USD", "USDT-EUR"],
      prelude: [
        ##"#[{"name":"BTC/USD","market_symbol":"btcusd","base_currency":"BTC","base_decimals":8,"counter_currency":"USD","counter_decimals":2,"trading":"Enabled","market_type":"SPOT"},{"name":"USDT/EUR","market_symbol":"usdteur","base_currency":"USDT","base_decimals":5,"counter_currency":"EUR","counter_decimals":5,"market_type":"SPOT"}]"##,
        #"{"event":"bts:subscription_succeeded","channel":"diff_order_book_btcusd","data":{}}"#,
        #"{"data":{"timestamp":"1790000001","microtimestamp":"1790000001000000","bids":[["59990.00","3.00000000"]],"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
        "!", "!", "!",
        ##"#{"timestamp":"1790000002","microtimestamp":"1790000002000000","bids":[["60000.00","1.00000000"]],"asks":[["60010.00","2.0"]]}"##,
      ]),
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
    "coinbase": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        ##"#[{"id":"BTC-USD","base_currency":"BTC","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001","status":"online","trading_disabled":false},{"id":"ETH-USD","base_currency":"ETH","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.001"}]"##,
        #"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.20084671"]],"bids":[["80688.08","0.59153273"]]}"#,
      ]),
    "coinbase-advanced": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        ##"#{"products":[{"product_id":"BTC-USD","base_increment":"0.00000001","quote_increment":"0.01","status":"online","product_type":"SPOT","quote_currency_id":"USD","base_currency_id":"BTC","alias":"","alias_to":["BTC-USDC"],"price_increment":"0.01"},{"product_id":"ETH-USD","base_increment":"0.001","quote_increment":"0.01","product_type":"SPOT","quote_currency_id":"USD","base_currency_id":"ETH","alias":"","price_increment":"0.05"}],"num_products":2}"##,
        #"{"channel":"subscriptions","timestamp":"2026-04-07T14:30:00.000000Z","sequence_num":0,"events":[{"subscriptions":{"heartbeats":["heartbeats"]}}]}"#,
        "!",
        #"{"channel":"subscriptions","timestamp":"2026-04-07T14:30:01.000000Z","sequence_num":1,"events":[{"subscriptions":{"market_trades":["BTC-USD"]}}]}"#,
        "!",
        #"{"channel":"l2_data","timestamp":"2026-04-07T14:30:01.456789123Z","sequence_num":2,"events":[{"type":"snapshot","product_id":"BTC-USD","updates":[{"side":"bid","event_time":"1970-01-01T00:00:00Z","price_level":"68900.00","new_quantity":"1.5"},{"side":"offer","event_time":"1970-01-01T00:00:00Z","price_level":"68901.00","new_quantity":"0.5"}]}]}"#,
      ]),
    "deribit": VenueScript(
      symbols: ["BTC-USDC-PERP", "DOGE-USDC-PERP"],
      prelude: [
        ##"#{"jsonrpc":"2.0","result":[{"instrument_name":"BTC_USDC-PERPETUAL","kind":"future","instrument_type":"linear","tick_size":0.1,"contract_size":1.0e-4,"base_currency":"BTC","quote_currency":"USDC","settlement_period":"perpetual"},{"instrument_name":"DOGE_USDC-PERPETUAL","kind":"future","instrument_type":"linear","tick_size":1e-05,"contract_size":100,"base_currency":"DOGE","quote_currency":"USDC","settlement_period":"perpetual"}]}"##,
        #"{"jsonrpc":"2.0","id":2,"result":"ok"}"#,
        #"{"jsonrpc":"2.0","id":3,"result":["book.BTC_USDC-PERPETUAL.100ms","quote.BTC_USDC-PERPETUAL","trades.BTC_USDC-PERPETUAL.100ms","book.DOGE_USDC-PERPETUAL.100ms","platform_state"]}"#,
        #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"timestamp":1790133840448,"type":"snapshot","change_id":100,"instrument_name":"BTC_USDC-PERPETUAL","bids":[["new",86775.8,0.216]],"asks":[["new",86776.0,9.0e-4]]}}}"#,
      ]),
    "gate": VenueScript(
      symbols: ["BTC-USDT", "ETH-USDT"],
      prelude: [
        ##"#[{"id":"BTC_USDT","base":"BTC","quote":"USDT","amount_precision":6,"precision":1,"trade_status":"tradable"},{"id":"ETH_USDT","base":"ETH","quote":"USDT","amount_precision":4,"precision":2,"trade_status":"tradable"}]"##,
        #"{"time":1747054611,"id":2,"channel":"spot.obu","event":"subscribe","payload":["ob.BTC_USDT.400"],"result":{"status":"success"}}"#,
        #"{"channel":"spot.obu","result":{"t":1747054612673,"full":true,"s":"ob.BTC_USDT.400","u":100,"b":[["80688.1","0.591532"],["80688","2"]],"a":[["80691.5","0.2"]]},"time_ms":1747054612848,"event":"update"}"#,
      ]),
    "gemini": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        ##"#["btcusd","ethusd","btcgusdperp"]"##,
        ##"#{"symbol":"BTCUSD","base_currency":"BTC","quote_currency":"USD","tick_size":1E-8,"quote_increment":0.01,"min_order_size":"0.00001","status":"open","contract_type":"vanilla"}"##,
        ##"#{"symbol":"ETHUSD","base_currency":"ETH","quote_currency":"USD","tick_size":1E-6,"quote_increment":0.01,"status":"open","contract_type":"vanilla"}"##,
        #"{"id":1,"status":200}"#,
        #"{"e":"depthUpdate","E":1789456740173524809,"s":"btcusd","U":100,"u":100,"b":[["80688.10","0.59100000"],["80688.00","1.5"]],"a":[["80691.50","0.20000000"]]}"#,
      ]),
    "hyperliquid": VenueScript(
      symbols: ["BTC-USDC-PERP", "HYPE-USDC"],
      prelude: [
        #"{"channel":"post","data":{"id":1,"response":{"type":"info","payload":{"type":"meta","data":{"universe":[{"name":"BTC","szDecimals":5,"maxLeverage":40},{"name":"kPEPE","szDecimals":0}]}}}}}"#,
        #"{"channel":"post","data":{"id":2,"response":{"type":"info","payload":{"type":"spotMeta","data":{"universe":[{"tokens":[150,0],"name":"@107","index":107}],"tokens":[{"name":"USDC","szDecimals":8,"index":0},{"name":"HYPE","szDecimals":2,"index":150}]}}}}}"#,
        #"{"channel":"subscriptionResponse","data":{"method":"subscribe","subscription":{"type":"l2Book","coin":"BTC","fast":true}}}"#,
        #"{"channel":"l2Book","data":{"coin":"BTC","time":1790000000000,"levels":[[{"px":"84143.0","sz":"10.25923","n":36}],[{"px":"84144.0","sz":"50.66449","n":18}]],"fast":true}}"#,
      ]),
    "kraken": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        #"{"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[{"symbol":"BTC/USD","base":"BTC","quote":"USD","status":"online","qty_precision":8,"qty_increment":0.00000001,"price_precision":1,"price_increment":0.1},{"symbol":"ETH/USD","base":"ETH","quote":"USD","status":"online","qty_precision":8,"qty_increment":0.00000001,"price_precision":2,"price_increment":0.01}]}}"#,
        #"{"channel":"book","type":"snapshot","data":[{"symbol":"ETH/USD","bids":[{"price":1797.24,"qty":0.43393711}],"asks":[{"price":1797.25,"qty":1.40355852}],"checksum":1257516027}]}"#,
      ]),
    "kucoin": VenueScript(
      symbols: ["BTC-USDT", "ETH-USDT"],
      prelude: [
        ##"#{"code":"200000","data":[{"symbol":"BTC-USDT","baseCurrency":"BTC","quoteCurrency":"USDT","baseIncrement":"0.00000001","priceIncrement":"0.1","enableTrading":true},{"symbol":"ETH-USDT","baseCurrency":"ETH","quoteCurrency":"USDT","baseIncrement":"0.0000001","priceIncrement":"0.01","enableTrading":true}]}"##,
        #"{"sessionId":"e8e4","message":"welcome","pingInterval":18000}"#,
        "!",
        #"{"T":"obu.SPOT","dp":"increment@10ms","t":"snapshot","P":1768217874990007701,"d":{"a":[["80691.5","0.2"]],"b":[["80688.1","0.591532"]],"C":100,"s":"BTC-USDT","M":1768217874986000000,"O":100}}"#,
      ]),
    "okx": VenueScript(
      symbols: ["BTC-USDT", "BTC-USDT-PERP"],
      prelude: [
        ##"#{"code":"0","msg":"","data":[{"instType":"SPOT","instId":"BTC-USDT","baseCcy":"BTC","quoteCcy":"USDT","ctVal":"","tickSz":"0.1","lotSz":"0.00000001","state":"live"}]}"##,
        ##"#{"code":"0","msg":"","data":[{"instType":"SWAP","instId":"BTC-USDT-SWAP","settleCcy":"USDT","ctVal":"0.01","ctMult":"1","ctType":"linear","ctValCcy":"BTC","tickSz":"0.1","lotSz":"0.01","state":"live"},{"instType":"SWAP","instId":"BTC-USD-SWAP","ctVal":"100","ctMult":"1","ctType":"inverse","tickSz":"0.1","lotSz":"1"}]}"##,
        #"{"arg":{"channel":"books","instId":"BTC-USDT"},"action":"snapshot","data":[{"asks":[["80691.5","0.2","0","1"]],"bids":[["80688.1","0.5","0","1"]],"ts":"1790394877200","checksum":0,"seqId":100,"prevSeqId":-1}]}"#,
      ]),
  ]
}
