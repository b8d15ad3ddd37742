/// Words like one that is not known, for hints.
package enum NearMatches {
  /// Characters beyond which a word is not compared.
  private static let lengthLimit = 64

  /// Up to `limit` of `words` within an edit distance of a third of the length (1…4), nearest first, then by name.
  /// Letter case does not count. O(words × length²).
  package static func of(_ word: String, among words: some Sequence<String>, limit: Int) -> [String] {
    let target = Array(word.lowercased().utf8.prefix(lengthLimit))
    let bound = min(4, max(1, target.count / 3))
    var found: [(distance: Int, word: String)] = []
    for candidate in words {
      let other = Array(candidate.lowercased().utf8.prefix(lengthLimit))
      guard abs(other.count - target.count) <= bound else { continue }
      let distance = distance(target, other)
      if distance <= bound { found.append((distance, candidate)) }
    }
    found.sort { $0.distance == $1.distance ? $0.word < $1.word : $0.distance < $1.distance }
    return found.prefix(limit).map(\.word)
  }

  /// Levenshtein distance.
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var row = Array(0...b.count)
    for i in a.indices {
      var diagonal = row[0]
      row[0] = i + 1
      for j in b.indices {
        let above = row[j + 1]
        row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1))
        diagonal = above
      }
    }
    return row[b.count]
  }
}
