import Bytes
import MarketData

/// Reading Bybit's lists: instruments, and the 24 h figures of all of them.
extension Bybit {
  /// `{"retCode":0,"retMsg":"OK","result":{"category":…,"nextPageCursor":…,"list":[…]}}`
  func readMarkets(_ body: RawSpan) throws(FeedError) -> (markets: [ListedMarket], cursor: String) {
    var reader = FieldReader(body)
    var code: Int64 = 0
    var message = ""
    var list: [ListedMarket]?
    var cursor = ""
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "retCode") {
        code = try reader.int64("retCode")
      } else if reader.equals(key, "retMsg") {
        message = try reader.decodedString("retMsg")
      } else if reader.equals(key, "result"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "nextPageCursor"), reader.peek() == .string {
            cursor = try reader.decodedString("nextPageCursor")
          } else if reader.equals(key, "list"), reader.peek() == .array {
            list = try reader.markets(readMarket)
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard code == 0 else { throw FeedError(.refused, "instruments-info: code \(code), \(message)") }
    guard let list else { throw FeedError.missing("list", in: "instruments-info") }
    return (list, cursor)
  }

  /// `{"retCode":0,"retMsg":"OK","result":{"category":…,"list":[{"symbol":"BTCUSDT","turnover24h":"…",…},…]}}`
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    var code: Int64 = 0
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "retCode") {
        code = try reader.int64("retCode")
      } else if reader.equals(key, "result"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "list"), reader.peek() == .array {
            try reader.volumes(of: "symbol", "turnover24h", into: &volumes)
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard code == 0 else { throw FeedError(.refused, "tickers: code \(code)") }
  }

  /// Nil for a kind that is not carried.
  private func readMarket(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket? {
    var name = ""
    var base = ""
    var quote = ""
    var contract = ""
    // The others are `PreLaunch`, `Delivering`, `Closed`.
    var isTrading = true
    var delivery: Int64 = 0
    var price: Decimal64?
    var size: Decimal64?
    var priceScale: UInt8 = 0
    var sizeScale: UInt8 = 0
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        name = try reader.decodedString("symbol")
      } else if reader.equals(key, "baseCoin") {
        base = try reader.decodedString("baseCoin")
      } else if reader.equals(key, "quoteCoin") {
        quote = try reader.decodedString("quoteCoin")
      } else if reader.equals(key, "contractType") {
        contract = try reader.decodedString("contractType")
      } else if reader.equals(key, "status") {
        let status = try reader.string("status")
        isTrading = reader.equals(status, "Trading")
      } else if reader.equals(key, "deliveryTime"), reader.peek() == .string {
        delivery = Int64(try reader.decodedString("deliveryTime")) ?? 0
      } else if reader.equals(key, "priceFilter") {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "tickSize") {
            (price, priceScale) = try reader.step("tickSize")
          } else {
            try reader.skipValue()
          }
        }
      } else if reader.equals(key, "lotSizeFilter") {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          // `qtyStep` on linear, `basePrecision` on spot.
          if reader.equals(key, "qtyStep") || reader.equals(key, "basePrecision") {
            (size, sizeScale) = try reader.step("qtyStep")
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("symbol", in: "instrument") }
    guard !base.isEmpty, !quote.isEmpty else { return nil }
    let kind: Instrument.Kind
    if part == "spot" {
      kind = .spot
    } else if contract == "LinearPerpetual" {
      kind = .perpetual
    } else if contract == "LinearFutures", let day = VenueTime.epoch(delivery).map(VenueTime.day) {
      kind = .future(expiry: day)
    } else {
      return nil
    }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote, kind: kind), priceScale: priceScale,
      sizeScale: sizeScale, priceIncrement: price, sizeIncrement: size, state: isTrading ? .trading : .halted)
  }
}
