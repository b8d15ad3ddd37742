import Bytes
import MarketData

/// Reads one element of `streams`. The first error of its fields becomes that of the item, which is read to its end, so
/// that the others of the request are not affected.
struct RequestItemParser {
  /// The fields that an item of a `subscribe` may have.
  private static let fields =
    ["channel", "symbols", "watchlist", "group", "depth", "points", "range", "interval", "last", "interval_ms", "zone"]
    + PortfolioRequestItem.fields
  /// Those that an item of a `resume` may have, too. A request may repeat the fields of a reply about its stream.
  private static let positionFields = [
    "symbol", "stream", "epoch", "seq", "state", "recovered", "from", "price_increment",
  ]

  /// The path of the item, for errors: `streams[0]`.
  private let path: String
  /// Whether the item has one symbol and the position where the client stopped.
  private let hasPosition: Bool
  private var item = ClientRequest.Item()
  private var hasChannel = false
  private var epoch: String?
  private var seq: UInt64?
  private var stream: UInt32?

  private init(path: String, hasPosition: Bool) { (self.path, self.hasPosition) = (path, hasPosition) }

  /// Reads the next element.
  /// - Parameters:
  ///   - index: of the element, for errors.
  ///   - hasPosition: whether it is one of a `resume`.
  static func read(
    _ scanner: inout JSONScanner, index: Int, hasPosition: Bool
  ) throws(JSONError) -> ClientRequest.Item {
    var parser = RequestItemParser(
      path: "\(hasPosition ? "resume.streams" : "streams")[\(index)]", hasPosition: hasPosition)
    guard scanner.peek() == .object else {
      try scanner.skipValue()
      parser.item.error = .wrongType(parser.path, "an object with a `channel`")
      return parser.item
    }
    try scanner.objectStart()
    while let key = try scanner.nextKey() { try parser.take(key, &scanner) }
    parser.check()
    return parser.item
  }

  private func name(_ field: String) -> String { "\(path).\(field)" }

  // MARK: Fields

  private mutating func take(_ key: JSONSlice, _ scanner: inout JSONScanner) throws(JSONError) {
    if scanner.equals(key, "channel") {
      try readChannel(&scanner)
    } else if scanner.equals(key, "symbols") {
      try readSymbols(&scanner)
    } else if scanner.equals(key, "watchlist") {
      item.watchlist = try word("watchlist", "a string", &scanner)
    } else if scanner.equals(key, "depth") {
      try readDepth(&scanner)
    } else if scanner.equals(key, "points") {
      if let points = try integer("points", StreamLimits.points, 96, &scanner) { item.points = points }
    } else if scanner.equals(key, "last") {
      if let last = try integer("last", StreamLimits.documents, 1, &scanner) { item.last = last }
    } else if scanner.equals(key, "interval_ms") {
      try readInterval(&scanner)
    } else if scanner.equals(key, "group") {
      guard scanner.peek() == .bool else { return try skip("group", "true or false", &scanner) }
      item.isGroup = try scanner.bool()
    } else if scanner.equals(key, "range") {
      guard let name = try word("range", "a string", &scanner) else { return }
      item.range = ChartRange(name: name)
      if item.range == nil { refuse("range", name, among: ChartRange.allCases.map(\.name)) }
    } else if scanner.equals(key, "interval") {
      let known = CandleInterval.allCases.map(\.name)
      guard let name = try word("interval", "one of \(known.joined(separator: ", "))", &scanner) else { return }
      item.candle = CandleInterval(name: name)
      if item.candle == nil { refuse("interval", name, among: known) }
    } else if try !takePosition(key, &scanner) {
      try takeOther(key, &scanner)
    }
  }

