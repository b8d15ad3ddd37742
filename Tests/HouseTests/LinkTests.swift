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
}
