import Bytes

/// What the scanner cannot see: a value of the right kind that is not what it should be.
enum MessageError: Error, Equatable {
  case notANumber(offset: Int)
  /// A sparkline of more points than one may have.
  case tooManyPoints(offset: Int)
}

/// Reading the parts of messages. Unknown fields are skipped, absent ones stay nil (protocol, section 1).
extension JSONScanner {
  /// A string with its escapes decoded.
  mutating func word() throws -> String {
    let slice = try string()
    return try decoded(slice)
  }

  /// A decimal number, in quotes or bare, with its digits as they are; nil for `null`.
  mutating func exact() throws -> ExactDecimal? {
    if try null() { return nil }
    let offset = self.offset
    let slice = peek() == .string ? try string() : try number()
    guard let value = ExactDecimal(try decoded(slice)) else { throw MessageError.notANumber(offset: offset) }
    return value
  }

  mutating func required() throws -> ExactDecimal {
    let offset = self.offset
    guard let value = try exact() else { throw MessageError.notANumber(offset: offset) }
    return value
  }

  /// Calls `body` for each key of an object.
  mutating func object(
    _ body: (_ key: String, _ json: inout JSONScanner) throws -> Void
  ) throws {
    try objectStart()
    while let key = try nextKey() { try body(try decoded(key), &self) }
  }

  mutating func accepted() throws -> [ServerMessage.Accepted] {
    var items: [ServerMessage.Accepted] = []
    try arrayStart()
    while try nextElement() { items.append(try stream()) }
    return items
  }

  /// Streams that were moved; elements that are no objects are passed over.
  mutating func moves() throws -> [ServerMessage.Accepted] {
    var items: [ServerMessage.Accepted] = []
    guard peek() == .array else { return [] }
    try arrayStart()
    while try nextElement() {
      if peek() == .object { items.append(try stream()) } else { try skipValue() }
    }
    return items
  }

  private mutating func stream() throws -> ServerMessage.Accepted {
    var item = ServerMessage.Accepted(stream: -1, channel: "", symbol: "", seq: nil)
    try object { key, json in
      switch key {
      case "stream": item.stream = try json.int64()
      case "from": item.from = try json.int64()
      case "channel": item.channel = try json.word()
      case "symbol": item.symbol = try json.word()
      case "seq": item.seq = try json.uint64()
      case "epoch": item.epoch = try json.word()
      case "price_increment": item.priceIncrement = try json.exact()
      case "recovered": item.isRecovered = try json.bool()
      default: try json.skipValue()
      }
    }
    return item
  }

  mutating func failed() throws -> [TidegateEvent.FailedItem] {
    var items: [TidegateEvent.FailedItem] = []
    try arrayStart()
    while try nextElement() {
      var item = TidegateEvent.FailedItem(channel: "", symbol: "", code: "", message: "", hint: "")
      try object { key, json in
        switch key {
        case "channel": item.channel = try json.word()
        case "symbol": item.symbol = try json.word()
        case "error":
          try json.object { key, json in
            switch key {
            case "code": item.code = try json.word()
            case "message": item.message = try json.word()
            case "hint": item.hint = try json.word()
            case "retry_after_ms": item.retryAfterMilliseconds = try json.int64()
            default: try json.skipValue()
            }
          }
        default: try json.skipValue()
        }
      }
      items.append(item)
    }
    return items
  }

  /// `{"kraken":{"state":…}}`, by name.
  mutating func feedMap() throws -> [FeedReport] {
    var feeds: [FeedReport] = []
    try object { key, json in feeds.append(try json.feed(venue: key)) }
    return feeds.sorted { $0.venue < $1.venue }
  }

  /// `[{"venue":"kraken","state":…}]`
  mutating func feedList() throws -> [FeedReport] {
    var feeds: [FeedReport] = []
    try arrayStart()
    while try nextElement() { feeds.append(try feed(venue: "")) }
    return feeds
  }