  /// The fields of the position where a client stopped; false, and nothing is read, for any other.
  private mutating func takePosition(_ key: JSONSlice, _ scanner: inout JSONScanner) throws(JSONError) -> Bool {
    guard hasPosition else { return false }
    if scanner.equals(key, "seq") {
      seq = try RequestParser.number(&scanner).flatMap { UInt64(exactly: $0) }
    } else if scanner.equals(key, "stream") {
      stream = try RequestParser.number(&scanner).flatMap { UInt32(exactly: $0) }
    } else if scanner.equals(key, "symbol"), scanner.peek() == .string {
      let slice = try scanner.string()
      item.symbols = [try scanner.decoded(slice)]
    } else if scanner.equals(key, "epoch"), scanner.peek() == .string {
      let slice = try scanner.string()
      epoch = try scanner.decoded(slice)
    } else {
      return false
    }
    return true
  }

  /// A field of a deck or a portfolio, or an unknown one.
  private mutating func takeOther(_ key: JSONSlice, _ scanner: inout JSONScanner) throws(JSONError) {
    let field = try scanner.decoded(key)
    guard field == "zone" || PortfolioRequestItem.fields.contains(field) else {
      if item.error == nil {
        let known = Self.fields + (hasPosition ? Self.positionFields : [])
        if !known.contains(field) {
          item.error = RequestParser.unknownField(field, in: "\(path).", among: known)
        }
      }
      return try scanner.skipValue()
    }
    let value = try scanner.rawValue()
    do throws(ProtocolError) {
      if field == "zone" {
        item.zone = try RequestParser.optionalString(value, name(field), scanner)
      } else {
        try RequestParser.readPortfolio(field, value, &item.portfolio, scanner, path: "\(path).")
      }
    } catch {
      item.error = item.error ?? error
    }
  }

  private mutating func readChannel(_ scanner: inout JSONScanner) throws(JSONError) {
    hasChannel = true
    guard let text = try word("channel", "a string", &scanner) else { return }
    item.channelText = String(text.prefix(40))
    if let channel = ChannelName(rawValue: text) {
      item.channel = channel
    } else {
      let names = ChannelName.allCases.map(\.rawValue)
      let near = NearNames.of(text, among: names, limit: 1).first.map { "did you mean `\($0)`? " } ?? ""
      item.error = ProtocolError(
        .unknownChannel, "there is no channel `\(text.prefix(40))`",
        hint: near + "one of: \(names.joined(separator: ", "))")
    }
  }

  private mutating func readSymbols(_ scanner: inout JSONScanner) throws(JSONError) {
    let kind = "an array of strings"
    guard scanner.peek() == .array else { return try skip("symbols", kind, &scanner) }
    try scanner.arrayStart()
    while try scanner.nextElement() {
      guard scanner.peek() == .string else {
        try skip("symbols", kind, &scanner)
        continue
      }
      let slice = try scanner.string()
      if item.symbols.count < RequestParser.listLimit { item.symbols.append(try scanner.decoded(slice)) }
    }
  }

  private mutating func readDepth(_ scanner: inout JSONScanner) throws(JSONError) {
    let known = "10, 25, 100 or \"full\"; 25 if left out"
    var depth: UInt16?
    var given: String?
    if scanner.peek() == .string {
      let slice = try scanner.string()
      if scanner.equals(slice, "full") { depth = 0 } else { given = "\"\(try scanner.decoded(slice))\"" }
    } else if let value = try RequestParser.number(&scanner) {
      depth = UInt16(exactly: value).flatMap { StreamLimits.depths.contains($0) ? $0 : nil }
      given = "\(value)"
    }
    if let depth {
      item.depth = depth
    } else if item.error == nil {
      item.error =
        given.map { ProtocolError(.outOfRange, "`\(name("depth"))` is \($0)", hint: known) }
        ?? .wrongType(name("depth"), "one of \(known)")
    }
  }

  private mutating func readInterval(_ scanner: inout JSONScanner) throws(JSONError) {
    guard let value = try RequestParser.number(&scanner) else {
      if item.error == nil { item.error = .wrongType(name("interval_ms"), "an integer of milliseconds") }
      return
    }
    do throws(ProtocolError) { item.interval = try RequestParser.checkedInterval(value) } catch {
      item.error = item.error ?? error
    }
  }

