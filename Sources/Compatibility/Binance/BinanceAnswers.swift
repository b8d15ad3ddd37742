import Bytes
import HTTP1
import HTTPAPI
import MarketData
import PubSub

/// Answers under `/api/v3`.
struct BinanceAnswers {
  let markets: DialectMarkets
  let request: DialectRequest

  /// An error in Binance's shape: `{"code":-1121,"msg":"Invalid symbol."}`.
  struct Problem: Error {
    var code: Int64
    var words: String
    var status = 400

    static let noSymbol = Problem(
      code: -1102, words: "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
    static let unknownSymbol = Problem(code: -1121, words: "Invalid symbol.")

    var response: HTTPResponse {
      var out = ByteBuffer(capacity: 128)
      out.append("{\"code\":")
      out.append(integer: code)
      out.append("msg", text: words)
      out.append(UInt8(ascii: "}"))
      return .json(out.takeBytes(), status: status)
    }
  }

  func answer(_ name: String) throws(Problem) -> DialectAnswer {
    switch name {
    case "ping": return .now(.json(Array("{}".utf8)))
    case "time":
      var out = ByteBuffer(capacity: 64)
      out.append("{\"serverTime\":")
      out.append(integer: request.loops.now().microseconds / Microseconds.millisecond)
      out.append(UInt8(ascii: "}"))
      return .now(.json(out.takeBytes()))
    case "exchangeInfo":
      // A list looks at every market.
      if let refusal = request.charge(16 * request.loops.hub.directory.entries.count) { return .now(refusal) }
      return .now(.json(try exchangeInfo()))
    case "depth": return try depth()
    case "trades": return try trades(areAggregates: false)
    case "aggTrades": return try trades(areAggregates: true)
    case "klines": return try klines()
    case "ticker/24hr": return try day()
    case "ticker/price": return try price()
    case "ticker/bookTicker": return try quote()
    default: return .notFound
    }
  }

  // MARK: Markets

  private func entry(_ channel: ChannelName) throws(Problem) -> DirectoryEntry {
    guard let name = request.parameter("symbol"), !name.isEmpty else { throw .noSymbol }
    return try entry(name, channel)
  }

  private func entry(_ name: String, _ channel: ChannelName) throws(Problem) -> DirectoryEntry {
    let hub = request.loops.hub
    do throws(DialectMarkets.Refusal) {
      return try markets.check(
        markets.entry(joined: name.uppercased(), in: hub.directory), channel, request.grant, hub.feeds)
    } catch {
      switch error {
      case .unknown: throw .unknownSymbol
      case .forbidden: throw Problem(code: -2015, words: error.words, status: 403)
      case .notReady, .simulated, .tooMany: throw Problem(code: -1001, words: error.words, status: 503)
      }
    }
  }

  /// The parameter `limit`, held within what the gateway has.
  private func limit(_ usual: Int, most: Int) throws(Problem) -> Int {
    guard let text = request.parameter("limit") else { return usual }
    guard let limit = Int(text), limit > 0 else {
      throw Problem(code: -1100, words: "Illegal characters found in parameter 'limit'.")
    }
    return min(limit, most)
  }

  /// Asks the loop of a market; `make` answers nil if there is no data that is live.
  private func ask(
    _ entry: DirectoryEntry, cost: Int,
    _ make: @escaping @Sendable (DialectView, StreamPublisher, MarketRoute, Timestamp) -> [UInt8]?
  ) throws(Problem) -> DialectAnswer {
    let venue = markets.venue
    if let feed = request.loops.hub.feeds.first(where: { $0.venue == venue }), feed.state != .live {
      throw Problem(code: -1001, words: "the feed of \(venue) is \(feed.state.rawValue)", status: 503)
    }
    if let refusal = request.charge(cost) { return .now(refusal) }
    let route = MarketRoute(market: entry.market, instrument: entry.instrument.id)
    let reply = request.reply
    request.loops.askMarkets(entry.loop) { markets in
      markets.publisher.dialectView(at: route).flatMap { make($0, markets.publisher, route, markets.now()) }
    } then: { body in
      reply(
        body.map { .json($0) }
          ?? Problem(code: -1001, words: "there is no live data of this symbol now", status: 503).response)
    }
    return .later
  }

