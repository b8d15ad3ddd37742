import Bytes
import MarketData

/// Holdings and positions at one moment, without the transactions that led to them.
package struct PortfolioContents: Sendable, Hashable {
  /// A quantity of an asset.
  package struct Holding: Sendable, Hashable {
    package var asset: String
    /// Above 0.
    package var quantity: Decimal64
    /// The cost of the whole quantity, in the portfolio's currency; nil: unknown.
    package var cost: Decimal64?

    package init(asset: String, quantity: Decimal64, cost: Decimal64? = nil) {
      self.asset = asset
      self.quantity = quantity
      self.cost = cost
    }
  }

  /// A leveraged position in one market.
  package struct Position: Sendable, Hashable {
    package var symbol: String
    package var side: PositionReading.Side
    /// In base units, above 0.
    package var size: Decimal64
    /// 1 to 1,000.
    package var leverage: Decimal64
    /// Above 0.
    package var entry: Decimal64
    /// The margin that the venue requires at least, as a fraction of the value: above 0, below 1. Nil: unknown.
    package var maintenance: Decimal64?

    package init(
      symbol: String, side: PositionReading.Side, size: Decimal64, leverage: Decimal64, entry: Decimal64,
      maintenance: Decimal64? = nil
    ) {
      self.symbol = symbol
      self.side = side
      self.size = size
      self.leverage = leverage
      self.entry = entry
      self.maintenance = maintenance
    }
  }

  /// The most holdings.
  package static let holdingLimit = 100
  /// The most positions.
  package static let positionLimit = 50

  /// The currency of costs and, by default, of the report.
  package var currency: String
  package var holdings: [Holding]
  package var positions: [Position]

  package init(currency: String, holdings: [Holding] = [], positions: [Position] = []) {
    self.currency = currency
    self.holdings = holdings
    self.positions = positions
  }

  /// The cost of a valuation, in lines.
  package var lines: Int { holdings.count + positions.count }

  /// Whether `name` can be an asset: 1 to 24 visible ASCII characters without `:`, as in symbols.
  package static func isAsset(_ name: String) -> Bool {
    (1...24).contains(name.utf8.count)
      && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "\"") }
  }
}

/// A mistake in the JSON of a portfolio or a transaction.
package struct PortfolioFormError: Error, Sendable, Equatable {
  /// The field, as in `holdings[2].quantity`.
  package var field: String
  /// What the value must be.
  package var reason: String

  package init(_ field: String, _ reason: String) {
    self.field = field
    self.reason = reason
  }
}

/// Reads holdings, positions and transactions from JSON. Unknown and repeated fields are errors; each error names its
/// field.
package enum PortfolioForm {
  /// `[{"asset":"BTC","quantity":"0.5","cost":"20000"}]`, each asset once.
  package static func holdings(_ text: RawSpan) throws(PortfolioFormError) -> [PortfolioContents.Holding] {
    var seen: Set<String> = []
    return try list(text, "holdings", limit: PortfolioContents.holdingLimit) {
      (object, path) throws(PortfolioFormError) in
      try object.check(["asset", "quantity", "cost"], path)
      let asset = try object.asset(path)
      guard seen.insert(asset).inserted else {
        throw PortfolioFormError(path + ".asset", "\(asset) appears twice")
      }
      return PortfolioContents.Holding(
        asset: asset, quantity: try object.positive("quantity", path), cost: try object.number("cost", path))
    }
  }

  /// `[{"symbol":"deribit:BTC-PERPETUAL","side":"long","size":"0.1","leverage":"10","entry":"64000",
  ///   "maintenance":"0.005"}]`
  package static func positions(_ text: RawSpan) throws(PortfolioFormError) -> [PortfolioContents.Position] {
    try list(text, "positions", limit: PortfolioContents.positionLimit) { (object, path) throws(PortfolioFormError) in
      try object.check(["symbol", "side", "size", "leverage", "entry", "maintenance"], path)
      guard let symbol = try object.string("symbol", path), (3...80).contains(symbol.utf8.count), symbol.contains(":")
      else { throw PortfolioFormError(path + ".symbol", "a symbol, as in kraken:BTC-USD") }
      guard let side = try object.string("side", path).flatMap(PositionReading.Side.init) else {
        throw PortfolioFormError(path + ".side", "long or short")
      }
      let leverage = try object.number("leverage", path) ?? Decimal64(mantissa: 1, scale: 0)
      let one = WideDecimal(1)
      guard (try? WideDecimal.isLess(WideDecimal(leverage), one)) == false,
        (try? WideDecimal.isLess(WideDecimal(1_000), WideDecimal(leverage))) == false
      else { throw PortfolioFormError(path + ".leverage", "1 to 1000") }
      let maintenance = try object.number("maintenance", path)
      if let maintenance {
        guard maintenance.mantissa > 0, (try? WideDecimal.isLess(WideDecimal(maintenance), one)) == true else {
          throw PortfolioFormError(path + ".maintenance", "a fraction above 0 and below 1")
        }
      }
      return PortfolioContents.Position(
        symbol: symbol, side: side, size: try object.positive("size", path), leverage: leverage,
        entry: try object.positive("entry", path), maintenance: maintenance)
    }
  }

  /// `{"kind":"buy","asset":"BTC","quantity":"0.5","price":"40000","fee":"10","time":1795348800000000}`
  /// - Parameter now: the default time of a transaction; a later time is an error.
  package static func transaction(_ text: RawSpan, now: Timestamp) throws(PortfolioFormError) -> PortfolioTransaction {
    let object: FormObject
    do {
      var json = JSONScanner(text)
      object = try FormObject(&json)
      try json.end()
    } catch {
      throw PortfolioFormError("body", "one JSON object: see byte \(error.offset)")
    }
    try object.check(["kind", "asset", "quantity", "price", "fee", "time"], "")
    guard let kind = try object.string("kind", "").flatMap(PortfolioTransaction.Kind.init) else {
      throw PortfolioFormError(
        "kind", "one of " + PortfolioTransaction.Kind.allCases.map(\.rawValue).joined(separator: ", "))
    }
    let asset = try object.asset("")
    var time = now
    if let given = try object.number("time", "") {
      guard given.scale == 0, (0...now.microseconds).contains(given.mantissa) else {
        throw PortfolioFormError("time", "microseconds since 1970, not later than now")
      }
      time = Timestamp(microseconds: given.mantissa)
    }
    return PortfolioTransaction(
      kind, asset, quantity: try object.positive("quantity", ""), price: try object.number("price", ""),
      fee: try object.number("fee", ""), time: time)
  }

  private static func list<Element>(
    _ text: RawSpan, _ name: String, limit: Int,
    _ read: (FormObject, String) throws(PortfolioFormError) -> Element
  ) throws(PortfolioFormError) -> [Element] {
    var objects: [FormObject] = []
    do {
      var json = JSONScanner(text)
      try json.arrayStart()
      while try json.nextElement() {
        guard objects.count < limit else { throw PortfolioFormError(name, "at most \(limit)") }
        objects.append(try FormObject(&json))
      }
      try json.end()
    } catch let error as PortfolioFormError {
      throw error
    } catch {
      throw PortfolioFormError(name, "an array of objects")
    }
    var elements: [Element] = []
    for (index, object) in objects.enumerated() { elements.append(try read(object, "\(name)[\(index)]")) }
    return elements
  }
}

