/// Collects a body as bytes arrive: of a fixed length, chunked (RFC 9112 section 7.1), or until the connection ends.
///
/// Sizes are checked against the limit before anything is stored. Memory grows with the received bytes, not with the
/// announced ones.
struct HTTPBodyReader {
  private enum State {
    case fixed(Int)
    case untilClose
    case size(digits: Int, value: Int)
    case extensionName(isEmpty: Bool)
    case extensionValue(isEmpty: Bool)
    case extensionQuoted(escaped: Bool)
    case extensionEnd
    case sizeLF(Int)
    case data(Int)
    case dataCR
    case dataLF
    case trailerStart
    case trailerName
    case trailerValue
    case trailerLF
    case endLF
    case done
  }

  private var state: State
  private var extensionBytes = 0
  private var trailerBytes = 0
  private var trailers = 0
  private let limits: HTTPLimits
  /// The received bytes.
  private(set) var body: [UInt8] = []

  /// A body of `length` bytes. - Throws: 413 over the limit.
  init(length: Int, limits: HTTPLimits) throws(HTTPError) {
    guard length <= limits.bodyBytes else { throw Self.tooLarge(limits) }
    self.state = length == 0 ? .done : .fixed(length)
    self.limits = limits
  }

  /// A chunked body.
  static func chunked(limits: HTTPLimits) -> Self { Self(state: .size(digits: 0, value: 0), limits: limits) }

  /// A body until the end of the connection.
  static func untilClose(limits: HTTPLimits) -> Self { Self(state: .untilClose, limits: limits) }

  private init(state: State, limits: HTTPLimits) {
    self.state = state
    self.limits = limits
  }

  var isUntilClose: Bool { if case .untilClose = state { true } else { false } }

  private static func tooLarge(_ limits: HTTPLimits) -> HTTPError {
    HTTPError(status: 413, reason: "the body is larger than \(limits.bodyBytes) bytes")
  }

  /// Reads bytes from the front of `input`; returns true once the body is complete.
  mutating func take(_ input: inout UnsafeRawBufferPointer) throws(HTTPError) -> Bool {
    while true {
      switch state {
      case .done:
        return true
      case .fixed(let rest):
        guard input.count > 0 else { return false }
        let count = min(rest, input.count)
        keep(count, of: &input)
        state = rest == count ? .done : .fixed(rest - count)
      case .data(let rest):
        guard input.count > 0 else { return false }
        let count = min(rest, input.count)
        keep(count, of: &input)
        state = rest == count ? .dataCR : .data(rest - count)
      case .untilClose:
        guard input.count <= limits.bodyBytes - body.count else { throw Self.tooLarge(limits) }
        keep(input.count, of: &input)
        return false
      default:
        guard let byte = input.first else { return false }
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        state = try step(byte)
      }
    }
  }

  private mutating func keep(_ count: Int, of input: inout UnsafeRawBufferPointer) {
    body.append(contentsOf: input.prefix(count))
    input = UnsafeRawBufferPointer(rebasing: input.dropFirst(count))
  }

  /// The state after one byte of chunk framing or trailers.
  private mutating func step(_ byte: UInt8) throws(HTTPError) -> State {
    switch state {
    case .size(let digits, let value):
      if let digit = ASCII.hexValue(byte) {
        guard digits < 16, value <= Int.max >> 4 else {
          throw HTTPError(status: 400, reason: "a chunk size does not fit 63 bits or has more than 16 digits")
        }
        return .size(digits: digits + 1, value: value << 4 | Int(digit))
      }
      guard digits > 0, byte == 0x0D || byte == UInt8(ascii: ";") else {
        throw HTTPError(status: 400, reason: "a chunk size must be hexadecimal digits, then CR LF or an extension")
      }
      guard value <= limits.bodyBytes - body.count else { throw Self.tooLarge(limits) }
      chunk = value
      return byte == 0x0D ? .sizeLF(value) : .extensionName(isEmpty: true)
    case .extensionName, .extensionValue, .extensionQuoted, .extensionEnd:
      extensionBytes += 1
      guard extensionBytes <= limits.chunkExtensionBytes else {
        throw HTTPError(status: 400, reason: "chunk extensions exceed \(limits.chunkExtensionBytes) bytes")
      }
      return try stepExtension(byte)
    case .sizeLF(let size):
      try expect(0x0A, byte)
      return size == 0 ? .trailerStart : .data(size)
    case .dataCR:
      try expect(0x0D, byte)
      return .dataLF
    case .dataLF:
      try expect(0x0A, byte)
      return .size(digits: 0, value: 0)
    case .endLF:
      try expect(0x0A, byte)
      return .done
    default:
      trailerBytes += 1
      guard trailerBytes <= limits.headBytes else {
        throw HTTPError(status: 431, reason: "the trailers are longer than \(limits.headBytes) bytes")
      }
      return try stepTrailer(byte)
    }
  }

