import MarketData

/// A client's request.
enum ClientRequest: Equatable {
  struct Hello: Equatable {
    var token: String?
    var client: String?
    var heartbeatSeconds: Int?
    var resume: Resume?
  }

  /// The session and streams that a returning client wants to resume.
  struct Resume: Equatable {
    /// The token of its last `welcome`.
    var session: String?
    /// One symbol each, with a position.
    var items: [Item] = []
  }

  /// One element of `streams` in a subscribe request.
  struct Item: Equatable {
    /// The name as the client wrote it, for refusals.
    var channelText: String?
    var channel = ChannelName.status
    var symbols: [String] = []
    /// The name of a list of symbols that the gateway knows, in their place.
    var watchlist: String?
    var depth: UInt16?
    var points: UInt16?
    /// For a `topic`; 1 if left out.
    var last: UInt16?
    /// For a `sparkline`; 24h if left out.
    var range: ChartRange?
    /// For `candles`; 1m if left out.
    var candle: CandleInterval?
    var interval: Int?
    /// For a `deck`; UTC if left out.
    var zone: String?
    var portfolio = PortfolioRequestItem()
    /// Whether the symbols are one stream.
    var isGroup = false
    /// For `resume`: where the client stopped.
    var position: StreamPosition?
    /// The error of the item as a whole.
    var error: ProtocolError?
  }

  case hello(Hello)
  case subscribe([Item])
  case unsubscribe([UInt32])
  case unsubscribeAll
  case configure(interval: Int)
  case pause
  case resume
  case list
  case ping(time: Int64?)
  case control(ControlRequest)

  static let ops = ["hello", "subscribe", "unsubscribe", "configure", "pause", "resume", "list", "ping", "alert"]
}

/// A parsed request. Its `id` is known even if the rest is invalid, so that the client can match the error.
struct ParsedRequest {
  /// The text of the `id`, which is echoed unchanged; nil if there was none.
  var id: String?
  var request: ClientRequest?
  var error: ProtocolError?
}
