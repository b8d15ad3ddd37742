import Foundation

/// `HTTPAPI.md` as its readers see it: sections of routes, with their parameters and examples.
package struct HTTPGuide {
  package struct Example {
    package let line: Int
    package let method: String
    package let target: String
    package let status: Int
    /// The JSON that is shown; nil where none is.
    package var body: String?
  }

  package struct Section {
    /// `/v1/books/{symbol}`; empty before the first.
    package let path: String
    package let isInternal: Bool
    package var parameters: [String] = []
    package var examples: [Example] = []
  }

  package private(set) var sections: [Section] = [Section(path: "", isInternal: false)]

  package static func load() throws -> HTTPGuide {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = root.appendingPathComponent("Sources/HTTPAPI/HTTPAPI.docc/HTTPAPI.md")
    return HTTPGuide(try String(contentsOf: file, encoding: .utf8))
  }

  package init(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var isInternal = false
    var index = 0
    while index < lines.count {
      let line = lines[index]
      index += 1
      if line.hasPrefix("## ") { isInternal = line.contains("Internal") }
      if line.hasPrefix("### `") {
        sections.append(Section(path: String(line.dropFirst(5).dropLast()), isInternal: isInternal))
      } else if line.hasPrefix("| `"), sections.count > 1, let end = line.dropFirst(3).firstIndex(of: "`") {
        sections[sections.count - 1].parameters.append(String(line[line.index(line.startIndex, offsetBy: 3)..<end]))
      } else if line == "```http" {
        let words = lines[index].split(separator: " ").map(String.init)
        sections[sections.count - 1].examples.append(
          Example(line: index, method: words[0], target: words[1], status: Int(lines[index + 1]) ?? 0))
        index += 3
      } else if line == "```json" {
        let end = lines[index...].firstIndex(of: "```") ?? lines.count
        let last = sections[sections.count - 1].examples.count - 1
        sections[sections.count - 1].examples[last].body = lines[index..<end].joined(separator: "\n")
        index = end + 1
      }
    }
  }

  /// The names and types of a JSON value: `{"state":string,"points":[string]}`. Elements of a list count once each
  /// kind.
  package static func shape(_ value: Any) -> String {
    switch value {
    case let object as [String: Any]:
      let fields = object.sorted { $0.key < $1.key }.map { "\($0.key):\(shape($0.value))" }
      return "{\(fields.joined(separator: ","))}"
    case let list as [Any]:
      return "[\(Set(list.map { shape($0) }).sorted().joined(separator: "|"))]"
    case is String: return "string"
    case let number as NSNumber where String(cString: number.objCType) == "c": return "boolean"
    default: return "number"
    }
  }

  package static func shape(of text: String) throws -> String {
    shape(try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
  }
}
