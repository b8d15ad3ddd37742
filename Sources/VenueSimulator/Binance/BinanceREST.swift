import Bytes
import MarketData

/// The REST calls that a client of Binance's streams needs: `ping`, `time`, `exchangeInfo`, `depth`, `ticker/24hr` of all markets; of
/// futures `exchangeInfo`, `depth` and `ticker/24hr`, which have a weight limit of their own.
struct BinanceREST {
  let market: SimulatedMarket
  /// Request weight used in the minute under way; the limit is 6,000.
  private var weight = 0
  private var minute: Int64 = 0
  static let weightLimit = 6_000
  private var futuresWeight = 0
  static let futuresWeightLimit = 2_400
  /// Books of an earlier moment, each of which is the next snapshot of its instrument.
  var kept: [Int: SimulatedTruth] = [:]

  init(market: SimulatedMarket) { self.market = market }

  mutating func respond(
    path: String, query: [(name: String, value: String)], now: Timestamp, faults: FaultInjector
  ) -> SimulatedResponse {
    let minute = now.rawValue / Microseconds.minute
    if minute != self.minute {
      self.minute = minute
      weight = 0
      futuresWeight = 0
    }
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
    var response: SimulatedResponse
    var isRefused = false
    switch path {
    case "/api/v3/ping":
      weight += 1
      response = SimulatedResponse(body: "{}")
    case "/api/v3/time":
      weight += 1
      response = SimulatedResponse(body: #"{"serverTime":\#(now.rawValue / 1_000)}"#)
    case "/api/v3/exchangeInfo":
      weight += 20
      response = exchangeInfo(symbol: value("symbol"), symbols: value("symbols"), now)
    case "/api/v3/depth": response = depth(symbol: value("symbol"), limit: value("limit"), isSpot: true)
    case "/fapi/v1/exchangeInfo":
      futuresWeight += 1
      response = exchangeInfo(symbol: nil, symbols: nil, now, isSpot: false)
    case "/fapi/v1/depth": response = depth(symbol: value("symbol"), limit: value("limit"), isSpot: false)
    case "/api/v3/ticker/24hr":
      weight += 80
      response = tickers(isSpot: true)
    case "/api/v3/klines", "/fapi/v1/klines":
      let isSpot = path.hasPrefix("/api/")
      let request = SimulatedRequest(path: path, query: query)
      let cost = Self.klineWeight(request, isSpot: isSpot)
      if isSpot { weight += cost } else { futuresWeight += cost }
      let fault = faults.takeCandleFault()
      isRefused = fault == .limited
      response = klines(request, isSpot: isSpot, now, fault)
    case "/fapi/v1/ticker/24hr":
      futuresWeight += 40
      response = tickers(isSpot: false)
    default: return SimulatedResponse(status: 404, body: #"{"code":-1000,"msg":"Path \#(path) not found."}"#)
    }
    let isFutures = path.hasPrefix("/fapi/")
    let (weight, limit) = isFutures ? (futuresWeight, Self.futuresWeightLimit) : (self.weight, Self.weightLimit)
    if weight > limit || isRefused {
      let message = "Too much request weight used; current limit is \(limit) request weight per 1 MINUTE."
      response = SimulatedResponse(status: 429, body: Self.error(-1003, message))
      response.fields.append(("Retry-After", String(60 - now.rawValue / Microseconds.second % 60)))
    }
    response.fields.append(("X-MBX-USED-WEIGHT", String(weight)))
    response.fields.append(("X-MBX-USED-WEIGHT-1M", String(weight)))
    return response
  }

  private static func error(_ code: Int, _ message: String) -> String {
    var out = ByteBuffer()
    out.append(#"{"code":"#)
    out.append(integer: Int64(code))
    out.append(#","msg":"#)
    out.append(json: message)
    out.append("}")
    return out.description
  }

  static func bad(_ code: Int, _ message: String) -> SimulatedResponse {
    SimulatedResponse(status: 400, body: error(code, message))
  }

  private func find(_ symbol: String) -> InstrumentMarket? {
    market.instruments.first { $0.instrument.venueSymbol == symbol && $0.instrument.kind == .spot }
  }

  // MARK: - Depth

  private mutating func depth(symbol: String?, limit: String?, isSpot: Bool) -> SimulatedResponse {
    guard let symbol, !symbol.isEmpty else {
      return Self.bad(-1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
    }
    var count = 100
    if let limit {
      guard let number = Int(limit), number > 0 else {
        return Self.bad(-1100, "Illegal characters found in parameter 'limit'; legal range is '^[0-9]{1,20}$'.")
      }
      count = min(number, 5_000)
      if !isSpot, ![5, 10, 20, 50, 100, 500, 1_000].contains(count) {
        return Self.bad(-4021, "\(count) is not valid depth limit")
      }
    }
    if isSpot {
      weight += count <= 100 ? 5 : count <= 500 ? 25 : count <= 1_000 ? 50 : 250
    } else {
      futuresWeight += count <= 50 ? 2 : count <= 100 ? 5 : count <= 500 ? 10 : 20
    }
    guard
      let index = market.instruments.firstIndex(where: {
        $0.instrument.venueSymbol == symbol && ($0.instrument.kind == .spot) == isSpot
      })
    else {
      return Self.bad(-1121, "Invalid symbol.")
    }
    let truth = kept.removeValue(forKey: index) ?? market.truth(index, isSnapshot: true)
    var out = ByteBuffer(capacity: 64 << 10)
    BinanceEvents.book(truth.book, truth.updateID, market.instruments[index].instrument, count, to: &out)
    var response = SimulatedResponse(body: out.description)
    response.truth = truth
    return response
  }

  // MARK: - 24 h figures

  private func tickers(isSpot: Bool) -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    let states = market.instruments.filter { ($0.instrument.kind == .spot) == isSpot }
    out.append(separated: states) { state, out in
      func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
        out.append(name)
        out.append(quoted: value, scale: scale)
      }
      let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
      out.append(#"{"symbol":""#)
      out.append(state.instrument.venueSymbol)
      out.append("\"")
      field(#","openPrice":"#, state.day.open, price)
      field(#","highPrice":"#, state.day.high, price)
      field(#","lowPrice":"#, state.day.low, price)
      field(#","lastPrice":"#, state.day.last, price)
      field(#","volume":"#, state.day.volume, size)
      out.append(#","quoteVolume":"#)
      out.append(quoteVolumeOf: state)
      out.append(#","count":"#)
      out.append(integer: state.day.trades)
      out.append("}")
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }

  // MARK: - Exchange information

  private func exchangeInfo(
    symbol: String?, symbols: String?, _ now: Timestamp, isSpot: Bool = true
  ) -> SimulatedResponse {
    var names: [String]?
    if let symbol { names = [symbol] }
    if let symbols {
      guard names == nil else {
        return Self.bad(-1128, "Combination of optional parameters invalid. Recommendation: 'symbol' or 'symbols'")
      }
      guard let list = Self.strings(symbols), !list.isEmpty else {
        return Self.bad(
          -1100,
          "Illegal characters found in parameter 'symbols'; legal range is '^\\[(\"[A-Z0-9-_.]{1,20}\"(,\"[A-Z0-9-_.]{1,20}\"){0,}){0,1}\\]$'."
        )
      }
      names = list
    }
    var chosen = market.instruments.filter { ($0.instrument.kind == .spot) == isSpot }
    if let names {
      chosen = []
      for name in names {
        guard let state = find(name) else { return Self.bad(-1121, "Invalid symbol.") }
        chosen.append(state)
      }
    }
    var out = ByteBuffer(capacity: 8 << 10)
    out.append(#"{"timezone":"UTC","serverTime":"#)
    out.append(integer: now.rawValue / 1_000)
    out.append(#","rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":"#)
    out.append(integer: Int64(isSpot ? Self.weightLimit : Self.futuresWeightLimit))
    out.append("}],")
    out.append(#""exchangeFilters":[],"symbols":["#)
    for (index, state) in chosen.enumerated() {
      if index > 0 { out.append(",") }
      Self.append(state.instrument, to: &out)
    }
    out.append("]}")
    return SimulatedResponse(body: out.description)
  }

  /// A JSON array of strings; nil if it is anything else.
  private static func strings(_ text: String) -> [String]? {
    var text = text
    return text.withUTF8 { bytes -> [String]? in
      var json = JSONScanner(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(bytes)))
      var list: [String] = []
      do throws(JSONError) {
        try json.arrayStart()
        while try json.nextElement() { list.append(try json.decoded(try json.string())) }
        try json.end()
      } catch {
        return nil
      }
      return list
    }
  }

  private static func append(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    guard instrument.kind == .spot else { return append(contract: instrument, to: &out) }
    func field(_ name: StaticString, _ value: Int64) {
      out.append(name)
      out.append(quoted: value, scale: 8)
    }
    out.append(#"{"symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","status":"TRADING","baseAsset":""#)
    out.append(instrument.base)
    out.append(#"","baseAssetPrecision":8,"quoteAsset":""#)
    out.append(instrument.quote)
    out.append(
      #"","quotePrecision":8,"quoteAssetPrecision":8,"baseCommissionPrecision":8,"quoteCommissionPrecision":8,"#)
    out.append(
      #""orderTypes":["LIMIT","LIMIT_MAKER","MARKET","STOP_LOSS_LIMIT","TAKE_PROFIT_LIMIT"],"icebergAllowed":true,"#)
    out.append(
      #""ocoAllowed":true,"quoteOrderQtyMarketAllowed":true,"isSpotTradingAllowed":true,"isMarginTradingAllowed":true,"#
    )
    out.append(#""filters":[{"filterType":"PRICE_FILTER""#)
    field(#","minPrice":"#, instrument.tick)
    field(#","maxPrice":"#, Int64(instrument.reference * 1e9))
    field(#","tickSize":"#, instrument.tick)
    out.append(#"},{"filterType":"LOT_SIZE""#)
    field(#","minQty":"#, instrument.lot)
    field(#","maxQty":"#, instrument.lot * 900_000)
    field(#","stepSize":"#, instrument.lot)
    out.append(
      #"},{"filterType":"NOTIONAL","minNotional":"5.00000000","applyMinToMarket":true,"maxNotional":"9000000.00000000","applyMaxToMarket":false,"avgPriceMins":5}],"#
    )
    out.append(#""permissions":[],"permissionSets":[["SPOT","MARGIN"]]}"#)
  }

  /// An entry of the futures' list; its precisions are the digits that are printed.
  private static func append(contract instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","pair":""#)
    out.append(instrument.base)
    out.append(instrument.quote)
    out.append(
      instrument.kind == .perpetual
        ? #"","contractType":"PERPETUAL","deliveryDate":4133404800000,"status":"TRADING","baseAsset":""#
        : #"","contractType":"CURRENT_QUARTER","deliveryDate":1798185600000,"status":"TRADING","baseAsset":""#)
    out.append(instrument.base)
    out.append(#"","quoteAsset":""#)
    out.append(instrument.quote)
    out.append(#"","marginAsset":"USDT","pricePrecision":"#)
    out.append(integer: Int64(instrument.priceScale))
    out.append(#","quantityPrecision":"#)
    out.append(integer: Int64(instrument.sizeScale))
    out.append(#","filters":[{"filterType":"PRICE_FILTER","tickSize":"#)
    out.append(quoted: instrument.tick, scale: instrument.priceScale)
    out.append(#"},{"filterType":"LOT_SIZE","stepSize":"#)
    out.append(quoted: instrument.lot, scale: instrument.sizeScale)
    out.append("}]}")
  }
}
