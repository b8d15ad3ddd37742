import Bytes
import Foundation

/// Mistakes that the scanner cannot see: the value has the right kind and a wrong content.
enum MessageError: Error, Equatable, CustomStringConvertible {
  case notANumber(offset: Int)
  /// A list has more elements than allowed.
  case tooMany(offset: Int)
  /// A member that every such message has.
  case missing(String)

  var description: String {
    switch self {
    case .notANumber(let offset): "a wrong value before byte \(offset)"
    case .tooMany(let offset): "a list of too many elements at byte \(offset)"
    case .missing(let name): "`\(name)` is missing"
    }
  }
}

/// The value of a member that every such message has (protocol, *What `data` holds*).
func needed<Value>(_ value: Value?, _ name: String) throws -> Value {
  guard let value else { throw MessageError.missing(name) }
  return value
}

/// Reading the parts of messages. Unknown fields are skipped. Absent ones stay nil, unless every such message has them
/// (protocol, ground rules).
extension JSONScanner {
  /// A string with its escapes decoded.
  mutating func word() throws -> String {
    let slice = try string()
    return try decoded(slice)
  }

  /// A decimal number, in quotes or bare, with its digits as they are; nil for `null`.
  mutating func exact() throws -> ExactDecimal? {
    if try null() { return nil }
    let offset = self.offset
    let slice = peek() == .string ? try string() : try number()
    guard let value = ExactDecimal(try decoded(slice)) else { throw MessageError.notANumber(offset: offset) }
    return value
  }

  /// A time in microseconds since 1970, UTC.
  mutating func date() throws -> Date { Date(microseconds: try int64()) }

  mutating func required() throws -> ExactDecimal {
    let offset = self.offset
    guard let value = try exact() else { throw MessageError.notANumber(offset: offset) }
    return value
  }

  /// Calls `body` for each key of an object.
  mutating func object(
    _ body: (_ key: String, _ json: inout JSONScanner) throws -> Void
  ) throws {
    try objectStart()
    while let key = try nextKey() { try body(try decoded(key), &self) }
  }

  mutating func accepted() throws -> [ServerMessage.Accepted] {
    var items: [ServerMessage.Accepted] = []
    try arrayStart()
    while try nextElement() { items.append(try stream()) }
    return items
  }

  /// Moved streams; elements that are not objects are skipped.
  mutating func moves() throws -> [ServerMessage.Accepted] {
    var items: [ServerMessage.Accepted] = []
    guard peek() == .array else { return [] }
    try arrayStart()
    while try nextElement() {
      if peek() == .object { items.append(try stream()) } else { try skipValue() }
    }
    return items
  }

  private mutating func stream() throws -> ServerMessage.Accepted {
    var item = ServerMessage.Accepted(stream: -1, channel: "", symbol: "", seq: nil)
    try object { key, json in
      switch key {
      case "stream": item.stream = try json.int64()
      case "from": item.from = try json.int64()
      case "channel": item.channel = try json.word()
      case "symbol": item.symbol = try json.word()
      case "seq": item.seq = try json.uint64()
      case "epoch": item.epoch = try json.word()
      case "price_increment": item.priceIncrement = try json.exact()
      case "recovered": item.isRecovered = try json.bool()
      default: try json.skipValue()
      }
    }
    return item
  }

  mutating func failed() throws -> [ServerMessage.Failure] {
    var items: [ServerMessage.Failure] = []
    try arrayStart()
    while try nextElement() {
      var item = ServerMessage.Failure()
      try object { key, json in
        switch key {
        case "channel": item.channel = try json.word()
        case "symbol": item.symbol = try json.word()
        case "error":
          try json.object { key, json in
            switch key {
            case "code": item.code = try json.word()
            case "message": item.message = try json.word()
            case "hint": item.hint = try json.word()
            case "retry_after_ms": item.retryAfterMilliseconds = try json.int64()
            default: try json.skipValue()
            }
          }
        default: try json.skipValue()
        }
      }
      items.append(item)
    }
    return items
  }

  /// `{"kraken":{"state":…}}`, by name.
  mutating func feedMap() throws -> [FeedReport] {
    var feeds: [FeedReport] = []
    try object { key, json in feeds.append(try json.feed(venue: key)) }
    return feeds.sorted { $0.venue < $1.venue }
  }

  /// `[{"venue":"kraken","state":…}]`
  mutating func feedList() throws -> [FeedReport] {
    var feeds: [FeedReport] = []
    try arrayStart()
    while try nextElement() { feeds.append(try feed(venue: "")) }
    return feeds
  }

  private mutating func feed(venue: String) throws -> FeedReport {
    var feed = FeedReport(venue: venue, state: .unknown(""), indicator: .reconnecting)
    try object { key, json in
      switch key {
      case "venue": feed.venue = try json.word()
      case "state": feed.state = FeedState(rawValue: try json.word())
      case "indicator": feed.indicator = FeedIndicator(rawValue: try json.word())
      case "age_ms": feed.age = .milliseconds(try json.int64())
      case "simulated": feed.isSimulated = try json.bool()
      case "replayed": feed.isReplayed = try json.bool()
      case "reason": feed.reason = try json.word()
      case "since": feed.since = try json.date()
      case "attempt": feed.attempt = Int(clamping: try json.int64())
      case "syncing": try json.object { symbol, json in feed.syncing[symbol] = try json.word() }
      case "failed": try json.object { symbol, json in feed.failed[symbol] = try json.word() }
      case "silent": try json.object { symbol, json in feed.silent[symbol] = try json.words(limit: 8) }
      default: try json.skipValue()
      }
    }
    return feed
  }

  /// The `data` of a channel.
  mutating func streamData(_ channel: Channel, isSnapshot: Bool) throws -> StreamData {
    switch channel {
    case .quote: try quote()
    case .trades: try trades()
    case .ticker: try ticker()
    case .pulse: try pulse()
    case .book: try book()
    case .sparkline: isSnapshot ? .sparkline(try sparkline()) : try sparklineChange()
    case .candles: .candles(try candles())
    case .status: .payload(.status(try status()))
    case .rate: .payload(.rate(try rate()))
    case .topic: .documents(try documents())
    case .alerts: .alerts(try alertChange())
    case .portfolio: .payload(.portfolio(try portfolio()))
    case .deck: .payload(.deck(try deckDay()))
    }
  }

  private mutating func status() throws -> [FeedReport] {
    var feeds: [FeedReport] = []
    try object { key, json in
      if key == "feeds" { feeds = try json.feedList() } else { try json.skipValue() }
    }
    return feeds
  }
}
