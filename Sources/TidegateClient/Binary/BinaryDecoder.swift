import Bytes

/// Reads the binary messages of `tidegate.v1.bin`; `BinaryEncoding.md` specifies them.
///
/// A record becomes the text that the message has in JSON, byte for byte, so everything behind it is the same for both
/// encodings.
package struct BinaryDecoder: ~Copyable {
  /// The largest record: 200,000 levels of a book. Its text is up to 25 times as long.
  package static let recordLimit = 2 << 20

  private enum Kind: UInt8 {
    case trades = 1
    case quote = 2
    case book = 3
    case pulse = 4
    case ticker = 5
    case candles = 6
    case sparkline = 7

    case group = 15

    var channel: String { String(describing: self) }
  }

  private static let reasons = ["subscribe", "resume", "resync", "slow", "epoch"]

  var reader: BinaryReader
  var out = ByteBuffer(capacity: 512)
  /// The time to which those in the data are relative: that of the record, or of an element of a group; µs since 1970.
  var time: Int64 = 0
  var isSnapshot = false
  var priceDigits: UInt8 = 0
  var sizeDigits: UInt8 = 0

  private init(_ message: [UInt8]) { reader = BinaryReader(message) }

  /// The record of a binary message. O(length).
  /// - Parameter stream: what is known of the stream of a number; nil: nothing.
  package static func decode(
    _ message: [UInt8], _ stream: (Int64) -> BinaryStream?
  ) throws(BinaryError) -> BinaryRecord {
    var decoder = BinaryDecoder(message)
    guard message.count <= recordLimit else { throw decoder.reader.error("the record is too large") }
    return try decoder.record(stream)
  }

  private mutating func record(_ stream: (Int64) -> BinaryStream?) throws(BinaryError) -> BinaryRecord {
    let first = try reader.byte()
    guard let number = Int64(exactly: try reader.varint()) else { throw reader.error("a stream has no such number") }
    guard let kind = Kind(rawValue: first & 0x1F), var known = stream(number) else {
      return BinaryRecord(stream: number)
    }
    let isGroup = kind == .group
    guard isGroup ? !known.members.isEmpty : kind.channel == known.channel && known.members.isEmpty else {
      throw reader.error("the stream is not of this channel")
    }
    isSnapshot = first & 0x20 != 0
    try begin(first, number, &known, isGroup: isGroup)
    if isGroup { try group(&known) } else { try data(kind) }
    out.append(UInt8(ascii: "}"))
    return BinaryRecord(stream: number, text: Array(out.unsafeBytes), scale: isSnapshot ? known : nil)
  }

  private mutating func data(_ kind: Kind) throws(BinaryError) {
    switch kind {
    case .trades: try trades()
    case .quote: try quote()
    case .book: try book()
    case .pulse: try pulse()
    case .ticker: try ticker()
    case .candles: try candles()
    case .sparkline: try sparkline()
    case .group: throw reader.error("a group of groups")
    }
  }

  /// Writes the message up to its `data`.
  private mutating func begin(
    _ first: UInt8, _ number: Int64, _ stream: inout BinaryStream, isGroup: Bool
  ) throws(BinaryError) {
    let seq = try reader.varint()
    out.append(isSnapshot ? "{\"type\":\"snapshot\",\"channel\":\"" : "{\"type\":\"update\",\"channel\":\"")
    out.append(stream.channel)
    if isGroup {
      out.append("\",\"group\":true")
    } else {
      out.append("\",\"symbol\":")
      out.append(json: stream.symbol)
    }
    out.append(",\"stream\":")
    out.append(integer: number)
    (priceDigits, sizeDigits) = (stream.priceDigits, stream.sizeDigits)
    if isSnapshot {
      let reason = Int(try reader.byte())
      stream.base = try reader.zigzag()
      if !isGroup { try digits() }
      (stream.priceDigits, stream.sizeDigits) = (priceDigits, sizeDigits)
      append(",\"seq\":", seq)
      out.append(",\"reason\":\"")
      out.append(reason < Self.reasons.count ? Self.reasons[reason] : "unknown")
      out.append(UInt8(ascii: "\""))
    } else {
      let step = first & 0x40 != 0 ? 1 : try reader.varint()
      guard step <= seq else { throw reader.error("an update follows a number below 0") }
      append(",\"prev\":", seq - step)
      append(",\"seq\":", seq)
      if first & 0x80 != 0 { try digits() }
    }
    time = stream.base &+ (try reader.bits())
    append(",\"time\":", time)
    out.append(",\"data\":")
  }

  private mutating func digits() throws(BinaryError) { (priceDigits, sizeDigits) = try reader.scale() }

  // MARK: Groups

  /// The data of a group: of a snapshot the members, then the elements.
  private mutating func group(_ stream: inout BinaryStream) throws(BinaryError) {
    guard let kind = Kind(rawValue: try reader.byte()), kind.channel == stream.channel else {
      throw reader.error("the stream is not of this channel")
    }
    out.append(UInt8(ascii: "{"))
    if isSnapshot { try members(&stream) }
    let start = time &- (try reader.zigzag())
    out.append("\"updates\":[")
    for number in 0..<(try reader.count(of: 2)) {
      if number > 0 { out.append(UInt8(ascii: ",")) }
      try element(kind, after: start, of: stream.members)
    }
    out.append("]}")
  }

  private mutating func members(_ stream: inout BinaryStream) throws(BinaryError) {
    stream.members.removeAll()
    out.append("\"members\":[")
    let count = try reader.count(of: 3)
    guard count > 0 else { throw reader.error("a group has a member") }
    for index in 0..<count {
      let symbol = String(decoding: try reader.text(), as: UTF8.self)
      let (price, size) = try reader.scale()
      stream.members.append(BinaryStream.Member(symbol: symbol, priceDigits: price, sizeDigits: size))
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: symbol)
    }
    out.append("],")
  }

  /// The state of one member.
  /// - Parameter start: the time of the elements that have none of their own.
  private mutating func element(
    _ kind: Kind, after start: Int64, of members: [BinaryStream.Member]
  ) throws(BinaryError) {
    let head = try reader.varint()
    guard head >> 2 < UInt64(members.count) else { throw reader.error("the group has no such member") }
    let member = members[Int(head >> 2)]
    (priceDigits, sizeDigits, time) = (member.priceDigits, member.sizeDigits, start)
    if head & 2 != 0 {
      try digits()
      time = start &+ (try reader.zigzag())
    }
    append("{\"i\":", head >> 2)
    let isWhole = isSnapshot
    if head & 1 != 0, !isWhole { out.append(",\"snapshot\":true") }
    isSnapshot = isWhole || head & 1 != 0
    out.append(",\"data\":")
    let outer = reader.enter(try reader.count(of: 1))
    try data(kind)
    reader.leave(outer)
    isSnapshot = isWhole
    out.append(UInt8(ascii: "}"))
  }

  // MARK: Texts

  mutating func append(_ name: StaticString, _ value: Int64) {
    out.append(name)
    out.append(integer: value)
  }

  mutating func append(_ name: StaticString, _ value: UInt64) {
    out.append(name)
    out.append(integer: value)
  }

  /// Appends a decimal as a string.
  mutating func append(_ name: StaticString, _ value: Int64, digits: UInt8) {
    out.append(name)
    out.append(UInt8(ascii: "\""))
    out.append(decimal: value, scale: digits)
    out.append(UInt8(ascii: "\""))
  }

  mutating func append(_ name: StaticString, _ value: Decimal64) { append(name, value.mantissa, digits: value.scale) }

  mutating func append(price value: Int64, _ name: StaticString) { append(name, value, digits: priceDigits) }
  mutating func append(size value: Int64, _ name: StaticString) { append(name, value, digits: sizeDigits) }

  /// A text of the gateway as a JSON string.
  mutating func append(_ name: StaticString, text: [UInt8]) {
    out.append(name)
    out.append(json: String(decoding: text, as: UTF8.self))
  }

  /// `,"state":"syncing","reason":"…"`, `,"state":"live"`, or nothing: the state of the data.
  mutating func mark(_ state: UInt8) throws(BinaryError) {
    switch state {
    case 1: out.append(",\"state\":\"live\"")
    case 2: append(",\"state\":\"syncing\",\"reason\":", text: try reader.text())
    default: break
    }
  }
}