  private mutating func feed(venue: String) throws -> FeedReport {
    var feed = FeedReport(venue: venue, state: "", indicator: .reconnecting)
    try object { key, json in
      switch key {
      case "venue": feed.venue = try json.word()
      case "state": feed.state = try json.word()
      case "indicator": feed.indicator = .init(rawValue: try json.word()) ?? .reconnecting
      case "age_ms": feed.ageMilliseconds = try json.int64()
      case "simulated": feed.isSimulated = try json.bool()
      case "reason": feed.reason = try json.word()
      case "since": feed.since = try json.int64()
      case "attempt": feed.attempt = try json.int64()
      case "syncing": try json.object { symbol, json in feed.syncing[symbol] = try json.word() }
      case "failed": try json.object { symbol, json in feed.failed[symbol] = try json.word() }
      default: try json.skipValue()
      }
    }
    return feed
  }

  /// The `data` of a channel; nil if it lacks what the channel cannot do without.
  mutating func streamData(_ channel: TidegateChannel, isSnapshot: Bool) throws -> StreamData? {
    switch channel {
    case .quote: try quote()
    case .trades: .payload(.trades(try trades()))
    case .ticker: .payload(.ticker(try ticker()))
    case .pulse: try pulse().map { .payload(.pulse($0)) }
    case .book: try book()
    case .sparkline: isSnapshot ? .payload(.sparkline(try sparkline())) : try sparklineChange()
    case .status: .payload(.status(try status()))
    }
  }

  private mutating func status() throws -> [FeedReport] {
    var feeds: [FeedReport] = []
    try object { key, json in
      if key == "feeds" { feeds = try json.feedList() } else { try json.skipValue() }
    }
    return feeds
  }

  private mutating func quote() throws -> StreamData {
    var quote = Quote()
    var state = "live"
    var reason = ""
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "reason": reason = try json.word()
      case "bid": quote.bid = try json.exact()
      case "bid_size": quote.bidSize = try json.exact()
      case "ask": quote.ask = try json.exact()
      case "ask_size": quote.askSize = try json.exact()
      case "time": quote.time = try json.int64()
      default: try json.skipValue()
      }
    }
    return state == "live" ? .payload(.quote(quote)) : .outOfSync(reason)
  }

  private mutating func trades() throws -> [Trade] {
    var trades: [Trade] = []
    try object { key, json in
      guard key == "trades" else { return try json.skipValue() }
      try json.arrayStart()
      while try json.nextElement() { if let trade = try json.trade() { trades.append(trade) } }
    }
    return trades
  }

  private mutating func trade() throws -> Trade? {
    var id = ""
    var price: ExactDecimal?, size: ExactDecimal?, side: Trade.Side?, time: Int64?
    try object { key, json in
      switch key {
      case "id": id = json.peek() == .string ? try json.word() : String(try json.int64())
      case "price": price = try json.exact()
      case "size": size = try json.exact()
      case "side": side = .init(rawValue: try json.word())
      case "time": time = try json.int64()
      default: try json.skipValue()
      }
    }
    guard let price, let size else { return nil }
    return Trade(id: id, price: price, size: size, side: side, time: time)
  }

  private mutating func ticker() throws -> Ticker {
    var ticker = Ticker()
    try object { key, json in
      switch key {
      case "last": ticker.last = try json.exact()
      case "bid": ticker.bid = try json.exact()
      case "ask": ticker.ask = try json.exact()
      case "open_24h": ticker.open24h = try json.exact()
      case "high_24h": ticker.high24h = try json.exact()
      case "low_24h": ticker.low24h = try json.exact()
      case "volume_24h": ticker.volume24h = try json.exact()
      case "quote_volume_24h": ticker.quoteVolume24h = try json.exact()
      case "vwap_24h": ticker.vwap24h = try json.exact()
      case "change_24h": ticker.change24h = try json.exact()
      case "change_pct_24h": ticker.changePercent24h = try json.exact()
      case "trades_24h": ticker.trades24h = try json.int64()
      case "time": ticker.time = try json.int64()
      default: try json.skipValue()
      }
    }
    return ticker
  }

  private mutating func pulse() throws -> Pulse? {
    var direction = Pulse.Direction.flat
    var price: ExactDecimal?, previous: ExactDecimal?, change: ExactDecimal?, change24h: ExactDecimal?
    var merged: Int64 = 1
    var time: Int64?
    try object { key, json in
      switch key {
      case "direction": direction = .init(rawValue: try json.word()) ?? .flat
      case "price": price = try json.exact()
      case "previous": previous = try json.exact()
      case "change_pct": change = try json.exact()
      case "change_pct_24h": change24h = try json.exact()
      case "merged": merged = try json.int64()
      case "time": time = try json.int64()
      default: try json.skipValue()
      }
    }
    guard let price else { return nil }
    return Pulse(
      direction: direction, price: price, previous: previous, changePercent: change, changePercent24h: change24h,
      merged: merged, time: time)
  }

  private mutating func book() throws -> StreamData {
    var book = BookLevels(bids: [], asks: [])
    var state = "live"
    var reason = ""
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "reason": reason = try json.word()
      case "bids": book.bids = try json.levels()
      case "asks": book.asks = try json.levels()
      case "spread": book.spread = try json.exact()
      case "spread_pct": book.spreadPercent = try json.exact()
      case "time": book.time = try json.int64()
      default: try json.skipValue()
      }
    }
    return state == "live" ? .payload(.book(book)) : .outOfSync(reason)
  }

  /// `[["64123.4","0.5"],…]`
  private mutating func levels() throws -> [BookLevel] {
    var levels: [BookLevel] = []
    try arrayStart()
    while try nextElement() {
      let offset = self.offset
      try arrayStart()
      var pair: [ExactDecimal] = []
      while try nextElement() { pair.append(try required()) }
      guard pair.count >= 2 else { throw MessageError.notANumber(offset: offset) }
      levels.append(BookLevel(price: pair[0], size: pair[1]))
    }
    return levels
  }

  private mutating func sparkline() throws -> Sparkline {
    var line = Sparkline(range: "24h", from: 0, stepSeconds: 0, points: [])
    try object { key, json in
      switch key {
      case "range": line.range = try json.word()
      case "from": line.from = try json.int64()
      case "step_s": line.stepSeconds = try json.int64()
      case "trend": line.trend = .init(rawValue: try json.word())
      case "points":
        try json.arrayStart()
        while try json.nextElement() {
          guard line.points.count < Sparkline.pointsLimit else {
            throw MessageError.tooManyPoints(offset: json.offset)
          }
          line.points.append(try json.exact())
        }
      default: try json.skipValue()
      }
    }
    return line
  }

  private mutating func sparklineChange() throws -> StreamData? {
    var index: Int64?, from: Int64?, price: ExactDecimal?
    try object { key, json in
      switch key {
      case "index": index = try json.int64()
      case "price": price = try json.exact()
      case "from": from = try json.int64()
      default: try json.skipValue()
      }
    }
    guard let index, let price else { return nil }
    return .sparklineChange(index: index, price: price, from: from)
  }
}