  /// The size of the chunk whose extensions are being read.
  private var chunk = 0

  private func stepExtension(_ byte: UInt8) throws(HTTPError) -> State {
    switch state {
    case .extensionName(let isEmpty):
      if ASCII.isToken(byte) { return .extensionName(isEmpty: false) }
      if !isEmpty, byte == UInt8(ascii: "=") { return .extensionValue(isEmpty: true) }
      if !isEmpty { return try endExtension(byte) }
    case .extensionValue(let isEmpty):
      if ASCII.isToken(byte) { return .extensionValue(isEmpty: false) }
      if isEmpty, byte == UInt8(ascii: "\"") { return .extensionQuoted(escaped: false) }
      if !isEmpty { return try endExtension(byte) }
    case .extensionQuoted(let escaped):
      if ASCII.isFieldContent(byte) {
        if escaped { return .extensionQuoted(escaped: false) }
        if byte == UInt8(ascii: "\"") { return .extensionEnd }
        return .extensionQuoted(escaped: byte == UInt8(ascii: "\\"))
      }
    default:
      return try endExtension(byte)
    }
    throw HTTPError(status: 400, reason: "a chunk extension is malformed")
  }

  private func endExtension(_ byte: UInt8) throws(HTTPError) -> State {
    if byte == UInt8(ascii: ";") { return .extensionName(isEmpty: true) }
    try expect(0x0D, byte)
    return .sizeLF(chunk)
  }

  private mutating func stepTrailer(_ byte: UInt8) throws(HTTPError) -> State {
    switch state {
    case .trailerStart:
      if byte == 0x0D { return .endLF }
      trailers += 1
      guard trailers <= limits.fieldCount else {
        throw HTTPError(status: 431, reason: "there are more than \(limits.fieldCount) trailers")
      }
      guard ASCII.isToken(byte) else { throw HTTPError(status: 400, reason: "a trailer's name is malformed") }
      trailerName = [ASCII.lowercased(byte)]
      return .trailerName
    case .trailerName:
      if ASCII.isToken(byte) {
        if trailerName.count < Self.longestForbidden { trailerName.append(ASCII.lowercased(byte)) }
        return .trailerName
      }
      guard byte == UInt8(ascii: ":") else { throw HTTPError(status: 400, reason: "a trailer's name is malformed") }
      guard !Self.forbiddenTrailers.contains(where: { trailerName.elementsEqual($0.utf8) }) else {
        throw HTTPError(
          status: 400, reason: "\(String(decoding: trailerName, as: UTF8.self)) must not be sent as a trailer")
      }
      return .trailerValue
    case .trailerValue:
      if byte == 0x0D { return .trailerLF }
      guard ASCII.isFieldContent(byte) else {
        throw HTTPError(status: 400, reason: "a trailer holds a control character")
      }
      return .trailerValue
    default:
      try expect(0x0A, byte)
      return .trailerStart
    }
  }

  /// The name of the present trailer in lower case, cut to the length of the longest forbidden name.
  private var trailerName: [UInt8] = []
  /// Fields of framing, routing, authentication and content, which may not be trailers (RFC 9110 section 6.5.1). All
  /// trailers are dropped; one of these shows an attempt to smuggle them in as header fields.
  private static let forbiddenTrailers = [
    "authorization", "connection", "content-encoding", "content-length", "content-range", "content-type", "cookie",
    "expect", "host", "te", "trailer", "transfer-encoding", "upgrade",
  ]
  private static let longestForbidden = "transfer-encoding".utf8.count + 1

  private func expect(_ wanted: UInt8, _ byte: UInt8) throws(HTTPError) {
    guard byte == wanted else {
      throw HTTPError(status: 400, reason: "a chunk or trailer line does not end with CR LF where it should")
    }
  }
}
