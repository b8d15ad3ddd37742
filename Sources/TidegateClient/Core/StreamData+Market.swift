import Bytes
import Foundation

/// Reads the values of channels of a market, without its charts.
extension JSONScanner {
  mutating func quote() throws -> StreamData {
    var quote = Quote(time: .distantPast)
    var time: Date?
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
      case "time": time = try json.date()
      default: try json.compositePart(key, &composite)
      }
    }
    quote.time = try needed(time, "time")
    // For a composite, the state says how many venues it has; for a market, that its book is out of sync.
    quote.composite = composite.composite(state)
    return state == "live" || quote.composite != nil ? .payload(.quote(quote)) : .outOfSync(reason)
  }

  mutating func trades() throws -> StreamData {
    var trades: [Trade] = []
    var lost: LostTrades?
    var state = "live"
    var reason = ""
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "reason": reason = try json.word()
      case "trades":
        try json.arrayStart()
        while try json.nextElement() { trades.append(try json.trade()) }
      case "lost" where json.peek() == .object: lost = try json.lostTrades()
      default: try json.skipValue()
      }
    }
    return .trades(trades, lost: lost, silence: state == "live" ? nil : reason)
  }

  private mutating func trade() throws -> Trade {
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
    return Trade(
      id: id, price: try needed(price, "price"), size: try needed(size, "size"), side: try needed(side, "side"),
      time: try needed(time, "time"), followsGap: followsGap, isRenumbered: isRenumbered,
      isLate: isLate)
  }

  mutating func ticker() throws -> StreamData {
    var ticker = Ticker(source: .unknown(""), time: .distantPast)
    var source: TickerSource?, time: Date?
    var state = "live"
    var reason = ""
    var composite = CompositeFields()
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "reason": reason = try json.word()
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
      case "source": source = TickerSource(rawValue: try json.word())
      case "covered_from": ticker.coveredFrom = try json.date()
      case "time": time = try json.date()
      default: try json.compositePart(key, &composite)
      }
    }
    (ticker.source, ticker.time) = (try needed(source, "source"), try needed(time, "time"))
    // For a composite, the state says how many venues it has; for a market, that a channel of it died.
    ticker.composite = composite.composite(state)
    return state == "live" || ticker.composite != nil ? .payload(.ticker(ticker)) : .silent(.ticker(ticker), reason)
  }

  mutating func pulse() throws -> StreamData {
    var direction = Pulse.Direction.flat
    var price: ExactDecimal?, previous: ExactDecimal?, change: ExactDecimal?, change24h: ExactDecimal?
    var merged: Int?
    var time: Date?
    var state = "live"
    var reason = ""
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "reason": reason = try json.word()
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
    let pulse = Pulse(
      direction: direction, price: try needed(price, "price"), previous: previous, changePercent: change,
      changePercent24h: change24h, merged: try needed(merged, "merged"), time: try needed(time, "time"))
    return state == "live" ? .payload(.pulse(pulse)) : .silent(.pulse(pulse), reason)
  }

  mutating func book() throws -> StreamData {
    var book = BookLevels(time: .distantPast)
    var time: Date?
    var state = "live"
    var reason = ""
    try object { key, json in
      switch key {
      case "state": state = try json.word()
      case "reason": reason = try json.word()
      case "bids": book.bids = try json.levels()
      case "asks": book.asks = try json.levels()
      case "time": time = try json.date()
      default: try json.skipValue()
      }
    }
    book.time = try needed(time, "time")
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
}
