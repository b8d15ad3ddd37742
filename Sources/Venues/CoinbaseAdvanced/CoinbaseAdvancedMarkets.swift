import Bytes
import MarketData

/// Reading Advanced Trade's list of products.
extension CoinbaseAdvanced {
  /// The spot products of `{"products":[…]}`.
  func readProducts(_ body: RawSpan) throws(FeedError) -> [ListedMarket] {
    var reader = FieldReader(body)
    var list: [ListedMarket]?
    reader.field = "products"
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "products"), reader.peek() == .array {
        list = try reader.markets(readProduct)
      } else {
        try reader.skipValue()
      }
    }
    guard let list else { throw FeedError.missing("products", in: "product list") }
    return list
  }

  /// Nil for what is no spot product, and for one that was delisted. A product whose book is another's has that one's
  /// name.
  private func readProduct(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket? {
    var id = ""
    var alias = ""
    var isSpot = true
    var isDelisted = false
    // Whether no flag keeps orders from being matched.
    var isTrading = true
    var volume: Decimal64?
    var price: Decimal64?
    var quote: Decimal64?
    var size: Decimal64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "product_id") {
        id = try reader.decodedString("product_id")
      } else if reader.equals(key, "alias"), reader.peek() == .string {
        alias = try reader.decodedString("alias")
      } else if reader.equals(key, "product_type"), reader.peek() == .string {
        isSpot = reader.equals(try reader.string("product_type"), "SPOT")
      } else if reader.equals(key, "status"), reader.peek() == .string {
        isDelisted = reader.equals(try reader.string("status"), "delisted")
      } else if reader.equals(key, "approximate_quote_24h_volume") {
        volume = try reader.statistic("approximate_quote_24h_volume")
      } else if reader.equals(key, "trading_disabled") || reader.equals(key, "is_disabled")
        || reader.equals(key, "view_only") || reader.equals(key, "cancel_only") || reader.equals(key, "post_only")
        || reader.equals(key, "auction_mode"), reader.peek() == .bool
      {
        if try reader.bool("trading_disabled") { isTrading = false }
      } else if reader.equals(key, "price_increment") {
        price = try increment(&reader, "price_increment")
      } else if reader.equals(key, "quote_increment") {
        quote = try increment(&reader, "quote_increment")
      } else if reader.equals(key, "base_increment") {
        size = try increment(&reader, "base_increment")
      } else {
        try reader.skipValue()
      }
    }
    guard !id.isEmpty else { throw FeedError.missing("product_id", in: "product") }
    guard isSpot, !isDelisted, let symbol = FeedSymbol(id) else { return nil }
    return ListedMarket(
      venueSymbol: alias.isEmpty ? id : alias, symbol: symbol, priceScale: max(price?.scale ?? 0, quote?.scale ?? 0),
      priceIncrement: price ?? quote, sizeIncrement: size, state: isTrading ? .trading : .halted, quoteVolume: volume)
  }

  /// Nil for what is no number above zero.
  private func increment(_ reader: inout FieldReader, _ field: StaticString) throws(FeedError) -> Decimal64? {
    guard reader.peek() == .string else {
      try reader.skipValue()
      return nil
    }
    let slice = try reader.string(field)
    guard let value = try? DecimalText.parse(reader.text(slice)), value.mantissa > 0,
      value.scale <= InstrumentTable.widestScale
    else { return nil }
    return value
  }
}
