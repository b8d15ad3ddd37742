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
        guard number > documents.last?.number ?? 0, let text else { throw MessageError.notANumber(offset: offset) }
        documents.append(TopicDocument(number: number, time: time, json: text))
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
    let offset = self.offset
    var alert = Alert(id: "", state: .disabled, rule: "{}")
    try object { key, json in
      switch key {
      case "id": alert.id = try json.word()
      case "name": alert.name = try json.word()
      case "state": alert.state = AlertState(rawValue: try json.word())
      case "rule": alert.rule = try json.valueText()
      case "created": alert.created = try json.date()
      case "revision": alert.revision = try json.int64()
      case "firings": alert.firings = try json.int64()
      case "acknowledged": alert.acknowledged = try json.int64()
      case "next": alert.next = try json.date()
      case "watching_from": alert.watchingFrom = try json.date()
      case "firing": alert.firing = try json.firing()
      default: try json.skipValue()
      }
    }
    guard !alert.id.isEmpty else { throw MessageError.notANumber(offset: offset) }
    return alert
  }

  private mutating func firing() throws -> Alert.Firing {
    var firing = Alert.Firing(number: 0)
    try object { key, json in
      switch key {
      case "number": firing.number = try json.int64()
      case "time": firing.time = try json.date()
      case "symbol": firing.symbol = try json.word()
      case "value": firing.value = try json.exact()
      case "late_by_ms": firing.lateBy = .milliseconds(try json.int64())
      case "reminder": firing.isReminder = try json.bool()
      case "missed": firing.missed = Int(clamping: try json.int64())
      default: try json.skipValue()
      }
    }
    return firing
  }

  mutating func portfolio() throws -> Portfolio {
    var portfolio = Portfolio()
    try object { key, json in
      switch key {
      case "portfolio": portfolio.id = try json.word()
      case "name": portfolio.name = try json.word()
      case "revision": portfolio.revision = try json.int64()
      case "currency": portfolio.currency = try json.word()
      case "state": portfolio.state = PriceState(rawValue: try json.word())
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
    return portfolio
  }

  private mutating func holding() throws -> Portfolio.Holding {
    var line = Portfolio.Holding()
    try object { key, json in
      switch key {
      case "asset": line.asset = try json.word()
      case "state": line.state = PriceState(rawValue: try json.word())
      case "price_time": line.priceTime = try json.date()
      case "quantity": line.quantity = try json.exact()
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
    return line
  }

  private mutating func position() throws -> Portfolio.Position {
    var line = Portfolio.Position()
    try object { key, json in
      switch key {
      case "symbol": line.symbol = try json.word()
      case "state": line.state = PriceState(rawValue: try json.word())
      case "price_time": line.priceTime = try json.date()
      case "side": line.side = .init(rawValue: try json.word())
      case "size": line.size = try json.exact()
      case "leverage": line.leverage = try json.exact()
      case "entry": line.entry = try json.exact()
      case "mark": line.mark = try json.exact()
      case "unrealised": line.unrealised = try json.exact()
      case "unrealised_percent": line.unrealisedPercent = try json.exact()
      default: try json.skipValue()
      }
    }
    return line
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
