import Testing

/// `Tests` mirrors `Sources`, so that a file's name tells where its test is.
@Suite("Tests mirror sources")
struct MirrorTests {
  /// Folders of tests for behaviour that no single source folder has.
  private static let others: [String: Set<String>] = [
    "Cluster": ["Simulation"],
    "Gateway": ["EndToEnd"],
    "PubSub": ["Support"],
    "VenueSimulator": ["Handover", "Liveness", "Property"],
  ]
  /// Test targets of code that lies outside `Sources`.
  private static let elsewhere: Set<String> = ["Fuzz", "House", "Load", "Simulation"]

  @Test("every target with Swift code has tests, and every folder of tests a target")
  func targets() throws {
    let sources = Set(SourceTree.files(in: "Sources").map(\.target))
    let tests = try Set(
      SourceTree.folders(in: "Tests").filter { $0.hasSuffix("Tests") }.map { String($0.dropLast("Tests".count)) })
    #expect(sources.subtracting(tests) == [])
    #expect(tests.subtracting(sources) == Self.elsewhere)
  }

  @Test("the tests of a source file are in the folder of its name")
  func folders() {
    let sources = Dictionary(grouping: SourceTree.files(in: "Sources"), by: \.target)
    for test in SourceTree.files(in: "Tests") where test.target.hasSuffix("Tests") {
      let target = String(test.target.dropLast("Tests".count))
      guard let files = sources[target] else { continue }
      let folders = Set(files.map(\.folder)).union(Self.others[target] ?? []).union([""])
      #expect(folders.contains(test.folder), "\(test.path): Sources/\(target) has no such folder")
      guard test.name.hasSuffix("Tests.swift") else { continue }
      let subject = String(test.name.dropLast("Tests.swift".count)) + ".swift"
      let indices = files.filter { $0.name == subject }.map(\.folder)
      #expect(indices.isEmpty || indices.contains(test.folder), "\(test.path): its source is in \(indices)")
    }
  }
}
