import Transport

/// The entity tags of documents (RFC 9110 section 8.8.3), quotes included.
///
/// A document's tag is its revision. A text that also changes without its revision, such as an alert that fires, adds a
/// point and a digest. A list has no revision: its tag is the digest alone.
package enum RevisionTag {
  /// `"7"`
  static func text(_ revision: Int64) -> String { "\"\(revision)\"" }

  /// `"7.00f1…"`
  static func text(_ revision: Int64, _ text: [UInt8]) -> String { "\"\(revision).\(digest(of: text))\"" }

  /// `"00f1…"`
  package static func text(ofList text: [UInt8]) -> String { "\"\(digest(of: text))\"" }

  private static func digest(of text: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(Digest.sha256(text).prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  /// The revision in one strong tag; nil: the text is not such a tag.
  static func revision(in tag: String) -> Int64? {
    guard tag.count > 2, tag.hasPrefix("\""), tag.hasSuffix("\""), !tag.contains(",") else { return nil }
    return Int64(tag.dropFirst().dropLast().prefix { $0 != "." })
  }
}
