/// Finds mistakes in the text of a YAML file that a parser accepts or reports in terms that do not help: keys that
/// appear twice, a `*` without quotation marks, which YAML takes for a reference, and tabs as indentation.
///
/// It reads the lines of a usual configuration: maps in block style with plain values and lists. It leaves everything
/// else to the parser.
struct YAMLMistakes {
  private(set) var found: [FileMistake] = []

  /// A map that lines may still belong to.
  private struct Level {
    let indentation: Int
    let path: String
    /// Keys so far, and their lines.
    var keys: [String: Int] = [:]
    /// The last key: a deeper map belongs to it.
    var last = ""
  }
  private var levels: [Level] = []
  /// The indentation of a block of text: lines that are indented more belong to it.
  private var textIndentation: Int?
  private let anchors: Set<Substring>

  init(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    anchors = Set(
      lines.flatMap { line in
        var rest = Self.withoutComment(line).drop { $0 == " " }
        while rest.hasPrefix("- ") { rest = rest.dropFirst().drop { $0 == " " } }
        let value = Self.entry(rest)?.value ?? rest
        return Self.unquotedWords(value).filter { $0.hasPrefix("&") }.map { $0.dropFirst() }
      })
    for (index, line) in lines.enumerated() { read(Self.withoutComment(line), number: index + 1) }
  }

  private mutating func read(_ line: Substring, number: Int) {
    guard line.contains(where: { $0 != " " && $0 != "\t" && $0 != "\r" }) else { return }
    let space = line.prefix { $0 == " " || $0 == "\t" }
    if let textIndentation {
      if space.count > textIndentation { return }
      self.textIndentation = nil
    }
    if space.contains("\t") {
      found.append(
        FileMistake(
          name: "config", lines: [number], message: "is indented with a tab", allowed: "spaces: YAML takes no tabs"))
    }
    var rest = line.dropFirst(space.count)
    var indentation = space.count
    while rest == "-" || rest.hasPrefix("- ") {
      // Each element of a list starts again.
      levels.removeAll { $0.indentation > indentation }
      rest = rest.dropFirst()
      let skipped = rest.prefix { $0 == " " }.count
      rest = rest.dropFirst(skipped)
      indentation += 1 + skipped
      levels.removeAll { $0.indentation >= indentation }
    }
    guard let (key, value) = Self.entry(rest) else {
      if !rest.hasPrefix("---"), !rest.hasPrefix("%") { checkReferences(rest, number) }
      return
    }
    note(key, indentation: indentation, number: number)
    if value.hasPrefix("|") || value.hasPrefix(">") {
      textIndentation = indentation
    } else {
      checkReferences(value, number)
    }
  }

  private mutating func note(_ key: String, indentation: Int, number: Int) {
    levels.removeAll { $0.indentation > indentation }
    if levels.last?.indentation != indentation {
      let above = levels.last.map { $0.path.isEmpty ? $0.last : "\($0.path).\($0.last)" } ?? ""
      levels.append(Level(indentation: indentation, path: above))
    }
    let index = levels.count - 1
    let path = levels[index].path.isEmpty ? key : "\(levels[index].path).\(key)"
    if let first = levels[index].keys[key] {
      found.append(
        .repeated(path, lines: [first, number]))
    } else {
      levels[index].keys[key] = number
    }
    levels[index].last = key
  }

  /// A value, or an element of a list in brackets, that begins with `*` and names no anchor.
  private mutating func checkReferences(_ value: Substring, _ number: Int) {
    for word in Self.unquotedWords(value) where word.hasPrefix("*") && !anchors.contains(word.dropFirst()) {
      found.append(
        FileMistake(
          name: "\(word)", lines: [number],
          message: "begins with * and has no quotation marks: YAML takes it for a reference",
          allowed: "\"\(word)\""))
    }
  }

  /// `key: value`; nil if the line is something else. A value may be missing: then a map or a list follows.
  private static func entry(_ text: Substring) -> (key: String, value: Substring)? {
    var key: Substring
    var rest: Substring
    if let quote = text.first, quote == "\"" || quote == "'" {
      key = text.dropFirst().prefix { $0 != quote }
      rest = text.dropFirst(key.count + 2).drop { $0 == " " }
      guard rest.first == ":" else { return nil }
      rest = rest.dropFirst()
    } else {
      guard let first = text.first, !"[{*&!|>%@`,".contains(first) else { return nil }
      guard
        let colon = text.indices.first(where: { index in
          let next = text.index(after: index)
          return text[index] == ":" && (next == text.endIndex || text[next] == " " || text[next] == "\r")
        })
      else { return nil }
      key = text[..<colon]
      rest = text[text.index(after: colon)...]
      while key.last == " " { key.removeLast() }
    }
    return (String(key), rest.drop { $0 == " " })
  }

  /// The first word of each value without quotation marks: of the text, and of each element in brackets or braces.
  private static func unquotedWords(_ text: Substring) -> [Substring] {
    var words: [Substring] = []
    var start: Substring.Index?
    var quote: Character?
    var depth = 0
    /// Whether the next word is the first of a value.
    var isFirst = true
    func end(_ index: Substring.Index) {
      if let from = start { words.append(text[from..<index]) }
      start = nil
    }
    for index in text.indices {
      let character = text[index]
      if let open = quote {
        if character == open { quote = nil }
      } else if " ,[]{}\t\r".contains(character) {
        end(index)
        if character == "[" || character == "{" { depth += 1 }
        if character == "]" || character == "}" { depth -= 1 }
        if "[{,".contains(character), depth > 0 { isFirst = true }
      } else if start == nil, isFirst {
        isFirst = false
        if character == "\"" || character == "'" { quote = character } else { start = index }
      }
    }
    end(text.endIndex)
    return words
  }

  /// The line without what follows a ` #` outside of quotation marks.
  private static func withoutComment(_ line: Substring) -> Substring {
    var quote: Character?
    var previous: Character = " "
    for index in line.indices {
      let character = line[index]
      if let open = quote {
        if character == open { quote = nil }
      } else if character == "#", previous == " " || previous == "\t" {
        return line[..<index]
      } else if character == "\"" || character == "'", " ,[{:-".contains(previous) {
        quote = character
      }
      previous = character
    }
    return line
  }
}