extension Sparkline {
  /// As many points as a line may have, as the protocol says.
  static let pointsLimit = 1440

  /// Applies a change of the newest point: drops as many from the front as `from` moved by, and repeats the last one up
  /// to `index`, so that a line of less than the whole span grows. False if it does not fit this line.
  mutating func apply(index: Int64, price: ExactDecimal, from newFrom: Int64?) -> Bool {
    guard let last = points.last, (0..<Int64(Self.pointsLimit)).contains(index) else { return false }
    var moved = 0
    if let newFrom, newFrom != from {
      // Where the span does not divide evenly, a step is up to a second longer than it says.
      let (step, isStepOver) = stepSeconds.multipliedReportingOverflow(by: 1_000_000)
      let (distance, isOver) = newFrom.subtractingReportingOverflow(from)
      guard !isStepOver, !isOver, step > 0, distance > 0 else { return false }
      let rounded = distance / step + (distance % step >= step - step / 2 ? 1 : 0)
      moved = Int(min(rounded, Int64(points.count)))
    }
    guard Int(index) >= points.count - moved - 1 else { return false }
    points.removeFirst(moved)
    if let newFrom { from = newFrom }
    while points.count <= Int(index) { points.append(last) }
    points[Int(index)] = price
    if let first = points.lazy.compactMap({ $0 }).first, let last = points.lazy.compactMap({ $0 }).last {
      let order = ExactDecimal.order(first, last)
      trend = order < 0 ? .up : order > 0 ? .down : .flat
    }
    return true
  }
}
