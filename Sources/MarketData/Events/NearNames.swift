/// Names close to a misspelled one, for error messages: symbols, venues, channels, settings.
package enum NearNames {
  /// Of `candidates`, at most `limit` that differ from `name` in at most a third of its letters (1 to 4 of them),
  /// nearest first, then by name. It ignores the case of the letters A to Z, and everything after the 64th byte.
  /// O(candidates × length): a row of the comparison has nine cells, and a row without a near cell ends it.
  package static func of(_ name: String, among candidates: some Sequence<String>, limit: Int = 3) -> [String] {
    let wanted = Letters(name)
    let reach = min(4, max(1, wanted.count / 3))
    var found: [(distance: Int, name: String)] = []
    for candidate in candidates {
      guard let distance = distance(wanted, Letters(candidate), atMost: reach) else { continue }
      found.append((distance, candidate))
    }
    return found.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(limit).map(\.name)
  }

  /// ` (did you mean kraken?)`, or nothing.
  package static func question(_ name: String, among candidates: some Sequence<String>) -> String {
    let near = of(name, among: candidates)
    return near.isEmpty ? "" : " (did you mean \(near.joined(separator: " or "))?)"
  }

  /// The first 64 bytes of a name, A to Z as a to z. It allocates no memory, because a stranger may cause thousands of
  /// comparisons a second.
  struct Letters {
    private(set) var bytes = InlineArray<64, UInt8>(repeating: 0)
    private(set) var count = 0

    init(_ name: String) {
      for byte in name.utf8.prefix(64) {
        bytes[count] = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
        count += 1
      }
    }
  }

  /// Insertions, deletions, substitutions and swaps of neighbours that make `a` of `b` (optimal string alignment); nil
  /// for more than `reach`, which is at most 64. Only cells at most `reach` from the diagonal matter.
  static func distance(_ a: Letters, _ b: Letters, atMost reach: Int) -> Int? {
    guard abs(a.count - b.count) <= reach else { return nil }
    guard a.count > 0, b.count > 0 else { return max(a.count, b.count) }
    let reach = UInt8(clamping: reach)
    let beyond = reach + 1
    var before = InlineArray<65, UInt8>(repeating: beyond)
    var last = InlineArray<65, UInt8>(repeating: beyond)
    for j in 0...min(b.count, Int(reach)) { last[j] = UInt8(j) }
    for i in 1...a.count {
      var row = InlineArray<65, UInt8>(repeating: beyond)
      if i <= reach { row[0] = UInt8(i) }
      var least = row[0]
      for j in max(1, i - Int(reach))...min(b.count, i + Int(reach)) {
        var best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a.bytes[i - 1] == b.bytes[j - 1] ? 0 : 1))
        if i > 1, j > 1, a.bytes[i - 1] == b.bytes[j - 2], a.bytes[i - 2] == b.bytes[j - 1] {
          best = min(best, before[j - 2] + 1)
        }
        row[j] = min(best, beyond)
        least = min(least, best)
      }
      // A swap skips a row, but then a substitution would have been as near in the row between.
      guard least <= reach else { return nil }
      before = last
      last = row
    }
    return last[b.count] <= reach ? Int(last[b.count]) : nil
  }
}
