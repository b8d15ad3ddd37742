import Bytes
import MarketData

/// The texts of Hyperliquid's channels.
extension HyperliquidProtocol {
  private func level(_ level: PriceLevel?, _ i: Speller) -> JSONText {
    level.map { #"{"px":\#(i.price($0.price)),"sz":\#(i.size($0.size)),"n":3}"# } ?? "null"
  }

  func book(_ index: Int, isFast: Bool) -> JSONText {
    #"{"channel":"l2Book","data":\#(bookData(index, isFast: isFast))}"#
  }

  private func bookData(_ index: Int, isFast: Bool) -> JSONText {
    let (state, i) = (state(index), spell(index))
    let depth = isFast ? Self.fastDepth : Self.depth
    func side(_ side: SimulatedSide) -> JSONText { .list(state.book.top(side, depth)) { level($0, i) } }
    return #"""
      {"coin":\#(json: i.name),"time":\#(ms: now),"levels":[[\#(side(.bid))],\#
      [\#(side(.ask))]]\#(isFast ? #","fast":true"# : "")}
      """#
  }

  func quote(_ index: Int) -> JSONText {
    let (book, i) = (state(index).book, spell(index))
    return #"""
      {"channel":"bbo","data":{"coin":\#(json: i.name),"time":\#(ms: now),"bbo":[\#(level(book.bestBid, i)),\#
      \#(level(book.bestAsk, i))]}}
      """#
  }

  func trades(_ index: Int, _ list: [SimulatedTrade]) -> JSONText {
    let i = spell(index)
    let rows = JSONText.list(list) { trade in
      #"""
      {"coin":\#(json: i.name),"side":"\#(trade.side == .buy ? "B" : "A")","px":\#(i.price(trade.price)),\#
      "sz":\#(i.size(trade.size)),"time":\#(ms: trade.time),\#
      "hash":"0x0000000000000000000000000000000000000000000000000000000000000000","tid":\#(trade.id),\#
      "users":["0x9aa5","0x8269"]}
      """#
    }
    return #"{"channel":"trades","data":[\#(rows)]}"#
  }

  func context(_ index: Int) -> JSONText {
    let state = state(index)
    let name: StaticString = state.instrument.isSpot ? "activeSpotAssetCtx" : "activeAssetCtx"
    return #"{"channel":"\#(name)","data":{"coin":\#(json: state.instrument.venueSymbol),"ctx":{\#(figures(state))}}}"#
  }

  /// The day's figures, without braces.
  private func figures(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    let d = i.derivative(now: now, interval: Microseconds.hour)
    let contract: JSONText =
      state.instrument.isSpot
      ? ""
      : #"""
      ,"funding":\#(i.rate(d)),"openInterest":\#(i.number(d.openInterestBase)),"oraclePx":\#(i.index(d)),\#
      "premium":null,"impactPxs":null
      """#
    return #"""
      "prevDayPx":\#(i.open),"dayNtlVlm":\#(Spelling.quoted.of(state).quoteVolume),"markPx":\#(i.mark(d)),\#
      "midPx":\#(middle(state)),"dayBaseVlm":\#(i.volume)\#(contract)
      """#
  }

  private func middle(_ state: InstrumentMarket) -> Spelled {
    let sum = (state.book.bestBid?.price ?? 0) + (state.book.bestAsk?.price ?? 0)
    return spell(state).number(sum * 5, state.instrument.priceScale + 1)
  }

  // MARK: - Questions

  /// The answer to a question; nil if it is not known.
  func info(_ request: ClientMessage) -> JSONText? {
    switch request["type"].text {
    case "meta": return perpetuals
    case "spotMeta": return spots
    case "metaAndAssetCtxs": return "[\(perpetuals),[\(contexts(isSpot: false))]]"
    case "spotMetaAndAssetCtxs": return "[\(spots),[\(contexts(isSpot: true))]]"
    // The venue's own perpetuals are the first, and nobody has deployed others.
    case "perpDexs": return "[null]"
    case "allMids":
      return "{\(JSONText.list(market.instruments) { "\(json: $0.instrument.venueSymbol):\(middle($0))" })}"
    case "l2Book": return index(of: request["coin"].text).map { bookData($0, isFast: false) }
    default: return nil
    }
  }

  private var perpetuals: JSONText {
    let rows = JSONText.list(states(isSpot: false).map(\.instrument)) { instrument in
      #"{"szDecimals":\#(instrument.sizeScale),"name":\#(json: instrument.venueSymbol),"maxLeverage":40}"#
    }
    return #"{"universe":[\#(rows)]}"#
  }

  /// In the order of the list; those of spot name their market.
  private func contexts(isSpot: Bool) -> JSONText {
    .list(states(isSpot: isSpot)) { state in
      let coin: JSONText = isSpot ? #","coin":\#(json: state.instrument.venueSymbol)"# : ""
      return "{\(figures(state))\(coin)}"
    }
  }

  /// Tokens by the order of the listing, the quote first.
  private var spots: JSONText {
    let spots = Array(states(isSpot: true).map(\.instrument).enumerated())
    let tokens = JSONText.list(spots) { token, spot in
      #"""
      {"name":\#(json: spot.base),"szDecimals":\#(spot.sizeScale),"weiDecimals":8,"index":\#(token + 1),\#
      "tokenId":"0xc4bf","isCanonical":false}
      """#
    }
    let universe = JSONText.list(spots) { token, spot in
      #"{"tokens":[\#(token + 1),0],"name":\#(json: spot.venueSymbol),"index":\#(token),"isCanonical":false}"#
    }
    return #"""
      {"tokens":[{"name":"USDC","szDecimals":8,"weiDecimals":8,"index":0,"tokenId":"0x6d1e",\#
      "isCanonical":true}\#(spots.isEmpty ? "" : ",")\#(tokens)],"universe":[\#(universe)]}
      """#
  }

  // MARK: - Candles

  private static let candleLimit = 5_000

  /// Objects, the oldest first, of the newest 5,000 bars only.
  func candles(_ request: ClientMessage) -> SimulatedResponse {
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(20, at: now) else { return SimulatedResponse(status: 429, "null") }
    let (coin, name) = (request["coin"].text, request["interval"].text)
    guard let index = index(of: coin),
      let interval = CandleInterval.named(name, ["1m", "5m", "15m", "1h", "4h", "1d"])
    else { return SimulatedResponse(status: 500, "null") }
    func time(_ name: String) -> Timestamp? {
      request[name].integer.map { SimulatedRequest.time($0, Microseconds.millisecond) }
    }
    // The bar that the start is in is among them.
    let window = CandleWindow(
      from: interval.opening(time("startTime") ?? Timestamp(rawValue: 0)), to: time("endTime") ?? now,
      limit: Self.candleLimit, depth: Self.candleLimit - 1)
    let rows = CandleRows(state(index), interval, window, now: now, fault: fault)
    // Another one for every 60 rows: paid afterwards, or not at all.
    _ = candleBudget.take(Double(rows.candles.count / 60), at: now)
    // The venue publishes a bar without trades late.
    let recent = interval.opening(now) - 2 * interval.length
    let told = rows.filtered { $0.bar.trades > 0 || $0.start < recent }
    let list = JSONText.rows(told, Self.facts.spelling) { bar in
      #"""
      {"t":\#(bar.milliseconds),"T":\#(bar.lastMillisecond),"s":\#(json: coin),"i":\#(json: name),"o":\#(bar.open),\#
      "c":\#(bar.close),"h":\#(bar.high),"l":\#(bar.low),"v":\#(bar.volume),"n":\#(bar.trades)}
      """#
    }
    return SimulatedResponse("[\(list)]")
  }
}