  // MARK: Answers about one market

  private func depth() throws(Problem) -> DialectAnswer {
    let limit = try limit(100, most: 5_000)
    return try ask(entry(.book), cost: 4 * limit) { view, _, _, _ in
      guard view.state.bookState == .live else { return nil }
      var out = ByteBuffer(capacity: 64 + 80 * limit)
      out.append("{\"lastUpdateId\":")
      out.append(integer: view.state.updateID)
      out.append(",\"bids\":[")
      out.append(levels: view.state.book.bids.suffix(limit).reversed(), of: view.instrument)
      out.append("],\"asks\":[")
      out.append(levels: view.state.book.asks.suffix(limit).reversed(), of: view.instrument)
      out.append("]}")
      return out.takeBytes()
    }
  }

  /// The last trades that the gateway keeps, at most 50.
  private func trades(areAggregates: Bool) throws(Problem) -> DialectAnswer {
    for name in ["fromId", "startTime", "endTime"] where request.parameter(name) != nil {
      throw Problem(code: -1104, words: "the gateway has the last 50 trades only; '\(name)' is not served")
    }
    let limit = try limit(50, most: 50)
    return try ask(entry(.trades), cost: 8 * limit) { view, _, _, _ in
      let (price, size) = (view.instrument.priceScale, view.instrument.sizeScale)
      var out = ByteBuffer(capacity: 64 + 160 * limit)
      out.append(UInt8(ascii: "["))
      var isFirst = true
      for trade in view.trades(last: limit) {
        out.append(isFirst ? (areAggregates ? "{\"a\":" : "{\"id\":") : (areAggregates ? ",{\"a\":" : ",{\"id\":"))
        isFirst = false
        let id = trade.id.wholeNumber
        let time = trade.time.microseconds / Microseconds.millisecond
        out.append(integer: id)
        if areAggregates {
          out.append("p", quoted: trade.price, scale: price)
          out.append("q", quoted: trade.size, scale: size)
          out.append("f", integer: id)
          out.append("l", integer: id)
          out.append("T", integer: time)
          out.append(trade.side == .sell ? ",\"m\":true,\"M\":true}" : ",\"m\":false,\"M\":true}")
        } else {
          out.append("price", quoted: trade.price, scale: price)
          out.append("qty", quoted: trade.size, scale: size)
          let value = Int128(trade.price) * Int128(trade.size)
          if let sum = Ratio.decimal(value, scale: Int(price) + Int(size), digits: 8) {
            out.append("quoteQty", quoted: sum)
          }
          out.append("time", integer: time)
          out.append(
            trade.side == .sell
              ? ",\"isBuyerMaker\":true,\"isBestMatch\":true}" : ",\"isBuyerMaker\":false,\"isBestMatch\":true}")
        }
      }
      out.append(UInt8(ascii: "]"))
      return out.takeBytes()
    }
  }

