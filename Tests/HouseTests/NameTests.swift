import Testing

/// One name for one thing, and one thing for one name.
@Suite("Names")
struct NameTests {
  /// Names that said less than another word says, each with what to write instead.
  private static let names: [(forbidden: Substring, instead: String)] = [
    ("place", "index, route, slot or location"), ("places", "indices, routes, slots or locations"),
    ("trouble", "failure"), ("hearing", "outcome"),
  ]

  /// Names that two targets have for two things. An entry may only go.
  private static let twice: Set<String> = [
    "Base64", "BinanceSession", "CandleInterval", "Dialect", "Digest", "KrakenChannel", "KrakenSession",
  ]

  @Test("code says index, route, slot, location, failure")
  func words() {
    var found: [String] = []
    for file in SourceTree.files(in: "Sources") {
      var code = SwiftCode()
      for (index, line) in file.lines.enumerated() {
        let words = code.take(line).split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        for name in Self.names where words.contains(name.forbidden) {
          found.append("\(file.path):\(index + 1) \(name.forbidden): \(name.instead)")
        }
      }
    }
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  /// The client library has the gateway's words for what an app sees of the same things, and the two never meet.
  @Test("a type's name is one target's, or the client library's and one other's")
  func types() {
    var targets: [String: Set<String>] = [:]
    for file in SourceTree.files(in: "Sources") where file.target != "TidegateClient" {
      var code = SwiftCode()
      for line in file.lines {
        guard let name = Self.declared(code.take(line)) else { continue }
        targets[name, default: []].insert(file.target)
      }
    }
    #expect(targets.count > 1_000, "only \(targets.count) types were found")
    let twice = Set(targets.filter { $0.value.count > 1 }.keys)
    for name in twice.subtracting(Self.twice).sorted() {
      Issue.record("\(name) is a type of \(targets[name, default: []].sorted().joined(separator: " and of "))")
    }
    for name in Self.twice.subtracting(twice).sorted() {
      Issue.record("\(name) is one target's only: it needs no allowance any more")
    }
  }

  /// The name of the type that a line of code declares at a file's top, where others of the target see it.
  private static func declared(_ line: String) -> String? {
    guard line.first?.isLetter == true else { return nil }
    var words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }[...]
    while let first = words.first, ["package", "public", "final", "indirect"].contains(first) { words.removeFirst() }
    guard let kind = words.popFirst() else { return nil }
    guard ["struct", "enum", "class", "actor", "protocol"].contains(kind) else { return nil }
    return words.first.map(String.init)
  }

  @Test(
    "a declaration at the top of a file has a name, another line has none",
    arguments: [
      ("package final class Line: Sendable {", "Line"), ("struct Line<Value> {", "Line"), ("  struct Line {", nil),
      ("private struct Line {", nil), ("extension Line {", nil), ("enum `Line` {", "Line"), ("}", nil),
    ])
  func declarations(_ line: String, _ name: String?) {
    #expect(Self.declared(line) == name)
  }
}
