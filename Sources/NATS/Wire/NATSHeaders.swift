import Bytes

/// The header block of a message: `NATS/1.0[ status[ description]]`, then `Name: value` lines, then an empty line.
/// Reads in place, without allocation.
package struct NATSHeaders {
  /// The status line's number: 503 for a request without responders, 100 for an idle heartbeat; nil if there is none.
  package let status: Int?
  private let lines: UnsafeRawBufferPointer

  /// The status of an answer that says that nobody listens to the request's subject.
  package static let noResponders = 503

  /// Checks the whole block.
  /// - Throws: `NATSError.protocolViolation`. It damages one message, not the connection: its sender made it, and the
  ///   server passes it on as it is.
  package init(_ block: UnsafeRawBufferPointer) throws(NATSError) {
    var rest = block
    guard let first = Self.line(&rest), first.count >= 8, Self.equal(first.prefix(8), "NATS/1.0") else {
      throw .protocolViolation("a header block has no version")
    }
    var fields = NATSLineFields(UnsafeRawBufferPointer(rebasing: first[8...]), end: first.count - 8)
    if let digits = fields.next() {
      guard digits.count == 3, let number = NATSLineFields.number(digits) else {
        throw .protocolViolation("a header block has a malformed status")
      }
      status = Int(number)
    } else {
      status = nil
    }
    lines = rest
    while true {
      guard let line = Self.line(&rest) else { throw .protocolViolation("a header block has no end") }
      if line.isEmpty { break }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else {
        throw .protocolViolation("a header has no name")
      }
    }
    guard rest.isEmpty else { throw .protocolViolation("a header block goes on after its end") }
  }

  /// The value of the first header of that name, without spaces around it; nil if there is none. Names are
  /// case-sensitive (NATS ADR-4). O(block).
  package func value(_ name: StaticString) -> UnsafeRawBufferPointer? {
    var rest = lines
    while let line = Self.line(&rest), !line.isEmpty {
      let count = name.utf8CodeUnitCount
      guard line.count > count, line[count] == UInt8(ascii: ":"), Self.equal(line.prefix(count), name) else { continue }
      var value = line[(count + 1)...]
      while let byte = value.first, byte == 0x20 || byte == 0x09 { value.removeFirst() }
      while let byte = value.last, byte == 0x20 || byte == 0x09 { value.removeLast() }
      return UnsafeRawBufferPointer(rebasing: value)
    }
    return nil
  }

  /// The value of a header that is a number of at most 18 digits; nil if there is none.
  package func number(_ name: StaticString) -> UInt64? { value(name).flatMap { NATSLineFields.number($0) } }

  /// The next line without its CR LF; nil without one.
  private static func line(_ rest: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard let end = rest.firstIndex(of: 0x0A), end > 0, rest[end - 1] == 0x0D else { return nil }
    let line = UnsafeRawBufferPointer(rebasing: rest[..<(end - 1)])
    rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
    return line
  }

  private static func equal(_ bytes: Slice<UnsafeRawBufferPointer>, _ literal: StaticString) -> Bool {
    bytes.elementsEqual(UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  // MARK: Writing

  /// Appends a header block. Control characters in a value become spaces, so that a value cannot add a header.
  package static func append(_ headers: [(name: StaticString, value: String)], to out: inout ByteBuffer) {
    out.append("NATS/1.0\r\n")
    for (name, value) in headers {
      out.append(name)
      out.append(": ")
      for byte in value.utf8 { out.append(byte < 0x20 || byte == 0x7F ? 0x20 : byte) }
      out.append("\r\n")
    }
    out.append("\r\n")
  }
}
