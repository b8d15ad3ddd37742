import Bytes
import MarketData

/// Reading OKX's lists: instruments, and the 24 h figures of all of them.
extension OKX {
  /// `{"code":"0","msg":"","data":[{…}]}`
  func readMarkets(_ body: RawSpan) throws(FeedError) -> [ListedMarket] {
    var reader = FieldReader(body)
    var code = ""
    var message = ""
    var list: [ListedMarket]?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code") {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "msg") {
        message = try reader.decodedString("msg")
      } else if reader.equals(key, "data"), reader.peek() == .array {
        list = try reader.markets(readMarket)
      } else {
        try reader.skipValue()
      }
    }
    guard code == "0" else { throw FeedError(.refused, "instruments: code \(code), \(message)") }
    guard let list else { throw FeedError.missing("data", in: "instruments") }
    return list
  }

  /// `{"code":"0","data":[{"instType":…,"instId":…,"last":…,"volCcy24h":…},…]}`; `volCcy24h` is in the quote currency
  /// on spot and in base units on contracts, where the last price makes it one of the quote currency.
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    var code = ""
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code") {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "data"), reader.peek() == .array {
        try reader.arrayStart()
        while try reader.nextElement() { try readVolume(&reader, into: &volumes) }
      } else {
        try reader.skipValue()
      }
    }
    guard code == "0" else { throw FeedError(.refused, "tickers: code \(code)") }
  }

  private func readVolume(
    _ reader: inout FieldReader, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    var name = ""
    var isSpot = false
    var last: Decimal64?
    var volume: Decimal64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "instId") {
        name = try reader.decodedString("instId")
      } else if reader.equals(key, "instType") {
        let type = try reader.string("instType")
        isSpot = reader.equals(type, "SPOT")
      } else if reader.equals(key, "last") {
        last = try reader.statistic("last")
      } else if reader.equals(key, "volCcy24h") {
        volume = try reader.statistic("volCcy24h")
      } else {
        try reader.skipValue()
      }
    }
    if !isSpot { volume = volume.flatMap { volume in last.flatMap { volume.product(with: $0) } } }
    try MarketList.note(volume, of: name, in: &volumes)
  }

  /// By its name, which says all that is needed: `BTC-USDT`, `BTC-USDT-SWAP`, `BTC-USDT-261225`. Nil for options and
  /// what else has another form of name.
  private func readMarket(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket? {
    var name = ""
    var type = ""
    var contractType = ""
    var value: Decimal64?
    var multiplier: Decimal64?
    var price: Decimal64?
    var size: Decimal64?
    var isTrading = true
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "instId") {
        name = try reader.decodedString("instId")
      } else if reader.equals(key, "instType") {
        type = try reader.decodedString("instType")
      } else if reader.equals(key, "ctType") {
        contractType = try reader.decodedString("ctType")
      } else if reader.equals(key, "ctVal") {
        value = try reader.statistic("ctVal")
      } else if reader.equals(key, "ctMult") {
        multiplier = try reader.statistic("ctMult")
      } else if reader.equals(key, "state") {
        let state = try reader.string("state")
        isTrading = reader.equals(state, "live")
      } else if reader.equals(key, "tickSz") {
        price = try reader.statistic("tickSz")
      } else if reader.equals(key, "lotSz") {
        size = try reader.statistic("lotSz")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("instId", in: "instrument") }
    let parts = name.split(separator: "-").map(String.init)
    guard (2...3).contains(parts.count) else { return nil }
    let kind: Instrument.Kind
    switch (parts.count, type) {
    case (2, "SPOT"): kind = .spot
    case (3, "SWAP") where parts[2] == "SWAP": kind = .perpetual
    case (3, "FUTURES") where parts[2].utf8.count == 6: kind = .future(expiry: "20" + parts[2])
    default: return nil
    }
    var contract: Decimal64? = Decimal64(mantissa: 1, scale: 0)
    if kind != .spot {
      contract =
        contractType == "linear"
        ? value.flatMap { $0.multiplied(by: multiplier ?? Decimal64(mantissa: 1, scale: 0)) } : nil
    }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: parts[0], quote: parts[1], kind: kind), priceIncrement: price,
      sizeIncrement: size, contractSize: contract, state: isTrading ? .trading : .halted)
  }
}
