/// Names close to a misspelled one, for error messages: symbols, venues, channels, settings.
package enum NearNames {
  /// Of `candidates`, at most `limit` that differ from `name` in at most a third of its letters (1 to 4 of them),
  /// nearest first, then by name. Letter case does not count, nor what stands behind the 64th letter. O(candidates ×
  /// length²).
  package static func of(_ name: String, among candidates: some Sequence<String>, limit: Int = 3) -> [String] {
    let wanted = Array(name.lowercased().utf8.prefix(64))
    let reach = min(4, max(1, wanted.count / 3))
    var found: [(distance: Int, name: String)] = []
    for candidate in candidates {
      let other = Array(candidate.lowercased().utf8.prefix(64))
      guard abs(other.count - wanted.count) <= reach else { continue }
      let distance = distance(wanted, other)
      if distance <= reach { found.append((distance, candidate)) }
    }
    return found.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(limit).map(\.name)
  }

  /// ` (did you mean kraken?)`, or nothing.
  package static func question(_ name: String, among candidates: some Sequence<String>) -> String {
    let near = of(name, among: candidates)
    return near.isEmpty ? "" : " (did you mean \(near.joined(separator: " or "))?)"
  }

  /// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
  static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
    var before = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for i in 1...a.count {
      var row = [i]
      for j in 1...b.count {
        var best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { best = min(best, before[j - 2] + 1) }
        row.append(best)
      }
      before = last
      last = row
    }
    return last[b.count]
  }
}
