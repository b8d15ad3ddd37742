import Foundation

/// A part of a document that is generated from the code, between `<!-- generated: NAME -->` and `<!-- /generated -->`.
///
/// A test compares it with the code. With `TIDEGATE_UPDATE_DOCUMENTS=1`, the test writes it instead.
package struct GeneratedPart {
  package struct Missing: Error, CustomStringConvertible {
    package let description: String
  }

  private let file: URL
  private let name: String

  /// - Parameter path: the path from the folder of the project: `README.md`.
  package init(_ name: String, in path: String) {
    self.name = name
    file = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent(path)
  }

  /// The present and the expected text of the part; equal after an update.
  package func compare(with lines: [String]) throws -> (document: String, code: String) {
    let text = try String(contentsOf: file, encoding: .utf8)
    let wanted = lines.joined(separator: "\n") + "\n"
    let begin = "<!-- generated: \(name) -->\n"
    guard let start = text.range(of: begin),
      let end = text.range(of: "<!-- /generated -->", range: start.upperBound..<text.endIndex)
    else { throw Missing(description: "\(file.path) has no part \(name)") }
    let range = start.upperBound..<end.lowerBound
    if environment("TIDEGATE_UPDATE_DOCUMENTS") == "1", text[range] != wanted {
      try text.replacingCharacters(in: range, with: wanted).write(to: file, atomically: true, encoding: .utf8)
      return (wanted, wanted)
    }
    return (String(text[range]), wanted)
  }
}
