import Bytes
import MarketData

/// Reading Coinbase's lists: products, and the 24 h figures of all of them.
extension CoinbaseHandler {
  func readProducts(_ body: RawSpan) throws(FeedError) -> [String: CoinbaseProduct] {
    var list: [String: CoinbaseProduct] = [:]
    var reader = FieldReader(body)
    reader.field = "products"
    try reader.arrayStart()
    while try reader.nextElement() {
      var product = CoinbaseProduct()
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "id") {
          product.id = try reader.decodedString("id")
        } else if reader.equals(key, "base_currency") {
          product.base = try reader.decodedString("base_currency")
        } else if reader.equals(key, "quote_currency") {
          product.quote = try reader.decodedString("quote_currency")
        } else if reader.equals(key, "status"), reader.peek() == .string {
          let status = try reader.string("status")
          if !reader.equals(status, "online") { product.isTrading = false }
        } else if reader.equals(key, "trading_disabled") || reader.equals(key, "cancel_only")
          || reader.equals(key, "post_only") || reader.equals(key, "auction_mode"), reader.peek() == .bool
        {
          if try reader.bool("trading_disabled") { product.isTrading = false }
        } else if reader.equals(key, "quote_increment") {
          (product.priceIncrement, product.priceScale) = try increment(&reader, "quote_increment")
        } else if reader.equals(key, "base_increment") {
          (product.sizeIncrement, product.sizeScale) = try increment(&reader, "base_increment")
        } else {
          try reader.skipValue()
        }
      }
      guard !product.id.isEmpty else { throw FeedError.missing("id", in: "product") }
      list[product.id] = product
      guard list.count <= 100_000 else { throw FeedError(.shape, "product list of more than 100,000 products") }
    }
    return list
  }

  /// `{"BTC-USD":{"stats_24hour":{"last":"…","volume":"…",…},…},…}`; `volume` is in base units, and the last price makes it one of the
  /// quote currency.
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
            last = try statistic(&reader, "last")
          } else if reader.equals(key, "volume") {
            volume = try statistic(&reader, "volume")
          } else {
            try reader.skipValue()
          }
        }
      }
      try note(volume.flatMap { volume in last.flatMap { volume.product(with: $0) } }, of: name, in: &volumes)
    }
  }

  /// `"0.01"` and the two digits it is printed with; digits of an increment that are only padding do not count.
  private func increment(
    _ reader: inout FieldReader, _ field: StaticString
  ) throws(FeedError) -> (Decimal64, UInt8) {
    let value = try reader.decimal64(field)
    return (value, value.scale)
  }
}
