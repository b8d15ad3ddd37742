/// Topics by exact name (`risk-state`), by the beginning of their names (`risk-*`), or all (`*`).
package struct TopicRules: Sendable, Hashable {
  private var names: Set<String> = []
  private var beginnings: Set<String> = []

  /// - Parameter patterns: none allows nothing.
  /// - Returns: nil if one of them is not a pattern.
  package init?(_ patterns: some Sequence<String>) {
    for pattern in patterns {
      if pattern.hasSuffix("*") {
        let beginning = String(pattern.dropLast())
        guard beginning.isEmpty || TopicBoard.isName(beginning) else { return nil }
        beginnings.insert(beginning)
      } else {
        guard TopicBoard.isName(pattern) else { return nil }
        names.insert(pattern)
      }
    }
  }

  /// O(patterns).
  package func allows(_ name: String) -> Bool {
    names.contains(name) || beginnings.contains { name.hasPrefix($0) }
  }

  /// The patterns in order, for people.
  package var patterns: [String] { (Array(names) + beginnings.map { $0 + "*" }).sorted() }
}
