import Bytes

/// Reads the operations of a server as bytes arrive. Sans-IO.
///
/// An operation that lies whole in one read is returned without a copy; only split ones are copied. A line is checked
/// against its limit while it is incomplete, a message as soon as its line announces its size. After an error, every
/// call throws it again, because the beginning of the next operation is unknown.
package struct NATSParser: ~Copyable {
  /// The buffer of split operations is kept up to this size, bytes; a larger one is freed.
  package static let keptBytes = 64 << 10

  private let limits: NATSLimits
  /// A split operation from its first byte on.
  private var gathered = ByteBuffer()
  /// The bytes of the gathered operation, once its line is complete.
  private var wanted = 0
  /// Whether the last operation was returned out of `gathered`.
  private var isLent = false
  private var failure: NATSError?

  /// A parser for one connection. It allocates nothing until an operation is split.
  package init(limits: NATSLimits = .init()) { self.limits = limits }

  /// The stored bytes of an unfinished operation.
  package var pendingBytes: Int { isLent ? 0 : gathered.count }

  /// The next operation in `input`, whose start is moved past the read bytes; nil when all are read.
  /// - Complexity: O(bytes taken). No allocation for an operation that lies whole in `input`.
  @inline(__always)
  package mutating func next(_ input: inout UnsafeRawBufferPointer) throws(NATSError) -> NATSOperation? {
    if let failure { throw failure }
    if isLent { settle() }
    do throws(NATSError) {
      guard gathered.isEmpty else { return try takeSplit(&input) }
      guard input.count > 0 else { return nil }
      let line = try Self.lineEnd(input, after: 0, limit: limit(input[0]))
      guard line > 0 else { return try gather(&input) }
      let size = try Self.size(of: input, line: line, limits)
      guard input.count >= size else {
        wanted = size
        return try gather(&input)
      }
      let whole = UnsafeRawBufferPointer(start: input.baseAddress, count: size)
      input = UnsafeRawBufferPointer(start: input.baseAddress.unsafelyUnwrapped + size, count: input.count &- size)
      return try Self.read(whole, line: line)
    } catch {
      failure = error
      gathered.release()
      throw error
    }
  }

  /// Ends the use of the bytes that the last call returned.
  @inline(never)
  private mutating func settle() {
    isLent = false
    wanted = 0
    if gathered.count > Self.keptBytes { gathered.release() } else { gathered.removeAll() }
  }

  /// Stores all of `input`: the beginning of an operation.
  private mutating func gather(_ input: inout UnsafeRawBufferPointer) throws(NATSError) -> NATSOperation? {
    gathered.append(input)
    input = UnsafeRawBufferPointer(start: input.baseAddress.map { $0 + input.count }, count: 0)
    return nil
  }

  /// Continues a split operation.
  @inline(never)
  private mutating func takeSplit(_ input: inout UnsafeRawBufferPointer) throws(NATSError) -> NATSOperation? {
    if wanted == 0 {
      let line = try Self.lineEnd(input, after: gathered.count, limit: limit(gathered.unsafeBytes[0]))
      guard line > 0 else { return try gather(&input) }
      take(line, of: &input)
      wanted = try Self.size(of: gathered.unsafeBytes, line: gathered.count, limits)
    }
    take(min(wanted - gathered.count, input.count), of: &input)
    guard gathered.count == wanted else { return nil }
    isLent = true
    let whole = gathered.unsafeBytes
    return try Self.read(whole, line: try Self.lineEnd(whole, after: 0, limit: whole.count))
  }

  private mutating func take(_ count: Int, of input: inout UnsafeRawBufferPointer) {
    guard count > 0, let base = input.baseAddress else { return }
    gathered.append(UnsafeRawBufferPointer(start: base, count: count))
    input = UnsafeRawBufferPointer(start: base + count, count: input.count - count)
  }

  // MARK: Lines

  /// The limit of a line, by its first byte.
  @inline(__always)
  private func limit(_ first: UInt8) -> Int { first | 0x20 == UInt8(ascii: "i") ? limits.infoBytes : limits.lineBytes }

  /// The length of the first line with its line feed; 0 if it is incomplete. Reads eight bytes at a time.
  /// - Parameter gathered: the bytes of the line that were stored before.
  @inline(__always)
  private static func lineEnd(
    _ bytes: UnsafeRawBufferPointer, after gathered: Int, limit: Int
  ) throws(NATSError) -> Int {
    guard let start = bytes.baseAddress else { return 0 }
    let end = min(bytes.count, limit &- gathered)
    var index = 0
    let ones: UInt64 = 0x0101_0101_0101_0101
    while end &- index >= 8 {
      let word = UInt64(littleEndian: start.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ (ones &* 0x0A)
      // The lowest flag is right; a borrow can only set a wrong one above it.
      let flags = (word &- ones) & ~word & (ones &* 0x80)
      if flags != 0 { return index &+ (flags.trailingZeroBitCount >> 3) &+ 1 }
      index &+= 8
    }
    while index < end {
      if start.load(fromByteOffset: index, as: UInt8.self) == 0x0A { return index &+ 1 }
      index &+= 1
    }
    guard bytes.count &+ gathered < limit else { throw .lineTooLong(limit: limit) }
    return 0
  }

  /// The bytes of the operation whose line is complete, payload included; checks the announced size.
  @inline(__always)
  private static func size(
    of bytes: UnsafeRawBufferPointer, line: Int, _ limits: NATSLimits
  ) throws(NATSError) -> Int {
    guard line >= 2, bytes[line &- 2] == 0x0D else { throw .protocolViolation("a line does not end with CR LF") }
    let first = bytes[0] & 0xDF
    guard first == UInt8(ascii: "M") || first == UInt8(ascii: "H") else { return line }
    // The total size is the last field of both lines.
    var index = line &- 3
    var size = 0
    var power = 1
    while index > 0, bytes[index] != 0x20, bytes[index] != 0x09 {
      let digit = bytes[index] &- UInt8(ascii: "0")
      guard digit < 10, power < 1_000_000_000_000 else { throw .protocolViolation("a message has no size") }
      size &+= Int(digit) &* power
      power &*= 10
      index &-= 1
    }
    guard power > 1 else { throw .protocolViolation("a message has no size") }
    guard size <= limits.messageBytes else { throw .messageTooLarge(bytes: size, limit: limits.messageBytes) }
    return line &+ size &+ 2
  }

  /// Reads a whole operation.
  @inline(__always)
  private static func read(_ bytes: UnsafeRawBufferPointer, line: Int) throws(NATSError) -> NATSOperation {
    switch bytes[0] & 0xDF {
    case UInt8(ascii: "M"): return .message(try message(bytes, line: line, hasHeaders: false))
    case UInt8(ascii: "H"): return .message(try message(bytes, line: line, hasHeaders: true))
    default: return try control(bytes, line: line)
    }
  }

  /// `MSG subject sid [reply] size` or `HMSG subject sid [reply] header-size size`, and the payload.
  @inline(__always)
  private static func message(
    _ bytes: UnsafeRawBufferPointer, line: Int, hasHeaders: Bool
  ) throws(NATSError) -> NATSMessage {
    var fields = NATSLineFields(bytes, end: line &- 2)
    guard let word = fields.next(), hasHeaders ? isWord(word, "HMSG") : isWord(word, "MSG") else {
      throw .protocolViolation("an unknown operation")
    }
    guard let subject = fields.next(), let sid = fields.next(), let subscription = NATSLineFields.number(sid),
      let third = fields.next()
    else { throw .protocolViolation("a message's line has too few fields") }
    // The size of the headers, where there are any; the last field is the size of everything.
    var headerSize = third
    var reply = UnsafeRawBufferPointer(start: nil, count: 0)
    let fourth = fields.next()
    if hasHeaders {
      guard let fourth else { throw .protocolViolation("a message's line has too few fields") }
      if fields.next() != nil { (reply, headerSize) = (third, fourth) }
    } else if fourth != nil {
      reply = third
    }
    guard fields.next() == nil else { throw .protocolViolation("a message's line has too many fields") }
    var headers = 0
    if hasHeaders {
      guard let number = NATSLineFields.number(headerSize) else {
        throw .protocolViolation("a message has no size of its headers")
      }
      headers = Int(truncatingIfNeeded: number)
    }
    let size = bytes.count &- line &- 2
    guard headers <= size else { throw .protocolViolation("headers are larger than their message") }
    guard bytes[bytes.count &- 2] == 0x0D, bytes[bytes.count &- 1] == 0x0A else {
      throw .protocolViolation("a message does not end with CR LF")
    }
    let body = bytes.baseAddress.unsafelyUnwrapped + line
    return NATSMessage(
      subject: subject, subscription: subscription, reply: reply,
      headers: UnsafeRawBufferPointer(start: body, count: headers),
      payload: UnsafeRawBufferPointer(start: body + headers, count: size &- headers))
  }

  /// `INFO`, `PING`, `PONG`, `+OK`, `-ERR`.
  @inline(never)
  private static func control(_ bytes: UnsafeRawBufferPointer, line: Int) throws(NATSError) -> NATSOperation {
    var fields = NATSLineFields(bytes, end: line - 2)
    guard let word = fields.next() else { throw .protocolViolation("an empty line") }
    switch word.count {
    case 4 where isWord(word, "PING"): return .ping
    case 4 where isWord(word, "PONG"): return .pong
    case 4 where isWord(word, "INFO"): return .info(fields.rest)
    case 4 where isWord(word, "-ERR"): return .error(fields.rest)
    case 3 where isWord(word, "+OK"): return .ok
    default: throw .protocolViolation("an unknown operation")
    }
  }

  /// Operation names are case-insensitive.
  @inline(__always)
  private static func isWord(_ bytes: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
    guard bytes.count == word.utf8CodeUnitCount else { return false }
    for index in 0..<bytes.count {
      let byte = bytes[index]
      let upper = byte &- UInt8(ascii: "a") < 26 ? byte & 0xDF : byte
      if upper != word.utf8Start[index] { return false }
    }
    return true
  }
}

/// The fields of a control line, separated by spaces or tabs.
struct NATSLineFields {
  private let bytes: UnsafeRawBufferPointer
  private let end: Int
  private var index = 0

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, end: Int) {
    self.bytes = bytes
    self.end = end
  }

  @inline(__always)
  private mutating func skipSpaces() {
    while index < end, bytes[index] == 0x20 || bytes[index] == 0x09 { index &+= 1 }
  }

  @inline(__always)
  mutating func next() -> UnsafeRawBufferPointer? {
    skipSpaces()
    let start = index
    while index < end, bytes[index] != 0x20, bytes[index] != 0x09 { index &+= 1 }
    guard index > start else { return nil }
    return UnsafeRawBufferPointer(start: bytes.baseAddress.unsafelyUnwrapped + start, count: index &- start)
  }

  /// What follows the fields that were read, without the spaces before it.
  var rest: UnsafeRawBufferPointer {
    mutating get {
      skipSpaces()
      return UnsafeRawBufferPointer(rebasing: bytes[index..<max(index, end)])
    }
  }

  /// A number of 1 to 18 digits; nil for anything else.
  @inline(__always)
  static func number(_ digits: UnsafeRawBufferPointer) -> UInt64? {
    guard digits.count > 0, digits.count <= 18 else { return nil }
    var value: UInt64 = 0
    for byte in digits {
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value &* 10 &+ UInt64(digit)
    }
    return value
  }
}
