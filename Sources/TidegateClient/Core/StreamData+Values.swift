import Bytes
import Foundation

/// Reads the values of channels that do not belong to a single market.
extension JSONScanner {
  /// Any value, as its text.
  mutating func valueText() throws -> String {
    let slice = try rawValue()
    return text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// A list of strings.
  mutating func words(limit: Int) throws -> [String] {
    var words: [String] = []
    try list(limit: limit) { json in words.append(try json.word()) }
    return words
  }

  /// Calls `body` for each element of a list.
  mutating func list(limit: Int, _ body: (inout JSONScanner) throws -> Void) throws {
    var count = 0
    try arrayStart()
    while try nextElement() {
      guard count < limit else { throw MessageError.tooMany(offset: offset) }
      count += 1
      try body(&self)
    }
  }

  /// `{"from_id":"7","to_id":"9","count":3,…}`: trades that the gateway did not get.
  mutating func lostTrades() throws -> LostTrades {
    var lost = LostTrades()
    try object { key, json in
      if key == "count" { lost.count = Int(clamping: try json.int64()) } else { try json.skipValue() }
    }
    return lost
  }

  /// A field that only composites have, or an unknown one.
  mutating func compositePart(_ key: String, _ fields: inout CompositeFields) throws {
    switch key {
    case "venues": fields.venues = try words(limit: Composite.limit)
    case "absent": fields.absent = try absences()
    case "simulated": fields.isSimulated = try bool()
    default: try skipValue()
    }
  }

  /// `[{"venue":"bitstamp","reason":"stale"}]`
  mutating func absences() throws -> [Composite.Absence] {
    var absent: [Composite.Absence] = []
    try list(limit: Composite.limit) { json in
      var one = Composite.Absence(venue: "", reason: "")
      try json.object { key, json in
        switch key {
        case "venue": one.venue = try json.word()
        case "reason": one.reason = try json.word()
        default: try json.skipValue()
        }
      }
      absent.append(one)
    }
    return absent
  }

  mutating func rate() throws -> Rate {
    var rate = Rate(base: "", quote: "", state: .unavailable)
    try object { key, json in
      switch key {
      case "base": rate.base = try json.word()
      case "quote": rate.quote = try json.word()
      case "rate": rate.value = try json.exact()
      case "path": rate.path = try json.words(limit: Rate.pathLimit)
      case "state": rate.state = RateState(rawValue: try json.word())
      case "reason": rate.reason = try json.word()
      case "age_ms": rate.age = .milliseconds(try json.int64())
      case "simulated": rate.isSimulated = try json.bool()
      default: try json.skipValue()
      }
    }
    return rate
  }

  /// `{"number":3,"documents":[{"number":3,"time":…,"document":{…}}]}`, oldest first.
  mutating func documents() throws -> [TopicDocument] {
    var documents: [TopicDocument] = []
    try object { key, json in
      guard key == "documents" else { return try json.skipValue() }
      try json.list(limit: TopicDocument.limit) { json in
        let offset = json.offset
        var number: Int64 = 0
        var time: Date?
        var text: String?
        try json.object { key, json in
          switch key {
          case "number": number = try json.int64()
          case "time": time = try json.date()
          case "document": text = try json.valueText()
          default: try json.skipValue()
          }
        }
        // Without ascending numbers, the client could not tell which documents are missing.
        guard number > documents.last?.number ?? 0 else { throw MessageError.notANumber(offset: offset) }
        documents.append(
          TopicDocument(number: number, time: try needed(time, "time"), json: try needed(text, "document")))
      }
    }
    return documents
  }

  mutating func alertChange() throws -> AlertChange {
    var change = AlertChange()
    try object { key, json in
      switch key {
      case "kept": change.isKept = try json.bool()
      case "alerts": try json.list(limit: AlertList.limit) { json in change.alerts.append(try json.alert()) }
      case "removed": change.removed = try json.words(limit: AlertList.limit)
      // The newest firing of each rule is in the rule itself.
      default: try json.skipValue()
      }
    }
    return change
  }

  mutating func alert() throws -> Alert {
    var id: String?, name: String?, state: String?, rule: String?
    var created: Date?
    var revision: Int64?, firings: Int64?, acknowledged: Int64?
    var next: Date?, watchingFrom: Date?
    var firing: Alert.Firing?
    try object { key, json in
      switch key {
      case "id": id = try json.word()
      case "name": name = try json.word()
      case "state": state = try json.word()
      case "rule": rule = try json.valueText()
      case "created": created = try json.date()
      case "revision": revision = try json.int64()
      case "firings": firings = try json.int64()
      case "acknowledged": acknowledged = try json.int64()
      case "next": next = try json.date()
      case "watching_from": watchingFrom = try json.date()
      case "firing": firing = try json.firing()
      default: try json.skipValue()
      }
    }
    return Alert(
      id: try needed(id, "id"), name: try needed(name, "name"),
      state: AlertState(rawValue: try needed(state, "state")), rule: try needed(rule, "rule"),
      created: try needed(created, "created"), revision: try needed(revision, "revision"),
      firings: try needed(firings, "firings"), acknowledged: try needed(acknowledged, "acknowledged"), next: next,
      watchingFrom: watchingFrom, firing: firing)
  }

  private mutating func firing() throws -> Alert.Firing {
    var firing = Alert.Firing(number: 0, time: .distantPast)
    var number: Int64?, time: Date?
    try object { key, json in
      switch key {
      case "number": number = try json.int64()
      case "time": time = try json.date()
      case "symbol": firing.symbol = try json.word()
      case "value": firing.value = try json.exact()
      case "late_by_ms": firing.lateBy = .milliseconds(try json.int64())
      case "reminder": firing.isReminder = try json.bool()
      case "missed": firing.missed = Int(clamping: try json.int64())
      default: try json.skipValue()
      }
    }
    (firing.number, firing.time) = (try needed(number, "number"), try needed(time, "time"))
    return firing
  }

  mutating func portfolio() throws -> Portfolio {
    var portfolio = Portfolio(state: .missing)
    var state: String?
    try object { key, json in
      switch key {
      case "portfolio": portfolio.id = try json.word()
      case "name": portfolio.name = try json.word()
      case "revision": portfolio.revision = try json.int64()
      case "currency": portfolio.currency = try json.word()
      case "state": state = try json.word()
      case "simulated": portfolio.isSimulated = try json.bool()
      case "value": portfolio.value = try json.exact()
      case "day_profit": portfolio.dayProfit = try json.exact()
      case "day_percent": portfolio.dayPercent = try json.exact()
      case "cost": portfolio.cost = try json.exact()
      case "unrealised": portfolio.unrealised = try json.exact()
      case "realised": portfolio.realised = try json.exact()
      case "profit": portfolio.profit = try json.exact()
      case "holdings":
        try json.list(limit: Portfolio.limit) { json in portfolio.holdings.append(try json.holding()) }
      case "positions":
        try json.list(limit: Portfolio.limit) { json in portfolio.positions.append(try json.position()) }
      default: try json.skipValue()
      }
    }
    portfolio.state = PriceState(rawValue: try needed(state, "state"))
    return portfolio
  }

  private mutating func holding() throws -> Portfolio.Holding {
    var line = Portfolio.Holding(asset: "", state: .missing, quantity: 0)
    var asset: String?, state: String?, quantity: ExactDecimal?
    try object { key, json in
      switch key {
      case "asset": asset = try json.word()
      case "state": state = try json.word()
      case "price_time": line.priceTime = try json.date()
      case "quantity": quantity = try json.exact()
      case "price": line.price = try json.exact()
      case "value": line.value = try json.exact()
      case "share_percent": line.sharePercent = try json.exact()
      case "day_profit": line.dayProfit = try json.exact()
      case "day_percent": line.dayPercent = try json.exact()
      case "cost": line.cost = try json.exact()
      case "unrealised": line.unrealised = try json.exact()
      case "realised": line.realised = try json.exact()
      case "profit": line.profit = try json.exact()
      default: try json.skipValue()
      }
    }
    line.asset = try needed(asset, "asset")
    line.state = PriceState(rawValue: try needed(state, "state"))
    line.quantity = try needed(quantity, "quantity")
    return line
  }

  private mutating func position() throws -> Portfolio.Position {
    var symbol: String?, state: String?
    var side: Portfolio.Position.Side?
    var size: ExactDecimal?, leverage: ExactDecimal?, entry: ExactDecimal?, mark: ExactDecimal?
    var unrealised: ExactDecimal?, unrealisedPercent: ExactDecimal?
    var priceTime: Date?
    try object { key, json in
      switch key {
      case "symbol": symbol = try json.word()
      case "state": state = try json.word()
      case "price_time": priceTime = try json.date()
      case "side": side = .init(rawValue: try json.word())
      case "size": size = try json.exact()
      case "leverage": leverage = try json.exact()
      case "entry": entry = try json.exact()
      case "mark": mark = try json.exact()
      case "unrealised": unrealised = try json.exact()
      case "unrealised_percent": unrealisedPercent = try json.exact()
      default: try json.skipValue()
      }
    }
    return Portfolio.Position(
      symbol: try needed(symbol, "symbol"), state: PriceState(rawValue: try needed(state, "state")),
      priceTime: priceTime, side: try needed(side, "side"), size: try needed(size, "size"),
      leverage: try needed(leverage, "leverage"), entry: try needed(entry, "entry"), mark: mark,
      unrealised: unrealised, unrealisedPercent: unrealisedPercent)
  }
}

/// The fields of a quote or a ticker that only composites have.
struct CompositeFields {
  /// nil: the message is a market's.
  var venues: [String]?
  var absent: [Composite.Absence] = []
  var isSimulated = false

  func composite(_ state: String) -> Composite? {
    venues.map { .init(state: .init(rawValue: state), venues: $0, absent: absent, isSimulated: isSimulated) }
  }
}

/// The `data` of a message of `alerts`: all rules, or those that changed and those that were removed.
struct AlertChange: Sendable {
  var isKept = true
  var alerts: [Alert] = []
  var removed: [String] = []
}
