import Bytes
import MarketData
import PubSub

/// What a client asks for: an element of `options`.
struct TardisOptions: Equatable {
  var exchange = ""
  /// Nil: all of the exchange.
  var symbols: [String]?
  var dataTypes: [String] = []
  var sendsDisconnects = false
  /// Of a replay.
  var from: String?
  var to: String?

  /// The most symbols and data types of an element.
  static let listLimit = 1_000
  /// The most elements. Each looks at all markets.
  static let elementLimit = 32

  struct Problem: Error, Equatable { let words: String }

  /// Reads an object or an array of them.
  static func parse(_ text: String) throws(Problem) -> [TardisOptions] {
    let bytes = Array(text.utf8)
    var json = JSONScanner(bytes.span.bytes)
    var all: [TardisOptions] = []
    do throws(JSONError) {
      if json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          let options = try read(&json)
          if all.count < elementLimit { all.append(options) }
        }
      } else {
        all = [try read(&json)]
      }
      try json.end()
    } catch {
      throw Problem(words: "Error: options are no JSON, or not an object or a list of them")
    }
    guard !all.isEmpty else { throw Problem(words: "Error: options name no exchange") }
    return all
  }

  private static func read(_ json: inout JSONScanner) throws(JSONError) -> TardisOptions {
    var options = TardisOptions()
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "exchange"), json.peek() == .string {
        let text = try json.string()
        options.exchange = try json.decoded(text)
      } else if json.equals(key, "symbols"), json.peek() == .array {
        options.symbols = try list(&json)
      } else if json.equals(key, "dataTypes"), json.peek() == .array {
        options.dataTypes = try list(&json)
      } else if json.equals(key, "withDisconnectMessages"), json.peek() == .bool {
        options.sendsDisconnects = try json.bool()
      } else if json.equals(key, "from"), json.peek() == .string {
        let text = try json.string()
        options.from = try json.decoded(text)
      } else if json.equals(key, "to"), json.peek() == .string {
        let text = try json.string()
        options.to = try json.decoded(text)
      } else {
        try json.skipValue()
      }
    }
    return options
  }

  private static func list(_ json: inout JSONScanner) throws(JSONError) -> [String] {
    var list: [String] = []
    try json.arrayStart()
    while try json.nextElement() {
      let text = try json.string()
      let item = try json.decoded(text)
      if list.count < listLimit { list.append(item) }
    }
    return list
  }
}

extension TardisOptions {
  func namedExchange() throws(Problem) -> TardisExchange {
    guard let exchange = TardisExchange.all.first(where: { $0.name == self.exchange }) else {
      throw Problem(words: "Error: unknown exchange: \(self.exchange.prefix(40))")
    }
    return exchange
  }

  /// The streams that the element asks for.
  func keys(of exchange: TardisExchange, in directory: Directory, _ grant: Grant) throws(Problem) -> [StreamKey] {
    let known = exchange.markets(in: directory, grant)
    var wanted: [(symbol: String, instrument: Instrument)] = []
    if let symbols {
      for symbol in symbols {
        let name = symbol.uppercased()
        let instrument = known[name] ?? known[name.hasPrefix("BTC/") ? "XBT/" + name.dropFirst(4) : name]
        guard let instrument else { throw Problem(words: "Error: \(exchange.name) has no \(symbol.prefix(40))") }
        wanted.append((name, instrument))
      }
    } else {
      wanted = known.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
    guard !dataTypes.isEmpty else { throw Problem(words: "Error: no dataTypes") }
    var keys: [StreamKey] = []
    for text in dataTypes {
      guard let type = TardisDataType(text) else {
        throw Problem(words: "Error: invalid data type: \(text.prefix(60))")
      }
      guard grant.channels.contains(type.channel) else {
        throw Problem(words: "Error: \(text.prefix(60)): \(DialectMarkets.Refusal.forbidden.words)")
      }
      for (symbol, instrument) in wanted {
        keys.append(type.key(of: instrument, TardisHead(symbol: symbol, exchange: exchange.name)))
      }
    }
    return keys
  }
}
