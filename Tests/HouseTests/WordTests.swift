import Testing

/// Words that say less than they seem to, or that only those who wrote them understand.
@Suite("Words")
struct WordTests {
  /// Each with what to write instead.
  private static let words: [(forbidden: String, instead: String)] = [
    ("is told", "reports, logs, says"), ("are told", "report, log, say"), ("of no use", "rejected, unreadable"),
    (" be it ", "even if, whether"), ("whoever", "anyone who"), ("who reads", "the reader"),
    (" is none of", "is not one of"), (" is none.", "does not exist, is not"), ("to be had", "available"),
    ("such as tell", "that say"),
    ("comes meanwhile", "arrives in the meantime"),
  ]

  /// Occurrences that may be left, by target. An entry may only shrink.
  private static let left: [String: Int] = [:]

  @Test("comments, texts and guides use plain words")
  func plain() {
    var counts: [String: Int] = [:]
    var examples: [String: [String]] = [:]
    for file in SourceTree.files(in: "Sources", ["swift", "md"]) {
      let whole = file.lines.joined(separator: "\n").lowercased()
      guard Self.words.contains(where: { whole.contains($0.forbidden) }) else { continue }
      for (index, line) in file.lines.enumerated() {
        let text = line.lowercased().replacing("there is none", with: "")
        for word in Self.words where text.contains(word.forbidden) {
          counts[file.target, default: 0] += 1
          examples[file.target, default: []].append("\(file.path):\(index + 1) \"\(word.forbidden)\": \(word.instead)")
        }
      }
    }
    for target in Set(counts.keys).union(Self.left.keys).sorted() {
      let (now, allowed) = (counts[target] ?? 0, Self.left[target])
      let list = (examples[target] ?? []).prefix(20).joined(separator: "\n")
      #expect(now <= allowed ?? 0, "\(target) has \(now) such words:\n\(list)")
      #expect(now > 0, "\(target) has no such word: it needs no allowance any more")
    }
  }
}