  // MARK: Values

  /// A text; nil, and the item is wrong, for any other value.
  private mutating func word(
    _ field: String, _ kind: @autoclosure () -> String, _ scanner: inout JSONScanner
  ) throws(JSONError) -> String? {
    guard scanner.peek() == .string else {
      try skip(field, kind(), &scanner)
      return nil
    }
    let slice = try scanner.string()
    return try scanner.decoded(slice)
  }

  /// An integer in a range; nil, and the item is wrong, for any other value.
  private mutating func integer(
    _ field: String, _ range: ClosedRange<Int>, _ usual: Int, _ scanner: inout JSONScanner
  ) throws(JSONError) -> UInt16? {
    let value = try RequestParser.number(&scanner)
    if let value, let number = Int(exactly: value), range.contains(number) { return UInt16(number) }
    guard item.error == nil else { return nil }
    let known = "\(range.lowerBound) to \(range.upperBound); \(usual) if left out"
    item.error =
      value.map { ProtocolError(.outOfRange, "`\(name(field))` is \($0)", hint: known) }
      ?? .wrongType(name(field), "an integer: \(known)")
    return nil
  }

  /// Passes over a value of another kind than the field has.
  private mutating func skip(_ field: String, _ kind: String, _ scanner: inout JSONScanner) throws(JSONError) {
    try scanner.skipValue()
    if item.error == nil { item.error = .wrongType(name(field), kind) }
  }

  private mutating func refuse(_ kind: String, _ word: String, among known: [String]) {
    guard item.error == nil else { return }
    item.error = ProtocolError(
      .outOfRange, "there is no \(kind) `\(word.prefix(20))`", hint: known.joined(separator: ", "))
  }

  // MARK: The whole

  /// Why the symbols cannot be one stream; nil if they can.
  private var groupError: ProtocolError? {
    guard item.channel.facts.hasGroups else {
      let names = ChannelName.allCases.filter(\.facts.hasGroups).map(\.rawValue)
      return ProtocolError(
        .badRequest, "the channel `\(item.channel.rawValue)` has no groups", hint: names.joined(separator: ", "))
    }
    guard !item.channel.facts.isBook || ![0, 100].contains(item.depth ?? StreamLimits.defaultDepth) else {
      return ProtocolError(.outOfRange, "a group of books has a `depth` of 10 or 25")
    }
    return nil
  }

  /// Whether the item has what it needs, now that it is read.
  private mutating func check() {
    if item.error == nil, !hasChannel {
      item.error = ProtocolError(
        .badRequest, "`\(name("channel"))` is missing",
        hint: "one of: \(ChannelName.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    if item.watchlist != nil {
      item.isGroup = true
      if item.error == nil, !item.symbols.isEmpty {
        item.error = ProtocolError(.badRequest, "`\(path)` has both `symbols` and `watchlist`")
      }
    } else if item.error == nil, item.channel.takesNames, item.symbols.isEmpty {
      item.error = ProtocolError(
        .badRequest, "`\(name("symbols"))` is missing or empty",
        hint: hasPosition
          ? "one symbol in `symbol`: \"kraken:BTC-USD\""
          : "[\"kraken:BTC-USD\"], [\"kraken:*\"], [\"*:BTC-USD\"]")
    }
    if item.error == nil, item.isGroup { item.error = groupError }
    guard hasPosition, item.error == nil else { return }
    if let epoch, let seq, item.symbols.count <= 1 || item.isGroup,
      item.symbols.first?.utf8.contains(UInt8(ascii: "*")) != true
    {
      item.position = StreamPosition(stream: stream, epoch: epoch, seq: seq)
    } else {
      item.error = ProtocolError(
        .badRequest, "`\(path)` needs one `symbol`, an `epoch` and a `seq`",
        hint: "those of the last message of the stream; or subscribe to it")
    }
  }
}
