import Testing

@Suite("The list of changes")
struct ChangelogTests {
  @Test("its newest release is the version of the program, and each release has its date")
  func releases() throws {
    let list = try #require(SourceTree.files(in: "Deploy", ["md"]).first { $0.name == "CHANGELOG.md" })
    let titles = list.lines.filter { $0.hasPrefix("## ") }.map { $0.dropFirst(3) }
    var releases = titles[...]
    if releases.first == "Not released yet" { releases.removeFirst() }
    let versions = releases.map { title in
      let match = title.wholeMatch(of: #/([0-9]+\.[0-9]+\.[0-9]+) \(20[0-9]{2}-[01][0-9]-[0-3][0-9]\)/#)
      return match.map { String($0.1) } ?? "no release: \(title)"
    }
    let source = try #require(
      SourceTree.files(in: "Sources/Build", ["swift"]).first { $0.name == "TidegateVersion.swift" })
    let current = source.lines.lazy.compactMap { $0.firstMatch(of: #/static let current = "(.+)"/#) }.first
    #expect(versions.first == current.map { String($0.1) })
    #expect(versions.allSatisfy { !$0.hasPrefix("no release") }, "\(versions)")
  }
}
