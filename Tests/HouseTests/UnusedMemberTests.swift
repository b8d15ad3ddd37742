import Testing

/// Declarations that nothing uses, found by their names: a name that stands nowhere but where it is declared.
@Suite("Unused members")
struct UnusedMemberTests {
  /// What the compiler or a library calls, and constants that complete a table of an RFC.
  private static let called: Set<String> = [
    "appendLiteral", "callAsFunction", "customMirror", "fromDatabaseValue",
    "policyViolation", "serviceRestart", "tryAgainLater",
  ]

  /// What only tests look at: the inside of something that does not show outside. The list may only shrink.
  private static let seenByTests: Set<String> = [
    "clientCount", "discardAll", "findSlowly", "flushNow", "goingAway", "hasExtras", "hasTrouble",
    "holdsBack", "holdsInflater", "idleCount", "inspect", "isWitnessed", "nextTurn", "nextWake", "tickNow",
    "tlsIsResumed", "tlsPeerSubject", "tlsVersion", "urlSession", "waitingEntries",
  ]

  private static let modifiers: Set<Substring> = [
    "borrowing", "class", "consuming", "fileprivate", "final", "internal", "lazy", "mutating", "nonisolated", "open",
    "package", "private", "public", "static", "unowned", "weak",
  ]

  /// The name that a line declares; nil if it declares none, or one that others may use or that replaces another.
  private static func declared(_ words: [Substring], isOfClient: Bool) -> Substring? {
    guard let keyword = words.firstIndex(where: { ["func", "let", "var"].contains($0) }), keyword + 1 < words.count
    else { return nil }
    let before = words[..<keyword]
    guard before.allSatisfy({ modifiers.contains($0) || $0 == "set" || $0 == "inline" || $0 == "__always" }) else {
      return nil
    }
    return isOfClient && before.contains("public") ? nil : words[keyword + 1]
  }

  private static func words(_ line: Substring) -> [Substring] {
    let code = line.firstRange(of: " //").map { line[..<$0.lowerBound] } ?? line
    guard !code.hasPrefix("//") else { return [] }
    return code.split { !($0.isLetter || $0.isNumber || $0 == "_") }
  }

  @Test("there are none; what only tests use is on the list")
  func none() {
    var uses: [Substring: (sources: Int, others: Int)] = [:]
    var declarations: [Substring: (count: Int, path: String)] = [:]
    for (folder, isSource) in [("Sources", true), ("Tests", false), ("Benchmarks", false)] {
      for file in SourceTree.files(in: folder) {
        for line in file.lines {
          let words = Self.words(line)
          for word in words {
            if isSource { uses[word, default: (0, 0)].sources += 1 } else { uses[word, default: (0, 0)].others += 1 }
          }
          guard isSource, let name = Self.declared(words, isOfClient: file.target.hasPrefix("TidegateClient")) else {
            continue
          }
          declarations[name, default: (0, file.path)].count += 1
        }
      }
    }
    #expect(declarations.count > 4_000)
    var forTests: Set<String> = []
    for (name, declaration) in declarations {
      guard let use = uses[name], use.sources <= declaration.count, !Self.called.contains(String(name)) else {
        continue
      }
      if use.others > 0 {
        forTests.insert(String(name))
      } else {
        Issue.record("\(declaration.path): nothing uses \(name)")
      }
    }
    #expect(forTests == Self.seenByTests)
  }
}
