import Bytes

/// The reason why a text is not a subject.
package enum NATSSubjectError: Error, Sendable, Equatable {
  /// It is empty, or has an empty token: `a..b`, `.a`, `a.`.
  case emptyToken
  /// A space, a control character or a byte that is not ASCII.
  case character(UInt8)
  /// `*` or `>` where they mean nothing: in a subject, inside a token, or `>` before the end.
  case wildcard
  case tooLong(limit: Int)
}

/// A subject that messages can be published to: tokens of visible ASCII between dots, without wildcards.
package struct NATSSubject: Hashable, Sendable, CustomStringConvertible {
  package let bytes: [UInt8]

  /// Bytes of a subject. A server refuses lines of more than 4,096 bytes (`max_control_line`), which hold a subject,
  /// a reply and numbers.
  package static let limit = 1_024

  package init(_ text: String) throws(NATSSubjectError) { try self.init(Array(text.utf8)) }

  package init(_ bytes: [UInt8]) throws(NATSSubjectError) {
    guard try !NATSSubjectCheck.hasWildcards(bytes) else { throw .wildcard }
    self.bytes = bytes
  }

  package var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// A subject that can be subscribed to: `*` stands for one token, `>` at the end for one or more.
package struct NATSSubjectPattern: Hashable, Sendable, CustomStringConvertible {
  package let bytes: [UInt8]

  package init(_ text: String) throws(NATSSubjectError) { try self.init(Array(text.utf8)) }

  package init(_ bytes: [UInt8]) throws(NATSSubjectError) {
    _ = try NATSSubjectCheck.hasWildcards(bytes)
    self.bytes = bytes
  }

  /// The pattern of one subject.
  package init(_ subject: NATSSubject) { bytes = subject.bytes }

  package var description: String { String(decoding: bytes, as: UTF8.self) }

  /// Whether a message with this subject is for a subscription of this pattern. O(length), no allocation.
  package func matches(_ subject: UnsafeRawBufferPointer) -> Bool {
    bytes.withUnsafeBytes { pattern in
      var (p, s) = (0, 0)
      while p < pattern.count {
        if pattern[p] == UInt8(ascii: ">") { return s < subject.count }
        if pattern[p] == UInt8(ascii: "*") {
          let start = s
          while s < subject.count, subject[s] != UInt8(ascii: ".") { s &+= 1 }
          guard s > start else { return false }
          p &+= 1
        } else {
          while p < pattern.count, pattern[p] != UInt8(ascii: ".") {
            guard s < subject.count, subject[s] == pattern[p] else { return false }
            p &+= 1
            s &+= 1
          }
        }
        // Both tokens end here, or neither pattern nor subject goes on alone.
        if p == pattern.count { return s == subject.count }
        guard s < subject.count, subject[s] == UInt8(ascii: ".") else { return false }
        p &+= 1
        s &+= 1
      }
      return false
    }
  }
}

/// The rules of subjects (NATS documentation, "Subject-Based Messaging").
enum NATSSubjectCheck {
  /// Checks tokens and characters; whether a token is a wildcard.
  static func hasWildcards(_ bytes: [UInt8]) throws(NATSSubjectError) -> Bool {
    guard bytes.count <= NATSSubject.limit else { throw .tooLong(limit: NATSSubject.limit) }
    var hasWildcard = false
    var start = 0
    for index in 0...bytes.count {
      guard index == bytes.count || bytes[index] == UInt8(ascii: ".") else {
        guard 0x21...0x7E ~= bytes[index] else { throw .character(bytes[index]) }
        continue
      }
      let token = bytes[start..<index]
      guard !token.isEmpty else { throw .emptyToken }
      let isWildcard = token.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: ">") }
      if isWildcard {
        guard token.count == 1, token.first != UInt8(ascii: ">") || index == bytes.count else { throw .wildcard }
        hasWildcard = true
      }
      start = index + 1
    }
    return hasWildcard
  }
}

/// Any text as one token of a subject: `.` `*` `>` `=`, spaces, and bytes outside visible ASCII become `=HH`. Each text
/// has one token, and each token one text. The empty text is `=`.
package enum NATSToken {
  package static func append(_ text: some Sequence<UInt8>, to out: inout [UInt8]) {
    let start = out.count
    for byte in text {
      switch byte {
      case UInt8(ascii: "."), UInt8(ascii: "*"), UInt8(ascii: ">"), UInt8(ascii: "="), 0...0x20, 0x7F...:
        out.append(UInt8(ascii: "="))
        out.append(digit(byte >> 4))
        out.append(digit(byte & 15))
      default: out.append(byte)
      }
    }
    if out.count == start { out.append(UInt8(ascii: "=")) }
  }

  /// The text of a token; nil for a token that `append` does not write.
  package static func text(_ token: some Collection<UInt8>) -> [UInt8]? {
    if token.count == 1, token.first == UInt8(ascii: "=") { return [] }
    var text: [UInt8] = []
    var rest = Array(token)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "=") else {
        text.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(value), let low = rest.popFirst().flatMap(value) else { return nil }
      text.append(high << 4 | low)
    }
    var again: [UInt8] = []
    append(text, to: &again)
    return !text.isEmpty && again.elementsEqual(token) ? text : nil
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
