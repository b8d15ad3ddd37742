extension ByteBuffer {
  /// Appends text that is safe in XML, in an element or an attribute: markup is escaped, what XML may not hold is left
  /// out.
  package mutating func append(xml text: String) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": append("&amp;")
      case "<": append("&lt;")
      case ">": append("&gt;")
      case "\"": append("&quot;")
      case "\u{0}"..<" ", "\u{7F}"..."\u{9F}", "\u{FFFE}"..."\u{FFFF}": continue
      default: append(String(scalar))
      }
    }
  }

  /// Appends a coordinate of a picture, rounded to hundredths: `12.5`.
  package mutating func append(coordinate value: Double) {
    let hundredths = Int64((value * 100).rounded(.toNearestOrEven))
    if hundredths % 100 == 0 { return append(integer: hundredths / 100) }
    append(decimal: hundredths, scale: 2)
  }
}