/// The fields of one small JSON object, not parsed yet.
private struct FormObject {
  private enum Value {
    case string(String)
    case number([UInt8])
    case other
  }
  private var fields: [(name: String, value: Value)] = []

  init(_ json: inout JSONScanner) throws(JSONError) {
    try json.objectStart()
    while let key = try json.nextKey() {
      let name = try json.decoded(key)
      switch json.peek() {
      case .string:
        let slice = try json.string()
        fields.append((name, .string(try json.decoded(slice))))
      case .number:
        let slice = try json.number()
        fields.append((name, .number(json.text(slice).withUnsafeBytes { Array($0) })))
      default:
        try json.skipValue()
        fields.append((name, .other))
      }
    }
  }

  func check(_ known: [String], _ path: String) throws(PortfolioFormError) {
    var seen: Set<String> = []
    for field in fields {
      let prefix = path.isEmpty ? "" : path + "."
      guard known.contains(field.name) else {
        let name = field.name.isEmpty ? "\"\"" : field.name.prefix(40)
        throw PortfolioFormError(prefix + name, "is not a field; the fields are: " + known.joined(separator: ", "))
      }
      guard seen.insert(field.name).inserted else { throw PortfolioFormError(prefix + field.name, "appears twice") }
    }
  }

  private static func name(_ field: String, _ path: String) -> String { path.isEmpty ? field : "\(path).\(field)" }

  func string(_ name: String, _ path: String) throws(PortfolioFormError) -> String? {
    guard let value = fields.first(where: { $0.name == name })?.value else { return nil }
    guard case .string(let text) = value else { throw PortfolioFormError(Self.name(name, path), "a string") }
    return text
  }

  func asset(_ path: String) throws(PortfolioFormError) -> String {
    guard let asset = try string("asset", path), PortfolioContents.isAsset(asset) else {
      throw PortfolioFormError(Self.name("asset", path), "an asset as in symbols: BTC, EUR")
    }
    return asset
  }

  /// A number of 0 or more, with or without quotes.
  func number(_ name: String, _ path: String) throws(PortfolioFormError) -> Decimal64? {
    guard let value = fields.first(where: { $0.name == name })?.value else { return nil }
    let bytes: [UInt8]
    switch value {
    case .string(let text): bytes = Array(text.utf8)
    case .number(let text): bytes = text
    case .other: throw PortfolioFormError(Self.name(name, path), "a decimal number")
    }
    if let number = Self.parse(bytes), number.mantissa >= 0 { return number }
    throw PortfolioFormError(
      Self.name(name, path),
      "a decimal number, 0 or more, of at most 18 digits, plainly written: \"0.5\", not \"5e-1\", \"+0.5\" or \".5\"")
  }

  private static func parse(_ text: [UInt8]) -> Decimal64? { try? DecimalText.parsePlain(text.span.bytes) }

  func positive(_ name: String, _ path: String) throws(PortfolioFormError) -> Decimal64 {
    guard let number = try number(name, path), number.mantissa > 0 else {
      throw PortfolioFormError(Self.name(name, path), "a decimal number above 0")
    }
    return number
  }
}
