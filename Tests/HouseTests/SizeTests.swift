import Testing

/// How large a file, a type and a line may get.
@Suite("Sizes")
struct SizeTests {
  private static let lineLimit = 120
  private static let fileLimit = 500
  /// A type in more files than this has become several things.
  private static let pieceLimit = 4

  /// Types that are still cut into more files, and into how many. An entry may only shrink, and goes when it reaches
  /// the limit.
  private static let pieces: [String: Int] = [
    "Alerts.AlertEngine": 5,
    "PubSub.StreamPublisher": 6,
    "PubSub.SubscriberHub": 13,
    "Transport.Connection": 5,
    "Venues.FeedEngine": 5,
    "Venues.InstrumentTable": 5,
      // Each venue's rule stands with its venue.
  ]

  /// Source files that are still longer, and their lines. An entry may only shrink, and goes when it reaches the limit.
  private static let longFiles: [String: Int] = [:]

  /// Lines of Swift that may still be wider, by target. An entry may only shrink.
  private static let wideLines: [String: Int] = [:]

  /// Table rows of Markdown that are still wider, by file. An entry may only shrink, and goes when it reaches 0.
  private static let wideRows: [String: Int] = [
    "Sources/PubSub/PubSub.docc/Protocol.md": 11,
    "Sources/Venues/Venues.docc/AddingAnExchange.md": 2,
    "Sources/Venues/Venues.docc/Gate.md": 4,
    "Sources/Venues/Venues.docc/KuCoin.md": 7,
  ]

  /// The name of the type that a line at the margin declares or extends; nil if it does neither. Private types and
  /// extensions of types of other modules do not count.
  private static func type(_ line: Substring) -> Substring? {
    guard line.first != " " else { return nil }
    var words = line.split(separator: " ")[...]
    while let word = words.first,
      ["package", "public", "open", "final", "indirect"].contains(word) || word.first == "@"
    {
      words.removeFirst()
    }
    guard let keyword = words.popFirst(), ["class", "struct", "enum", "actor", "extension"].contains(keyword) else {
      return nil
    }
    return words.first?.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
  }

  @Test("no type is spread over more than four files")
  func types() {
    var declared: Set<String> = []
    var files: [String: Set<String>] = [:]
    for source in SourceTree.files(in: "Sources") {
      for line in source.lines {
        guard let name = Self.type(line) else { continue }
        let key = "\(source.target).\(name)"
        if !line.hasPrefix("extension") { declared.insert(key) }
        files[key, default: []].insert(source.path)
      }
    }
    for (type, indices) in files.sorted(by: { $0.key < $1.key }) where declared.contains(type) {
      let allowed = Self.pieces[type] ?? Self.pieceLimit
      #expect(indices.count <= allowed, "\(type) is in \(indices.count) files: \(indices.sorted())")
    }
    for (type, count) in Self.pieces.sorted(by: { $0.key < $1.key }) {
      let now = files[type]?.count ?? 0
      #expect(now > Self.pieceLimit, "\(type) is in \(now) files: it needs no allowance of \(count) any more")
    }
  }

  @Test("no source file has more than 500 lines")
  func fileLengths() {
    for source in SourceTree.files(in: "Sources") {
      let lines = source.lines.count - (source.lines.last?.isEmpty == true ? 1 : 0)
      let allowed = Self.longFiles[source.path]
      #expect(lines <= allowed ?? Self.fileLimit, "\(source.path) has \(lines) lines")
      if let allowed {
        #expect(lines > Self.fileLimit, "\(source.path) has \(lines) lines: it needs no allowance of \(allowed)")
      }
    }
  }

  @Test("no line of code, comment or Markdown is wider than 120 characters")
  func lineWidths() {
    var counts: [String: Int] = [:]
    var examples: [String: [String]] = [:]
    for folder in ["Sources", "Tests", "Benchmarks"] {
      for source in SourceTree.files(in: folder) {
        var isText = false
        for (index, line) in source.lines.enumerated() {
          let isInText = isText
          if line.split(separator: "\"\"\"", omittingEmptySubsequences: false).count % 2 == 0 { isText.toggle() }
          guard line.count > Self.lineLimit, !isInText, !Self.holdsText(line) else { continue }
          counts[source.target, default: 0] += 1
          examples[source.target, default: []].append("\(source.path):\(index + 1) has \(line.count) characters")
        }
      }
    }
    for target in Set(counts.keys).union(Self.wideLines.keys).sorted() {
      let (now, allowed) = (counts[target] ?? 0, Self.wideLines[target])
      let list = (examples[target] ?? []).prefix(20).joined(separator: "\n")
      #expect(now <= allowed ?? 0, "\(target) has \(now) wide lines:\n\(list)")
      #expect(now > 0, "\(target) has no wide line: it needs no allowance any more")
    }
    for file in SourceTree.files(in: "", ["md"]) { Self.check(markdown: file) }
  }

  /// Whether a line cannot be broken: it has a string literal, or a comment quotes a message as a venue sends it.
  private static func holdsText(_ line: Substring) -> Bool {
    let text = line.drop { $0 == " " }
    guard text.hasPrefix("//") else { return text.contains("\"") }
    // The longest piece between two spaces outside quotations of code.
    return text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .contains { $0.offset % 2 == 1 && $0.element.count > lineLimit - 24 }
  }

  /// Code blocks and generated tables are not looked at.
  private static func check(markdown file: SourceTree.File) {
    var isCode = false
    var isGenerated = false
    var rows = 0
    for (index, line) in file.lines.enumerated() {
      let text = line.drop { $0 == " " }
      if text.hasPrefix("```") { isCode.toggle() }
      if text.hasPrefix("<!-- generated") { isGenerated = true }
      if text.hasPrefix("<!-- /generated") { isGenerated = false }
      guard line.count > lineLimit, !isCode, !isGenerated, !line.hasPrefix("    ") else { continue }
      if text.hasPrefix("|") {
        rows += 1
      } else {
        Issue.record("\(file.path):\(index + 1) has \(line.count) characters")
      }
    }
    let allowed = wideRows[file.path]
    #expect(rows <= allowed ?? 0, "\(file.path) has \(rows) table rows of more than \(lineLimit) characters")
    #expect(rows > 0 || allowed == nil, "\(file.path) has no wide row: it needs no allowance any more")
  }
}
