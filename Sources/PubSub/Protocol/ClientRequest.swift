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
    /// As it was written, to name it in a refusal.
    var channelText: String?
    var channel = ChannelName.status
    var symbols: [String] = []
    var depth: UInt16?
    var points: UInt16?
    /// Of a `topic`; 1 if left out.
    var last: UInt16?
    /// Of a `sparkline`; 24h if left out.
    var range: ChartRange?
    /// Of `candles`; 1m if left out.
    var candle: CandleInterval?
    var interval: Int?
    /// Of a `deck`; UTC if left out.
    var zone: String?
    var portfolio = PortfolioRequestItem()
    /// Of `resume`: where the client stopped.
    var position: StreamPosition?
    /// What is wrong with the item as a whole.
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

/// A request as read: the `id` is known even if the rest makes no sense, so that the error can be matched.
struct ParsedRequest {
  /// The text of the `id`, to be echoed as it is; nil if there was none.
  var id: String?
  var request: ClientRequest?
  var error: ProtocolError?
}
