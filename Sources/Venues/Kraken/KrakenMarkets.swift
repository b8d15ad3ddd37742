import Bytes
import MarketData

/// Reading Kraken's list of pairs, which is a channel, and the 24 h figures of all of them, which come by REST.
extension Kraken {
  /// `{"assets":[…],"pairs":[{"symbol":…,"price_precision":…,"qty_precision":…,…}]}`: an object, not an array.
  func readInstruments(
    _ reader: inout FieldReader, isSnapshot: Bool, _ hearing: inout Hearing
  ) throws(FeedError) {
    // Changes of pairs while subscribed are changes of status or limits; a new precision shows in the values
    // themselves.
    guard isSnapshot else { return }
    var markets: [ListedMarket] = []
    reader.field = "data"
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "pairs") { markets = try reader.markets(readPair) } else { try reader.skipValue() }
    }
    hearing.report(.listed(markets))
  }

  /// Nil for a name that is no pair of currencies. Orders are matched while the status is `online`, `limit_only` or
  /// `reduce_only`; the others are `cancel_only`, `post_only`, `work_in_progress`, `delisted`, `maintenance`.
  private func readPair(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket? {
    var name = ""
    var isTrading = true
    var priceScale: UInt8 = 0
    var sizeScale: UInt8 = 0
    var price: Decimal64?
    var size: Decimal64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        name = try reader.decodedString("symbol")
      } else if reader.equals(key, "status"), reader.peek() == .string {
        let status = try reader.string("status")
        isTrading =
          reader.equals(status, "online") || reader.equals(status, "limit_only") || reader.equals(status, "reduce_only")
      } else if reader.equals(key, "price_precision") {
        priceScale = UInt8(clamping: try reader.int64("price_precision"))
      } else if reader.equals(key, "qty_precision") {
        sizeScale = UInt8(clamping: try reader.int64("qty_precision"))
      } else if reader.equals(key, "price_increment") {
        price = try reader.statistic("price_increment")
      } else if reader.equals(key, "qty_increment") {
        size = try reader.statistic("qty_increment")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("symbol", in: "instrument pair") }
    let parts = name.split(separator: "/").map(String.init)
    guard parts.count == 2 else { return nil }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: parts[0], quote: parts[1]), priceScale: priceScale,
      sizeScale: sizeScale, priceIncrement: price, sizeIncrement: size, state: isTrading ? .trading : .halted)
  }

  /// First `{"error":[],"result":{"XXBTZUSD":{"wsname":"XBT/USD",…},…}}`, then
  /// `{"error":[],"result":{"XXBTZUSD":{"v":["today","24 h"], "p":["today","24 h"],…},…}}`: volume in base units and
  /// its average price.
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
        try MarketList.note(volume, of: known, in: &volumes)
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
        let value = try reader.statistic("24 h figure")
        if number == 1 { if isVolume { volume = value } else { price = value } }
        number += 1
      }
    }
    return volume.flatMap { volume in price.flatMap { volume.product(with: $0) } }
  }
}
