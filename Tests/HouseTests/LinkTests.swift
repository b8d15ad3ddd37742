import Foundation
import Testing

@Suite("Links")
struct LinkTests {
  @Test("every link of a document to a file of the project leads somewhere, and every guide of the gateway is listed")
  func links() throws {
    var count = 0
    for file in SourceTree.files(in: "", ["md"]) {
      let folder = SourceTree.root.appendingPathComponent(file.path).deletingLastPathComponent()
      for link in file.lines.joined(separator: "\n").matches(of: #/\]\(([^)\s]+)\)/#) {
        let target = link.1.prefix { $0 != "#" }
        guard !target.isEmpty, !target.contains("://") else { continue }
        count += 1
        let path = folder.appendingPathComponent(String(target)).standardizedFileURL.path
        #expect(FileManager.default.fileExists(atPath: path), "\(file.path) links to \(target)")
      }
    }
    #expect(count > 20)
    let guides = SourceTree.files(in: "Sources/Gateway/Gateway.docc", ["md"])
    let list = try #require(guides.first { $0.name == "Gateway.md" }).lines.joined()
    for guide in guides where guide.name != "Gateway.md" { #expect(list.contains("(\(guide.name))"), "\(guide.path)") }
  }

  /// A file, and a function that a document says it has.
  private struct Station: Hashable {
    let path: String
    let function: String
  }

  /// By the definitions of links, such as `[Market]: ../Market.swift`: the function names in backquotes after each use
  /// of one, up to the next.
  private static func stations(of document: SourceTree.File) -> [Station] {
    let folder = SourceTree.root.appendingPathComponent(document.path).deletingLastPathComponent()
    let definitions = document.lines.compactMap { $0.wholeMatch(of: #/\[(\S+)\]: (\S+\.swift)/#) }
    let files = Dictionary(
      uniqueKeysWithValues: definitions.map { match in
        (match.1, folder.appendingPathComponent(String(match.2)).standardizedFileURL.path)
      })
    return document.lines.flatMap { line in
      line.matches(of: #/\[(\S+)\](?!:)([^\[|]*)/#).flatMap { match in
        match.2.matches(of: #/`(\w+)`/#).map { Station(path: files[match.1] ?? "no file", function: String($0.1)) }
      }
    }
  }

  @Test("each function that the path of a tick names stands in the file that it names")
  func stations() throws {
    let name = "Sources/Gateway/Gateway.docc/ATick.md"
    let document = try #require(SourceTree.files(in: "Sources/Gateway/Gateway.docc", ["md"]).first { $0.path == name })
    let stations = Self.stations(of: document)
    // Each row of the four tables names one at least.
    let rows = document.lines.filter { $0.wholeMatch(of: #/\| \d+ \|.*/#) != nil }
    #expect(rows.count == 31 && stations.count >= rows.count)
    for station in Set(stations) {
      let text = try String(contentsOf: URL(fileURLWithPath: station.path), encoding: .utf8)
      let hasFunction = text.contains("func \(station.function)(")
      #expect(hasFunction, "\(station.path) has no \(station.function)")
    }
  }
}
