import Venues

/// Messages of an exchange, a line each, through the whole path to a client. Some lines are events instead:
/// `#` and a text is the answer 200 with that body to the oldest REST request, `?` the answer 500, `!` a second that passes,
/// `-` a connection that is lost and found again.
extension FuzzTarget {
  static let kraken = venue(
    "kraken", symbols: ["BTC-USD", "ETH-USD"],
    words: [
      "\"channel\":\"book\"", "\"type\":\"snapshot\"", "\"type\":\"update\"", "\"channel\":\"trade\"",
      "\"channel\":\"ticker\"", "\"channel\":\"instrument\"", "\"symbol\":\"ETH/USD\"", "\"price\":", "\"qty\":",
      "\"checksum\":", "\"timestamp\":\"2023-10-06T17:35:55.440295Z\"", "\"bids\":[", "\"asks\":[", "\n", "!", "-",
    ],
    prelude: [
      #"{"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[{"symbol":"BTC/USD","base":"BTC","quote":"USD","status":"online","qty_precision":8,"qty_increment":0.00000001,"price_precision":1,"price_increment":0.1},{"symbol":"ETH/USD","base":"ETH","quote":"USD","status":"online","qty_precision":8,"qty_increment":0.00000001,"price_precision":2,"price_increment":0.01}]}}"#,
      #"{"channel":"book","type":"snapshot","data":[{"symbol":"ETH/USD","bids":[{"price":1797.24,"qty":0.43393711}],"asks":[{"price":1797.25,"qty":1.40355852}]}]}"#,
    ])

  static let coinbase = venue(
    "coinbase", symbols: ["BTC-USD", "ETH-USD"],
    words: [
      "\"type\":\"snapshot\"", "\"type\":\"l2update\"", "\"type\":\"match\"", "\"type\":\"ticker\"",
      "\"type\":\"error\"", "\"type\":\"heartbeat\"", "\"product_id\":\"BTC-USD\"", "\"changes\":[[\"buy\",",
      "\"trade_id\":", "\"time\":\"2026-08-25T03:35:57.300000Z\"", "\n", "!", "-", "#",
    ],
    prelude: [
      ##"#[{"id":"BTC-USD","base_currency":"BTC","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001","status":"online","trading_disabled":false},{"id":"ETH-USD","base_currency":"ETH","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.001"}]"##,
      #"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.20084671"]],"bids":[["80688.08","0.59153273"]]}"#,
    ])

  static let binance = venue(
    "binance", symbols: ["BNB-BTC", "ETH-BTC"],
    words: [
      "\"e\":\"depthUpdate\"", "\"e\":\"trade\"", "\"e\":\"24hrTicker\"", "\"s\":\"BNBBTC\"", "\"U\":", "\"u\":",
      "\"b\":[[\"", "\"a\":[[\"", "\"lastUpdateId\":", "\"stream\":\"bnbbtc@depth@100ms\",\"data\":", "\n", "!", "-",
      "#",
    ],
    prelude: [
      ##"#{"symbols":[{"symbol":"BNBBTC","status":"TRADING","baseAsset":"BNB","quoteAsset":"BTC","filters":[{"filterType":"PRICE_FILTER","tickSize":"0.00000100"},{"filterType":"LOT_SIZE","stepSize":"0.00100000"}]},{"symbol":"ETHBTC","status":"TRADING","baseAsset":"ETH","quoteAsset":"BTC","filters":[]}]}"##,
      #"{"e":"depthUpdate","E":1672515782136,"s":"BNBBTC","U":151,"u":160,"b":[["0.00240000","10.00000000"]],"a":[["0.00260000","100.00000000"]]}"#,
      ##"#{"lastUpdateId":155,"bids":[["0.00230000","431.00000000"]],"asks":[["0.00270000","12.00000000"]]}"##,
    ])

  private static func venue(
    _ name: String, symbols: [String], words: [String], prelude: [String]
  ) -> FuzzTarget {
    FuzzTarget(name, words: words) { (bytes) throws(FuzzFailure) in
      let model = try connected(name, symbols, prelude)
      for line in bytes.lines.prefix(200) { try feed(line, to: model) }
      // It still works: time passes, and the next connection's list and books are taken.
      for _ in 0..<8 { try model.wait(1000) }
      try model.disconnect()
      try model.prepare()
    }
  }

  /// A feed in sync, and a client that follows it.
  static func connected(_ name: String, _ symbols: [String], _ prelude: [String]) throws(FuzzFailure) -> StackModel {
    guard let venue = VenueRegistry.venue(named: name) else { throw FuzzFailure("there is no venue \(name)") }
    let model = StackModel(venue, symbols: symbols)
    try model.prepare()
    var lines = prelude.map { Array($0.utf8) }[...]
    if let first = lines.first, first.first == UInt8(ascii: "#") { try feed(lines.removeFirst(), to: model) }
    try model.connect()
    for line in lines { try feed(line, to: model) }
    for symbol in symbols { try model.subscribe("\(name):\(symbol)") }
    return model
  }

  private static func feed(_ line: [UInt8], to model: StackModel) throws(FuzzFailure) {
    switch line[0] {
    case UInt8(ascii: "#"): try model.answer(200, Array(line.dropFirst()))
    case UInt8(ascii: "?"): try model.answer(500, Array(line.dropFirst()))
    case UInt8(ascii: "!"): try model.wait(1000)
    case UInt8(ascii: "-"):
      try model.disconnect()
      try model.prepare()
      try model.connect()
    default: try model.receive(line)
    }
  }
}
