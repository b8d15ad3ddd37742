import Bytes
import Foundation

/// Mistakes that the scanner cannot see: the value has the right kind and a wrong content.
enum MessageError: Error, Equatable {
  case notANumber(offset: Int)
  /// A list has more elements than allowed.
  case tooMany(offset: Int)
}

/// Reading the parts of messages. Unknown fields are skipped, absent ones stay nil (protocol, ground rules).
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

  /// A time in microseconds since 1970, UTC.
  mutating func date() throws -> Date { Date(microseconds: try int64()) }

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

  /// Moved streams; elements that are not objects are skipped.
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

  mutating func failed() throws -> [ServerMessage.Failure] {
    var items: [ServerMessage.Failure] = []
    try arrayStart()
    while try nextElement() {
      var item = ServerMessage.Failure()
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
    var feed = FeedReport(venue: venue, state: .unknown(""), indicator: .reconnecting)
    try object { key, json in
      switch key {
      case "venue": feed.venue = try json.word()
      case "state": feed.state = FeedState(rawValue: try json.word())
      case "indicator": feed.indicator = FeedIndicator(rawValue: try json.word())
      case "age_ms": feed.age = .milliseconds(try json.int64())
      case "simulated": feed.isSimulated = try json.bool()
      case "replayed": feed.isReplayed = try json.bool()
      case "reason": feed.reason = try json.word()
      case "since": feed.since = try json.date()
      case "attempt": feed.attempt = Int(clamping: try json.int64())
      case "syncing": try json.object { symbol, json in feed.syncing[symbol] = try json.word() }
      case "failed": try json.object { symbol, json in feed.failed[symbol] = try json.word() }
      case "silent": try json.object { symbol, json in feed.silent[symbol] = try json.words(limit: 8) }
      default: try json.skipValue()
      }
    }
    return feed
  }

  /// The `data` of a channel; nil if it lacks a required field.
  mutating func streamData(_ channel: Channel, isSnapshot: Bool) throws -> StreamData? {
    switch channel {
    case .quote: try quote()
    case .trades: try trades()
    case .ticker: .payload(.ticker(try ticker()))
    case .pulse: try pulse().map { .payload(.pulse($0)) }
    case .book: try book()
    case .sparkline: isSnapshot ? .sparkline(try sparkline()) : try sparklineChange()
    case .candles: .candles(try candles())
    case .status: .payload(.status(try status()))
    case .rate: .payload(.rate(try rate()))
    case .topic: .documents(try documents())
    case .alerts: .alerts(try alertChange())
    case .portfolio: .payload(.portfolio(try portfolio()))
    case .deck: .payload(.deck(try deckDay()))
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
    var composite = CompositeFields()
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "reason": reason = try json.word()
      case "bid": quote.bid = try json.exact()
      case "bid_size": quote.bidSize = try json.exact()
      case "bid_venue": quote.bidVenue = try json.word()
      case "ask": quote.ask = try json.exact()
      case "ask_size": quote.askSize = try json.exact()
      case "ask_venue": quote.askVenue = try json.word()
      case "time": quote.time = try json.date()
      default: try json.compositePart(key, &composite)
      }
    }
    // For a composite, the state says how many venues it has; for a market, that its book is out of sync.
    quote.composite = composite.composite(state)
    return state == "live" || quote.composite != nil ? .payload(.quote(quote)) : .outOfSync(reason)
  }

  private mutating func trades() throws -> StreamData {
    var trades: [Trade] = []
    var lost: LostTrades?
    try object { key, json in
      switch key {
      case "trades":
        try json.arrayStart()
        while try json.nextElement() { if let trade = try json.trade() { trades.append(trade) } }
      case "lost" where json.peek() == .object: lost = try json.lostTrades()
      default: try json.skipValue()
      }
    }
    return .trades(trades, lost: lost)
  }

  private mutating func trade() throws -> Trade? {
    var id = ""
    var price: ExactDecimal?, size: ExactDecimal?, side: Trade.Side?, time: Date?
    var followsGap = false, isRenumbered = false, isLate = false
    try object { key, json in
      switch key {
      case "late": isLate = try json.bool()
      case "id": id = json.peek() == .string ? try json.word() : String(try json.int64())
      case "price": price = try json.exact()
      case "size": size = try json.exact()
      case "side": side = .init(rawValue: try json.word())
      case "time": time = try json.date()
      case "gap": followsGap = try json.bool()
      case "renumbered": isRenumbered = try json.bool()
      default: try json.skipValue()
      }
    }
    guard let price, let size else { return nil }
    return Trade(
      id: id, price: price, size: size, side: side, time: time, followsGap: followsGap, isRenumbered: isRenumbered,
      isLate: isLate)
  }

  private mutating func ticker() throws -> Ticker {
    var ticker = Ticker()
    var state = ""
    var composite = CompositeFields()
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "last": ticker.last = try json.exact()
      case "last_venue": ticker.lastVenue = try json.word()
      case "own": ticker.own = try json.words(limit: 100)
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
      case "trades_24h": ticker.trades24h = Int(clamping: try json.int64())
      case "source": ticker.source = TickerSource(rawValue: try json.word())
      case "covered_from": ticker.coveredFrom = try json.date()
      case "time": ticker.time = try json.date()
      default: try json.compositePart(key, &composite)
      }
    }
    ticker.composite = composite.composite(state)
    return ticker
  }

  private mutating func pulse() throws -> Pulse? {
    var direction = Pulse.Direction.flat
    var price: ExactDecimal?, previous: ExactDecimal?, change: ExactDecimal?, change24h: ExactDecimal?
    var merged = 1
    var time: Date?
    try object { key, json in
      switch key {
      case "direction": direction = .init(rawValue: try json.word()) ?? .flat
      case "price": price = try json.exact()
      case "previous": previous = try json.exact()
      case "change_pct": change = try json.exact()
      case "change_pct_24h": change24h = try json.exact()
      case "merged": merged = Int(clamping: try json.int64())
      case "time": time = try json.date()
      default: try json.skipValue()
      }
    }
    guard let price else { return nil }
    return Pulse(
      direction: direction, price: price, previous: previous, changePercent: change, changePercent24h: change24h,
      merged: merged, time: time)
  }

  private mutating func book() throws -> StreamData {
    var book = BookLevels()
    var state = "live"
    var reason = ""
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "reason": reason = try json.word()
      case "bids": book.bids = try json.levels()
      case "asks": book.asks = try json.levels()
      case "time": book.time = try json.date()
      default: try json.skipValue()
      }
    }
    return state == "live" ? .levels(book) : .outOfSync(reason)
  }

  /// The largest number of levels of a side. No market has more, and without a limit a message could cost any amount of
  /// work.
  private static var levelLimit: Int { 100_000 }

  /// `[["64123.4","0.5"],…]`
  private mutating func levels() throws -> [OrderBook.Level] {
    var levels: [OrderBook.Level] = []
    try arrayStart()
    while try nextElement() {
      let offset = self.offset
      guard levels.count < Self.levelLimit else { throw MessageError.tooMany(offset: offset) }
      try arrayStart()
      var pair: (ExactDecimal?, ExactDecimal?)
      var count = 0
      while try nextElement() {
        let value = try required()
        if count == 0 { pair.0 = value } else if count == 1 { pair.1 = value }
        count += 1
      }
      guard let price = pair.0, let size = pair.1 else { throw MessageError.notANumber(offset: offset) }
      levels.append(OrderBook.Level(price: price, size: size))
    }
    return levels
  }

  private mutating func sparkline() throws -> Sparkline {
    var line = Sparkline(symbol: "", range: .day)
    var move = SparklineMove()
    try object { key, json in
      switch key {
      case "range": line.range = SparklineRange(rawValue: try json.word())
      case "from": line.start = try json.int64()
      case "step_s": line.stepSeconds = try json.int64()
      case "covered_from": line.coveredFrom = try json.date()
      case "gaps": line.gaps = try json.gaps()
      case "points":
        try json.arrayStart()
        while try json.nextElement() {
          guard line.points.count < Sparkline.pointsLimit else { throw MessageError.tooMany(offset: json.offset) }
          line.points.append(try json.exact())
        }
      default: try json.read(&move, key)
      }
    }
    line.take(move)
    return line
  }

  /// `[{"from":…,"to":…},…]`
  private mutating func gaps() throws -> [Range<Date>] {
    var gaps: [Range<Date>] = []
    try arrayStart()
    while try nextElement() {
      guard gaps.count < Sparkline.pointsLimit else { throw MessageError.tooMany(offset: offset) }
      var from: Date?, to: Date?
      try object { key, json in
        switch key {
        case "from": from = try json.date()
        case "to": to = try json.date()
        default: try json.skipValue()
        }
      }
      if let from, let to, from < to { gaps.append(from..<to) }
    }
    return gaps
  }

  private mutating func candles() throws -> [CandleSeries.Candle] {
    var candles: [CandleSeries.Candle] = []
    try object { key, json in
      guard key == "candles" else { return try json.skipValue() }
      try json.arrayStart()
      while try json.nextElement() {
        guard candles.count < CandleSeries.limit else { throw MessageError.tooMany(offset: json.offset) }
        if let candle = try json.candle() { candles.append(candle) }
      }
    }
    return candles
  }

  private mutating func candle() throws -> CandleSeries.Candle? {
    var time: Int64?
    var open: ExactDecimal?, high: ExactDecimal?, low: ExactDecimal?, close: ExactDecimal?
    var volume: ExactDecimal?, quoteVolume: ExactDecimal?
    var trades: Int?
    var isClosed = false
    var revision = 0
    var source = CandleSource.own
    try object { key, json in
      switch key {
      case "time": time = try json.int64()
      case "open": open = try json.exact()
      case "high": high = try json.exact()
      case "low": low = try json.exact()
      case "close": close = try json.exact()
      case "volume": volume = try json.exact()
      case "quote_volume": quoteVolume = try json.exact()
      case "trades": trades = Int(clamping: try json.int64())
      case "closed": isClosed = try json.bool()
      case "rev": revision = Int(clamping: try json.int64())
      case "source": source = CandleSource(rawValue: try json.word())
      default: try json.skipValue()
      }
    }
    guard let time, let open, let high, let low, let close else { return nil }
    return CandleSeries.Candle(
      open: open, high: high, low: low, close: close, volume: volume, quoteVolume: quoteVolume, trades: trades,
      isClosed: isClosed, revision: revision, source: source, start: time)
  }

  private mutating func sparklineChange() throws -> StreamData? {
    var index: Int64?, from: Int64?, price: ExactDecimal?
    var move = SparklineMove()
    try object { key, json in
      switch key {
      case "index": index = try json.int64()
      case "price": price = try json.exact()
      case "from": from = try json.int64()
      default: try json.read(&move, key)
      }
    }
    guard let index, let price else { return nil }
    return .sparklineChange(index: index, price: price, from: from, move)
  }

  private mutating func read(_ move: inout SparklineMove, _ key: String) throws {
    switch key {
    case "open": move.open = try exact()
    case "change": move.change = try exact()
    case "change_pct": move.percent = try exact()
    case "trend": move.trend = try word()
    default: try skipValue()
    }
  }
}
