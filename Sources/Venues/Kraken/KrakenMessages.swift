import Bytes
import MarketData

/// A pair of the `instrument` channel, as far as it is used.
struct KrakenPair {
  var symbol: String
  var priceScale: UInt8 = 0
  var sizeScale: UInt8 = 0
  var priceIncrement: Decimal64?
  var sizeIncrement: Decimal64?
  /// False while orders are not matched: `cancel_only`, `post_only`, `work_in_progress`, `delisted`, `maintenance`.
  var isTrading = true
}

/// Reading Kraken's messages: `{"channel":…,"type":…,"data":[…]}`, or a reply `{"method":…}`.
extension KrakenHandler {
  enum Channel { case book, trade, ticker, instrument, status, heartbeat, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var channel: Channel?
    var isSnapshot = false
    var data: FieldSlice?
    var isReply = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel") {
        channel = Self.channel(try reader.string("channel"), reader)
      } else if reader.equals(key, "type") {
        isSnapshot = reader.equals(try reader.string("type"), "snapshot")
      } else if reader.equals(key, "data") {
        data = try reader.rawValue("data")
      } else {
        if reader.equals(key, "method") || reader.equals(key, "error") { isReply = true }
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let channel else {
      guard isReply else { throw FeedError.missing("channel", in: "message") }
      return try readReply(message, now: now)
    }
    if channel == .heartbeat {
      batch.events.append(.heartbeat)
      return
    }
    if channel == .other {
      counts.ignored += 1
      return
    }
    guard let data else { throw FeedError.missing("data", in: "message") }
    var entries = reader.reader(data)
    if channel == .instrument {
      return try readInstruments(&entries, isSnapshot: isSnapshot, now: now, into: &batch)
    }
    entries.field = "data"
    try entries.arrayStart()
    while try entries.nextElement() {
      switch channel {
      case .book: try readBook(&entries, isSnapshot: isSnapshot, now: now, into: &batch)
      case .trade: try readTrade(&entries, isSnapshot: isSnapshot, now: now, into: &batch)
      case .ticker: try readTicker(&entries, now: now, into: &batch)
      case .status: try readStatus(&entries)
      case .instrument, .heartbeat, .other: try entries.skipValue()
      }
    }
  }

  private static func channel(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Channel {
    if reader.equals(name, "book") { return .book }
    if reader.equals(name, "trade") { return .trade }
    if reader.equals(name, "ticker") { return .ticker }
    if reader.equals(name, "heartbeat") { return .heartbeat }
    if reader.equals(name, "instrument") { return .instrument }
    if reader.equals(name, "status") { return .status }
    return .other
  }

  /// `{"symbol":…,"bids":[{"price":…,"qty":…}],"asks":[…],"checksum":…,"timestamp":…}`
  private func readBook(
    _ reader: inout FieldReader, isSnapshot: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var bids: FieldSlice?
    var asks: FieldSlice?
    var checksum: UInt32?
    var time = now
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        let slice = try reader.string("symbol")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "bids") {
        // The symbol comes first; where it does not, the levels wait for it.
        if let place {
          reader.field = "bids"
          try readLevels(&reader, place, into: &batch.bids)
        } else {
          bids = try reader.rawValue("bids")
        }
      } else if reader.equals(key, "asks") {
        if let place {
          reader.field = "asks"
          try readLevels(&reader, place, into: &batch.asks)
        } else {
          asks = try reader.rawValue("asks")
        }
      } else if reader.equals(key, "checksum") {
        guard let value = UInt32(exactly: try reader.uint64("checksum")) else {
          throw FeedError(.decimal, "field checksum at offset \(reader.offset): more than 32 bits")
        }
        checksum = value
      } else if reader.equals(key, "timestamp") {
        let slice = try reader.string("timestamp")
        time = VenueTime.rfc3339(reader.text(slice)) ?? now
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("symbol", in: "book") }
    guard let checksum else { throw FeedError.missing("checksum", in: "book") }
    if let bids {
      var levels = reader.reader(bids)
      try readLevels(&levels, place, into: &batch.bids)
    }
    if let asks {
      var levels = reader.reader(asks)
      try readLevels(&levels, place, into: &batch.asks)
    }
    let bidRange = bidStart..<batch.bids.count
    let askRange = askStart..<batch.asks.count
    guard isSnapshot || books[place].isLive || commits.contains(where: { $0.isSnapshot(of: place) }) else {
      // Still on its way when the book was unsubscribed.
      batch.bids.removeSubrange(bidStart...)
      batch.asks.removeSubrange(askStart...)
      commits.append(.ignoredDelta(place))
      return
    }
    commits.append(
      isSnapshot ? .snapshot(place, bids: bidRange, asks: askRange) : .delta(place, bids: bidRange, asks: askRange))
    batch.events.append(
      .book(
        BookEvent(
          instrument: InstrumentID(place), kind: isSnapshot ? .snapshot : .delta, bidRange: bidRange,
          askRange: askRange,
          time: time, checksum: checksum)))
  }

