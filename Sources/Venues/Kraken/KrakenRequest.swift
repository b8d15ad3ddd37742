/// What is sent to Kraken: one frame for all symbols of a channel, as a burst of frames trips its rate limit.
enum KrakenRequest {
  enum Method: String { case subscribe, unsubscribe }

  static func instruments(_ method: Method = .subscribe, id: Int) -> String {
    let snapshot = method == .subscribe ? #","snapshot":true"# : ""
    return #"{"method":"\#(method.rawValue)","params":{"channel":"instrument"\#(snapshot)},"req_id":\#(id)}"#
  }

  /// An unsubscribe must repeat the depth.
  static func book(_ method: Method, _ symbols: [String], id: Int) -> String {
    let snapshot = method == .subscribe ? #","snapshot":true"# : ""
    return
      #"{"method":"\#(method.rawValue)","params":{"channel":"book","symbol":\#(JSONText.array(symbols)),"depth":\#(KrakenHandler.bookDepth)\#(snapshot)},"req_id":\#(id)}"#
  }

  /// The snapshot is the last 50 trades.
  static func trades(_ symbols: [String], id: Int) -> String {
    #"{"method":"subscribe","params":{"channel":"trade","symbol":\#(JSONText.array(symbols)),"snapshot":true},"req_id":\#(id)}"#
  }

  /// Sent on trades; quotes are made from the book, which is exact at every change.
  static func ticker(_ symbols: [String], id: Int) -> String {
    #"{"method":"subscribe","params":{"channel":"ticker","symbol":\#(JSONText.array(symbols)),"event_trigger":"trades","snapshot":true},"req_id":\#(id)}"#
  }

  static func ping(id: Int) -> String { #"{"method":"ping","req_id":\#(id)}"# }
}
