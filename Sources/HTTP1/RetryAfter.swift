/// How long a server asks to wait before the next request: the `Retry-After` field (RFC 9110 section 10.2.3).
package enum RetryAfter {
  /// The longest accepted wait, s. A venue's ban may last days. But if a longer wait was sent by mistake or malice, the
  /// client tries again after an hour.
  package static let longest: Int64 = 3_600
  /// The shortest accepted wait, s: a server that says "at once" has refused nevertheless.
  package static let shortest: Int64 = 1

  /// Seconds to wait, from `shortest` to `longest`; nil if the field is neither a number of seconds nor a date.
  /// - Parameter now: seconds since 1970, for a field that says a date.
  package static func seconds(_ field: String, now: Int64) -> Int64? {
    let text = field.trimming([" ", "\t"])
    if !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) {
      // More digits than fit are more than `longest`.
      return min(max(Int64(text) ?? longest, shortest), longest)
    }
    guard let date = HTTPDate.parse(text) else { return nil }
    return min(max(date - now, shortest), longest)
  }
}

extension String {
  fileprivate func trimming(_ characters: Set<Character>) -> String {
    String(drop { characters.contains($0) }.reversed().drop { characters.contains($0) }.reversed())
  }
}