  private func readLevels(_ reader: inout FieldReader, _ place: Int, into levels: inout [PriceLevel]) throws(FeedError)
  {
    try reader.arrayStart()
    while try reader.nextElement() {
      var price: Int64?
      var size: Int64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "price") {
          price = try self.price(&reader, place, "price")
        } else if reader.equals(key, "qty") {
          size = try self.size(&reader, place, "qty")
        } else {
          try reader.skipValue()
        }
      }
      guard let price else { throw FeedError.missing("price", in: "book level") }
      guard let size else { throw FeedError.missing("qty", in: "book level") }
      levels.append(PriceLevel(price: price, size: size))
    }
  }

  /// `{"symbol":…,"side":"buy","price":…,"qty":…,"ord_type":…,"trade_id":…,"timestamp":…}`; `side` is the taker's.
  private func readTrade(
    _ reader: inout FieldReader, isSnapshot: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var price: FieldSlice?
    var size: FieldSlice?
    var side: TakerSide?
    var id: UInt64?
    var time = now
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        let slice = try reader.string("symbol")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "side") {
        let slice = try reader.string("side")
        side = reader.equals(slice, "buy") ? .buy : reader.equals(slice, "sell") ? .sell : nil
      } else if reader.equals(key, "price") {
        price = try reader.rawValue("price")
      } else if reader.equals(key, "qty") {
        size = try reader.rawValue("qty")
      } else if reader.equals(key, "trade_id") {
        id = try reader.uint64("trade_id")
      } else if reader.equals(key, "timestamp") {
        let slice = try reader.string("timestamp")
        time = VenueTime.rfc3339(reader.text(slice)) ?? now
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("symbol", in: "trade") }
    guard let price else { throw FeedError.missing("price", in: "trade") }
    guard let size else { throw FeedError.missing("qty", in: "trade") }
    guard let side else { throw FeedError.missing("side (buy or sell)", in: "trade") }
    guard let id else { throw FeedError.missing("trade_id", in: "trade") }
    var value = reader.reader(price)
    let tradePrice = try self.price(&value, place, "price")
    value = reader.reader(size)
    let tradeSize = try self.size(&value, place, "qty")
    commits.append(.trade(place, id: Int64(clamping: id), isBacklog: isSnapshot))
    batch.events.append(
      .trade(
        Trade(
          instrument: InstrumentID(place), id: TradeID(id), price: tradePrice, size: tradeSize, side: side, time: time,
          isBacklog: isSnapshot)))
  }

  /// 24 h figures; `trades` and `timestamp` are newer than the rest and may be missing.
  private func readTicker(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker: Ticker?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        let slice = try reader.string("symbol")
        ticker = Ticker(instrument: InstrumentID(try place(reader.text(slice))), time: now)
      } else if var known = ticker {
        try readTickerField(key, &known, &reader)
        ticker = known
      } else {
        throw FeedError(.shape, "ticker whose first field is not symbol")
      }
    }
    guard let ticker else { throw FeedError.missing("symbol", in: "ticker") }
    batch.events.append(.ticker(ticker))
  }

  private func readTickerField(
    _ key: JSONSlice, _ ticker: inout Ticker, _ reader: inout FieldReader
  ) throws(FeedError) {
    let place = ticker.instrument.index
    if reader.equals(key, "last") {
      ticker.last = try statisticsPrice(&reader, place, "last")
    } else if reader.equals(key, "bid") {
      ticker.bid = try statisticsPrice(&reader, place, "bid")
    } else if reader.equals(key, "ask") {
      ticker.ask = try statisticsPrice(&reader, place, "ask")
    } else if reader.equals(key, "high") {
      ticker.high = try statisticsPrice(&reader, place, "high")
    } else if reader.equals(key, "low") {
      ticker.low = try statisticsPrice(&reader, place, "low")
    } else if reader.equals(key, "volume") {
      ticker.volume = try statistic(&reader, "volume")
    } else if reader.equals(key, "vwap") {
      ticker.vwap = try statistic(&reader, "vwap")
    } else if reader.equals(key, "change") {
      ticker.change = try statistic(&reader, "change")
    } else if reader.equals(key, "change_pct") {
      ticker.changePercent = try statistic(&reader, "change_pct")
    } else if reader.equals(key, "trades") {
      ticker.trades = try reader.int64("trades")
    } else if reader.equals(key, "timestamp") {
      let slice = try reader.string("timestamp")
      ticker.time = VenueTime.rfc3339(reader.text(slice)) ?? ticker.time
    } else {
      try reader.skipValue()
    }
  }

  /// `{"assets":[…],"pairs":[{"symbol":…,"price_precision":…,"qty_precision":…,…}]}`: an object, not an array.
  private func readInstruments(
    _ reader: inout FieldReader, isSnapshot: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    // Changes of pairs while subscribed are changes of status or limits; a new precision shows in the values themselves.
    guard isSnapshot else { return }
    var pairs: [String: KrakenPair] = [:]
    reader.field = "data"
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "pairs") else {
        try reader.skipValue()
        continue
      }
      try reader.arrayStart()
      while try reader.nextElement() {
        let pair = try readPair(&reader)
        pairs[pair.symbol] = pair
        guard pairs.count <= 100_000 else { throw FeedError(.shape, "instrument list of more than 100,000 pairs") }
      }
    }
    received(pairs: pairs, now: now, into: &batch)
  }

  private func readPair(_ reader: inout FieldReader) throws(FeedError) -> KrakenPair {
    var pair = KrakenPair(symbol: "")
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        pair.symbol = try reader.decodedString("symbol")
      } else if reader.equals(key, "status"), reader.peek() == .string {
        let status = try reader.string("status")
        pair.isTrading =
          reader.equals(status, "online") || reader.equals(status, "limit_only") || reader.equals(status, "reduce_only")
      } else if reader.equals(key, "price_precision") {
        pair.priceScale = UInt8(clamping: try reader.int64("price_precision"))
      } else if reader.equals(key, "qty_precision") {
        pair.sizeScale = UInt8(clamping: try reader.int64("qty_precision"))
      } else if reader.equals(key, "price_increment") {
        pair.priceIncrement = try statistic(&reader, "price_increment")
      } else if reader.equals(key, "qty_increment") {
        pair.sizeIncrement = try statistic(&reader, "qty_increment")
      } else {
        try reader.skipValue()
      }
    }
    guard !pair.symbol.isEmpty else { throw FeedError.missing("symbol", in: "instrument pair") }
    return pair
  }

  /// First `{"error":[],"result":{"XXBTZUSD":{"wsname":"XBT/USD",…},…}}`, then `{"error":[],"result":{"XXBTZUSD":{"v":["today","24 h"],
  /// "p":["today","24 h"],…},…}}`: volume in base units and its average price.
  func readFigures(
    _ body: RawSpan, isNames: Bool, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    var reader = FieldReader(body)
    var result: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "result"), reader.peek() == .object {
        result = try reader.rawValue("result")
      } else if reader.equals(key, "error"), reader.peek() == .array {
        try reader.arrayStart()
        while try reader.nextElement() {
          // Its warnings begin with W.
          let text = try reader.decodedString("error")
          if text.hasPrefix("E") { throw FeedError(.refused, text) }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard let result else { throw FeedError.missing("result", in: "REST answer") }
    var pairs = reader.reader(result)
    if isNames { restNames = [:] }
    try pairs.objectStart()
    while let pair = try pairs.nextKey() {
      let name = pairs.plainText(pair)
      if isNames {
        restNames[name] = try readFeedName(&pairs)
      } else if let volume = try readTurnover(&pairs), let known = restNames[name] {
        try note(volume, of: known, in: &volumes)
      }
    }
    if !isNames { restNames = [:] }
  }

  /// REST still says XBT and XDG.
  private func readFeedName(_ reader: inout FieldReader) throws(FeedError) -> String? {
    var name: String?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "wsname"), reader.peek() == .string {
        let text = try reader.decodedString("wsname")
        name = text.split(separator: "/").map { $0 == "XBT" ? "BTC" : $0 == "XDG" ? "DOGE" : $0 }.joined(separator: "/")
      } else {
        try reader.skipValue()
      }
    }
    return name
  }

  private func readTurnover(_ reader: inout FieldReader) throws(FeedError) -> Decimal64? {
    var volume: Decimal64?
    var price: Decimal64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      let isVolume = reader.equals(key, "v")
      guard isVolume || reader.equals(key, "p"), reader.peek() == .array else {
        try reader.skipValue()
        continue
      }
      try reader.arrayStart()
      var number = 0
      while try reader.nextElement() {
        let value = try statistic(&reader, "24 h figure")
        if number == 1 { if isVolume { volume = value } else { price = value } }
        number += 1
      }
    }
    return volume.flatMap { volume in price.flatMap { volume.product(with: $0) } }
  }

  /// `{"system":"online","connection_id":…}`; the id is beyond `Int64` and of no use.
  private func readStatus(_ reader: inout FieldReader) throws(FeedError) {
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "system") {
        status(try reader.decodedString("system"))
      } else {
        try reader.skipValue()
      }
    }
  }

  /// An acknowledgement, one for each symbol, a refusal, or a pong.
  private func readReply(_ message: RawSpan, now: Timestamp) throws(FeedError) {
    var reader = FieldReader(message)
    var error: String?
    var symbol: String?
    var method = "request"
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "error") {
        error = try reader.decodedString("error")
      } else if reader.equals(key, "symbol"), reader.peek() == .string {
        symbol = try reader.decodedString("symbol")
      } else if reader.equals(key, "method") {
        method = try reader.decodedString("method")
      } else {
        try reader.skipValue()
      }
    }
    guard let error else {
      acknowledged()
      return
    }
    try refusedSubscription(error, symbol: symbol, method: method, now: now)
  }
}

extension KrakenCommit {
  func isSnapshot(of wanted: Int) -> Bool {
    if case .snapshot(let place, _, _) = self { place == wanted } else { false }
  }
}
