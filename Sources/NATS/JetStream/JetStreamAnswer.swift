import Bytes

/// An answer of JetStream, as far as the cluster needs it.
package struct JetStreamAnswer: Sendable, Equatable {
  /// A stored message.
  package struct Message: Sendable, Equatable {
    package var subject: [UInt8] = []
    package var sequence: UInt64 = 0
    /// The header block; empty if the message has none.
    package var headers: [UInt8] = []
    package var payload: [UInt8] = []

    /// The value of a header; nil without one, or if the block is malformed.
    package func header(_ name: StaticString) -> String? {
      headers.withUnsafeBytes { block in
        guard let found = try? NATSHeaders(block) else { return nil }
        return found.value(name).map { String(decoding: $0, as: UTF8.self) }
      }
    }
  }

  package enum Failure: Error, Sendable, Equatable {
    /// Nobody answers: JetStream is off, or the stream has no leader for some seconds.
    case noResponders
    /// Another writer was first: the expected sequence is not the last one. Error 10071.
    case wrongSequence
    /// No such message, error 10037.
    case noMessage
    /// No such stream, error 10059.
    case noStream
    /// Any other error, by its number and its words (printable, at most 256 bytes).
    case refused(code: Int, text: String)
    /// The answer is not what JetStream sends.
    case malformed
  }

  /// Of an acknowledgement: the sequence of the stored message.
  package private(set) var sequence: UInt64 = 0
  /// Of an acknowledgement: the message with this `Nats-Msg-Id` had been stored before.
  package private(set) var isDuplicate = false
  package private(set) var message: Message?
  /// Of `create` and `info`: the sequences of the first and the last message.
  package private(set) var firstSequence: UInt64 = 0
  package private(set) var lastSequence: UInt64 = 0

  private var failure: Failure?

  /// Reads the answer to a request.
  package init(_ answer: NATSMessage) throws(Failure) {
    if !answer.headers.isEmpty {
      guard let headers = try? NATSHeaders(answer.headers) else { throw .malformed }
      if headers.status == NATSHeaders.noResponders { throw .noResponders }
    }
    try self.init(json: answer.payload)
  }

  package init(json: UnsafeRawBufferPointer) throws(Failure) {
    do throws(JSONError) {
      var scanner = JSONScanner(RawSpan(_unsafeBytes: json))
      try scanner.objectStart()
      while let key = try scanner.nextKey() { try read(key, &scanner) }
      try scanner.end()
    } catch { throw .malformed }
    if let failure { throw failure }
  }

  private mutating func read(_ key: JSONSlice, _ scanner: inout JSONScanner) throws(JSONError) {
    if scanner.equals(key, "error") {
      failure = try Self.failure(&scanner)
    } else if scanner.equals(key, "seq") {
      sequence = try scanner.uint64()
    } else if scanner.equals(key, "duplicate") {
      isDuplicate = try scanner.bool()
    } else if scanner.equals(key, "message") {
      message = try Self.message(&scanner)
      if message == nil { failure = .malformed }
    } else if scanner.equals(key, "state") {
      try scanner.objectStart()
      while let key = try scanner.nextKey() {
        if scanner.equals(key, "first_seq") {
          firstSequence = try scanner.uint64()
        } else if scanner.equals(key, "last_seq") {
          lastSequence = try scanner.uint64()
        } else {
          try scanner.skipValue()
        }
      }
    } else {
      try scanner.skipValue()
    }
  }

  private static func failure(_ scanner: inout JSONScanner) throws(JSONError) -> Failure {
    var code = 0
    var text = ""
    try scanner.objectStart()
    while let key = try scanner.nextKey() {
      if scanner.equals(key, "err_code") {
        code = Int(clamping: try scanner.wholeNumber() ?? 0)
      } else if scanner.equals(key, "description") {
        let slice = try scanner.string()
        let bytes = try scanner.decoded(slice).utf8.prefix(256)
        text = String(decoding: bytes.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
      } else {
        try scanner.skipValue()
      }
    }
    switch code {
    case 10071: return .wrongSequence
    case 10037: return .noMessage
    case 10059: return .noStream
    default: return .refused(code: code, text: text)
    }
  }

  /// Nil if a part is not Base64.
  private static func message(_ scanner: inout JSONScanner) throws(JSONError) -> Message? {
    var message = Message()
    var isWhole = true
    try scanner.objectStart()
    while let key = try scanner.nextKey() {
      if scanner.equals(key, "subject") {
        message.subject = Array(try text(&scanner).utf8)
      } else if scanner.equals(key, "seq") {
        message.sequence = try scanner.uint64()
      } else if scanner.equals(key, "hdrs") {
        if let bytes = Base64.decode(try text(&scanner).utf8) { message.headers = bytes } else { isWhole = false }
      } else if scanner.equals(key, "data") {
        if let bytes = Base64.decode(try text(&scanner).utf8) { message.payload = bytes } else { isWhole = false }
      } else {
        try scanner.skipValue()
      }
    }
    return isWhole && message.sequence > 0 ? message : nil
  }

  private static func text(_ scanner: inout JSONScanner) throws(JSONError) -> String {
    let slice = try scanner.string()
    return try scanner.decoded(slice)
  }
}
