import Bytes
import MarketData

/// Reading Coinbase's lists: products, and the 24 h figures of all of them.
extension Coinbase {
  /// `[{"id":"BTC-USD","base_currency":…,"quote_currency":…,"quote_increment":"0.01","base_increment":…,"status":"online",…},…]`
  func readProducts(_ body: RawSpan) throws(FeedError) -> [ListedMarket] {
    var reader = FieldReader(body)
    reader.field = "products"
    return try reader.markets(readProduct)
  }

  private func readProduct(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket {
    var id = ""
    var base = ""
    var quote = ""
    // Whether `status` is `online` and no flag keeps orders from being matched.
    var isTrading = true
    // Digits of an increment that are only padding do not count.
    var price: Decimal64?
    var size: Decimal64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "id") {
        id = try reader.decodedString("id")
      } else if reader.equals(key, "base_currency") {
        base = try reader.decodedString("base_currency")
      } else if reader.equals(key, "quote_currency") {
        quote = try reader.decodedString("quote_currency")
      } else if reader.equals(key, "status"), reader.peek() == .string {
        let status = try reader.string("status")
        if !reader.equals(status, "online") { isTrading = false }
      } else if reader.equals(key, "trading_disabled") || reader.equals(key, "cancel_only")
        || reader.equals(key, "post_only") || reader.equals(key, "auction_mode"), reader.peek() == .bool
      {
        if try reader.bool("trading_disabled") { isTrading = false }
      } else if reader.equals(key, "quote_increment") {
        price = try reader.decimal64("quote_increment")
      } else if reader.equals(key, "base_increment") {
        size = try reader.decimal64("base_increment")
      } else {
        try reader.skipValue()
      }
    }
    guard !id.isEmpty, !base.isEmpty, !quote.isEmpty else {
      throw FeedError.missing("id, base_currency or quote_currency", in: "product")
    }
    return ListedMarket(
      venueSymbol: id, symbol: FeedSymbol(base: base, quote: quote), priceIncrement: price, sizeIncrement: size,
      state: isTrading ? .trading : .halted)
  }

  /// `{"BTC-USD":{"stats_24hour":{"last":"…","volume":"…",…},…},…}`; `volume` is in base units, and the last price
  /// makes it one of the quote currency.
  func readStatistics(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    try reader.objectStart()
    while let product = try reader.nextKey() {
      let name = reader.plainText(product)
      var last: Decimal64?
      var volume: Decimal64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        guard reader.equals(key, "stats_24hour"), reader.peek() == .object else {
          try reader.skipValue()
          continue
        }
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "last") {
            last = try reader.statistic("last")
          } else if reader.equals(key, "volume") {
            volume = try reader.statistic("volume")
          } else {
            try reader.skipValue()
          }
        }
      }
      try MarketList.note(
        volume.flatMap { volume in last.flatMap { volume.product(with: $0) } }, of: name, in: &volumes)
    }
  }
}