  /// The candles of the last 24 h that are in memory. The volumes of takers who bought are null: they are not known.
  private func klines() throws(Problem) -> DialectAnswer {
    guard let interval = request.parameter("interval").flatMap({ CandleInterval(name: $0) }) else {
      throw Problem(code: -1120, words: "Invalid interval.")
    }
    let limit = try limit(500, most: 1_000)
    let from = try time("startTime") ?? .distantPast
    // The end belongs to the range.
    let to = try time("endTime").map { $0 + 1 } ?? .distantFuture
    return try ask(entry(.candles), cost: 8 * limit) { view, publisher, route, now in
      guard
        let (instrument, candles, _) = publisher.candles(
          interval, from: from, to: to, limit: limit, at: route, now: now)
      else { return nil }
      var out = ByteBuffer(capacity: 64 + 160 * candles.count)
      out.append(UInt8(ascii: "["))
      var isFirst = true
      for candle in candles {
        guard let figures = BinanceCandle(candle, of: instrument) else { continue }
        out.append(isFirst ? "[" : ",[")
        isFirst = false
        out.append(integer: candle.time.microseconds / Microseconds.millisecond)
        for price in [candle.open, candle.high, candle.low, candle.close] {
          out.append(",\"")
          out.append(decimal: price, scale: instrument.priceScale)
          out.append(UInt8(ascii: "\""))
        }
        out.append(",\"")
        out.append(figures.volume)
        out.append("\",")
        out.append(integer: candle.end.microseconds / Microseconds.millisecond - 1)
        out.append(",\"")
        out.append(figures.quoteVolume)
        out.append("\",")
        out.append(integer: candle.trades ?? -1)
        out.append(",null,null,\"0\"]")
      }
      out.append(UInt8(ascii: "]"))
      return out.takeBytes()
    }
  }

  private func time(_ name: String) throws(Problem) -> Timestamp? {
    guard let text = request.parameter(name) else { return nil }
    guard let number = Int64(text), let time = Timestamp(reading: number, unit: Microseconds.millisecond) else {
      throw Problem(code: -1100, words: "Illegal characters found in parameter '\(name)'.")
    }
    return time
  }

  private func day() throws(Problem) -> DialectAnswer {
    let entry = try entry(.ticker)
    let name = Self.name(of: entry.instrument)
    return try ask(entry, cost: 16) { view, _, _, now in
      guard let day = BinanceDay(view, now: now), let quote = view.state.quote else { return nil }
      let (price, size) = (view.instrument.priceScale, view.instrument.sizeScale)
      var out = ByteBuffer(capacity: 512)
      out.append("{\"symbol\":")
      out.append(json: name)
      out.append("priceChange", quoted: day.change)
      out.append("priceChangePercent", quoted: day.changePercent)
      out.append("weightedAvgPrice", quoted: day.vwap)
      out.append("lastPrice", quoted: day.last, scale: price)
      if let trade = view.state.lastTrade { out.append("lastQty", quoted: trade.size, scale: size) }
      out.append("bidPrice", quoted: quote.bid, scale: price)
      out.append("bidQty", quoted: quote.bidSize, scale: size)
      out.append("askPrice", quoted: quote.ask, scale: price)
      out.append("askQty", quoted: quote.askSize, scale: size)
      out.append("openPrice", quoted: day.open, scale: price)
      out.append("highPrice", quoted: day.high, scale: price)
      out.append("lowPrice", quoted: day.low, scale: price)
      out.append("volume", quoted: day.volume)
      out.append("quoteVolume", quoted: day.quoteVolume)
      out.append("openTime", integer: (now - Microseconds.day).microseconds / Microseconds.millisecond)
      out.append("closeTime", integer: now.microseconds / Microseconds.millisecond)
      out.append(",\"firstId\":-1,\"lastId\":-1")
      out.append("count", integer: day.trades)
      out.append(UInt8(ascii: "}"))
      return out.takeBytes()
    }
  }

  private func price() throws(Problem) -> DialectAnswer {
    let entry = try entry(.ticker)
    let name = Self.name(of: entry.instrument)
    return try ask(entry, cost: 1) { view, _, _, _ in
      guard let price = view.state.shownPrice?.price else { return nil }
      var out = ByteBuffer(capacity: 128)
      out.append("{\"symbol\":")
      out.append(json: name)
      out.append("price", quoted: price, scale: view.instrument.priceScale)
      out.append(UInt8(ascii: "}"))
      return out.takeBytes()
    }
  }

