import Bytes

/// A client's request to Advanced Trade: one channel, and the products it is for.
struct CoinbaseAdvancedRequest {
  /// Products of one request; further ones are ignored.
  static let productLimit = 1_000

  var type = ""
  var channel = ""
  var products: [String] = []

  init(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "type") {
        type = try json.decoded(try json.string())
      } else if json.equals(key, "channel") {
        channel = try json.decoded(try json.string())
      } else if json.equals(key, "product_ids") {
        try json.arrayStart()
        while try json.nextElement() {
          let product = try json.decoded(try json.string())
          if products.count < Self.productLimit { products.append(product) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}
