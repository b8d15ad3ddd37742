/// Logfmt, one event a line: `time=… level=info msg="feed live" venue=kraken`.
///
/// Other parsers (go-logfmt, Loki, Vector, humanlog) read every key and value back unchanged. A value with anything but
/// plain text is quoted, with the escapes of a JSON string.
package enum Logfmt {
  /// The most characters of a value; the rest is cut off. Reasons may contain what venues and strangers sent.
  static let valueLimit = 4_096

  /// Appends `key=value`, after a space where something is before it.
  package static func append(_ key: String, _ value: String, to line: inout String) {
    if !line.isEmpty { line += " " }
    appendKey(key, to: &line)
    line += "="
    appendValue(value, to: &line)
  }

  /// A key contains printable characters except space, `=` and `"`; others become `_`.
  private static func appendKey(_ key: String, to line: inout String) {
    if key.isEmpty { line += "_" }
    for scalar in key.unicodeScalars {
      let isAllowed = scalar.value > 0x20 && scalar != "=" && scalar != "\"" && !isEscaped(scalar)
      line.unicodeScalars.append(isAllowed ? scalar : "_")
    }
  }

  private static func appendValue(_ value: String, to line: inout String) {
    let scalars = value.unicodeScalars
    let isPlain = scalars.allSatisfy { $0.value > 0x20 && $0 != "=" && $0 != "\"" && $0 != "\\" && !isEscaped($0) }
    let isWhole = scalars.index(scalars.startIndex, offsetBy: valueLimit, limitedBy: scalars.endIndex) == nil
    // A value that is cut off here ends at the limit exactly; `index` says nil only for shorter ones.
    let isCut = !isWhole && scalars.count > valueLimit
    if isPlain, !isCut, !value.isEmpty {
      line += value
      return
    }
    line += "\""
    for scalar in scalars.prefix(valueLimit) {
      switch scalar {
      case "\"": line += "\\\""
      case "\\": line += "\\\\"
      case "\n": line += "\\n"
      case "\r": line += "\\r"
      case "\t": line += "\\t"
      case _ where isEscaped(scalar): line += escape(scalar)
      default: line.unicodeScalars.append(scalar)
      }
    }
    if isCut { line += "…" }
    line += "\""
  }

  /// Whether a character would control a terminal or break a line instead of being shown: control characters (C0, DEL,
  /// C1), line and paragraph separators, and marks that change the direction of text.
  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }

  /// `\u001b`: all of them are in the basic plane.
  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
