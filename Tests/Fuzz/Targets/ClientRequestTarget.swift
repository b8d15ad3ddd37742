extension FuzzTarget {
  /// Messages of a client, a line each, 20 ms apart, to a hub with a live feed behind it. `!` is a second that passes,
  /// `$` a trade.
  static let clientRequest = FuzzTarget(
    "client-request",
    words: [
      "\"op\":\"subscribe\"", "\"op\":\"unsubscribe\"", "\"op\":\"configure\"", "\"op\":\"hello\"", "\"op\":\"ping\"",
      "\"op\":\"pause\"", "\"op\":\"resume\"", "\"op\":\"list\"", "\"id\":1", "\"id\":\"x\"", "\"streams\":[",
      "\"channel\":\"book\"", "\"channel\":\"trades\"", "\"channel\":\"status\"", "\"symbols\":[\"kraken:ETH-USD\"]",
      "\"symbols\":[\"*:*\"]", "\"depth\":\"full\"", "\"depth\":10", "\"interval_ms\":100", "\"points\":96",
      "\"all\":true", "\"heartbeat_s\":5", "\"time\":1", "\n", "!", "$",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let model = try connected("kraken")
    var trade = 0
    for line in bytes.lines.prefix(100) {
      switch line[0] {
      case UInt8(ascii: "!"): try model.wait(1000)
      case UInt8(ascii: "$"):
        trade += 1
        try model.receive(
          Array(
            #"{"channel":"trade","type":"update","data":[{"symbol":"ETH/USD","side":"buy","price":1797.\#(trade % 90 + 10),"qty":0.5,"trade_id":\#(trade),"timestamp":"2023-10-06T17:35:55.440295Z"}]}"#
              .utf8))
      default:
        let before = model.frames
        try model.request(line)
        try model.wait(20)
        try require(model.isClosed || model.frames > before, "a request is not answered")
      }
    }
  }
}