  private func quote() throws(Problem) -> DialectAnswer {
    let entry = try entry(.quote)
    let name = Self.name(of: entry.instrument)
    return try ask(entry, cost: 1) { view, _, _, _ in
      guard let quote = view.state.quote, quote.bidSize > 0, quote.askSize > 0 else { return nil }
      let (price, size) = (view.instrument.priceScale, view.instrument.sizeScale)
      var out = ByteBuffer(capacity: 192)
      out.append("{\"symbol\":")
      out.append(json: name)
      out.append("bidPrice", quoted: quote.bid, scale: price)
      out.append("bidQty", quoted: quote.bidSize, scale: size)
      out.append("askPrice", quoted: quote.ask, scale: price)
      out.append("askQty", quoted: quote.askSize, scale: size)
      out.append(UInt8(ascii: "}"))
      return out.takeBytes()
    }
  }

  // MARK: The list of markets

  private static func name(of instrument: Instrument) -> String { instrument.base + instrument.quote }

  private func exchangeInfo() throws(Problem) -> [UInt8] {
    let hub = request.loops.hub
    guard markets.isShown(hub.feeds) else {
      throw Problem(code: -1001, words: DialectMarkets.Refusal.simulated.words, status: 503)
    }
    var instruments = markets.all(in: hub.directory, request.grant).map(\.instrument)
    if let name = request.parameter("symbol") { instruments = [try entry(name, .ticker).instrument] }
    if let text = request.parameter("symbols") {
      // ["BTCUSDT","ETHUSDT"]
      let names = Set(text.split { "[],\" ".contains($0) }.map { $0.uppercased() })
      instruments = instruments.filter { names.contains(Self.name(of: $0)) }
      guard instruments.count == names.count else { throw .unknownSymbol }
    }
    var out = ByteBuffer(capacity: 256 + 600 * instruments.count)
    out.append("{\"timezone\":\"UTC\",\"serverTime\":")
    out.append(integer: request.loops.now().microseconds / Microseconds.millisecond)
    out.append(",\"rateLimits\":[],\"exchangeFilters\":[],\"symbols\":[")
    for (index, instrument) in instruments.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      Self.append(instrument, to: &out)
    }
    out.append("]}")
    return out.takeBytes()
  }

  /// Nothing can be ordered here: there are no types of orders, and the limits of prices and amounts are 0, Binance's
  /// word for none.
  private static func append(_ instrument: Instrument, to out: inout ByteBuffer) {
    let tick = instrument.priceIncrement ?? Decimal64(mantissa: 1, scale: instrument.priceScale)
    let step = instrument.sizeIncrement ?? Decimal64(mantissa: 1, scale: instrument.sizeScale)
    let (base, quote) = (Int64(instrument.sizeScale), Int64(instrument.priceScale))
    out.append("{\"symbol\":")
    out.append(json: name(of: instrument))
    out.append(",\"status\":\"TRADING\"")
    out.append("baseAsset", text: instrument.base)
    out.append("baseAssetPrecision", integer: base)
    out.append("quoteAsset", text: instrument.quote)
    out.append("quotePrecision", integer: quote)
    out.append("quoteAssetPrecision", integer: quote)
    out.append(",\"orderTypes\":[],\"icebergAllowed\":false,\"ocoAllowed\":false,\"isSpotTradingAllowed\":true")
    out.append(",\"isMarginTradingAllowed\":false,\"filters\":[{\"filterType\":\"PRICE_FILTER\"")
    out.append("minPrice", quoted: Decimal64(mantissa: 0, scale: tick.scale))
    out.append("maxPrice", quoted: Decimal64(mantissa: 0, scale: tick.scale))
    out.append("tickSize", quoted: tick)
    out.append("},{\"filterType\":\"LOT_SIZE\"")
    out.append("minQty", quoted: Decimal64(mantissa: 0, scale: step.scale))
    out.append("maxQty", quoted: Decimal64(mantissa: 0, scale: step.scale))
    out.append("stepSize", quoted: step)
    out.append("}],\"permissions\":[\"SPOT\"],\"permissionSets\":[[\"SPOT\"]]}")
  }
}
