import Bytes

/// A client's request to Coinbase Exchange: channels, each with the products it is for.
struct CoinbaseRequest {
  /// Names of one list; further ones are ignored.
  static let nameLimit = 1_000

  var type = ""
  var channels: [(name: String, products: [String])] = []

  init(_ text: RawSpan) throws(JSONError) {
    var common: [String] = []
    var list: [(name: String, products: [String]?)] = []
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "type") {
        type = try json.decoded(try json.string())
      } else if json.equals(key, "product_ids") {
        common = try Self.names(&json)
      } else if json.equals(key, "channels") {
        try json.arrayStart()
        while try json.nextElement() {
          let channel = try Self.channel(&json)
          if list.count < Self.nameLimit { list.append(channel) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
    // A channel's own products stand beside those of the whole request.
    channels = list.map { item in
      (item.name, common + (item.products ?? []).filter { !common.contains($0) })
    }
  }

  private static func names(_ json: inout JSONScanner) throws(JSONError) -> [String] {
    var names: [String] = []
    try json.arrayStart()
    while try json.nextElement() {
      let name = try json.decoded(try json.string())
      if names.count < nameLimit { names.append(name) }
    }
    return names
  }

  private static func channel(_ json: inout JSONScanner) throws(JSONError) -> (name: String, products: [String]?) {
    guard json.peek() == .object else { return (try json.decoded(try json.string()), nil) }
    var name = ""
    var products: [String]?
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "name") {
        name = try json.decoded(try json.string())
      } else if json.equals(key, "product_ids") {
        products = try names(&json)
      } else {
        try json.skipValue()
      }
    }
    return (name, products)
  }
}
