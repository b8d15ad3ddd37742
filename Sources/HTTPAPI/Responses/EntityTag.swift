import PubSub

/// Strong entity tags (RFC 9110 section 8.8.3).
package enum EntityTag {
  /// `"00f1…"`
  package static func text(_ tag: ContentTag) -> String {
    let digits = String(tag.value, radix: 16)
    return "\"\(String(repeating: "0", count: 16 - digits.count))\(digits)\""
  }

  /// The tag of the gzip form of the content with `tag`.
  static func ofCompressed(_ tag: String) -> String { "\(tag.dropLast())-gzip\"" }

  /// The client's tag for the content with `tag`, plain or as gzip; nil if it has neither.
  package static func match(_ lists: [String], _ tag: String) -> String? {
    guard !lists.isEmpty else { return nil }
    if matches(lists, tag) { return tag }
    let compressed = ofCompressed(tag)
    return matches(lists, compressed) ? compressed : nil
  }

  /// Whether lists of entity tags hold `tag` (section 13.1.2, weak comparison).
  static func matches(_ lists: [String], _ tag: String) -> Bool {
    lists.contains { list in
      list.split(separator: ",").contains { item in
        var item = item.drop { $0 == " " }
        while item.last == " " { item = item.dropLast() }
        if item.hasPrefix("W/") { item = item.dropFirst(2) }
        return item == "*" || item == tag
      }
    }
  }
}
