/// What is wrong with a recording, and where.
package struct RecordingError: Error, Sendable, CustomStringConvertible {
  package let path: String
  /// From 1; nil if it is not about a line.
  package let line: Int?
  /// The key that is missing or wrong; nil if it is not about one.
  package let field: String?
  package let reason: String
  /// Whether it is one line that is wrong, and what follows can be read.
  let isOfOneLine: Bool

  package init(path: String, line: Int? = nil, field: String? = nil, _ reason: String) {
    self.init(path: path, line: line, field: field, reason, isOfOneLine: false)
  }

  package init(path: String, line: Int?, field: String?, _ reason: String, isOfOneLine: Bool) {
    self.isOfOneLine = isOfOneLine
    self.path = path
    self.line = line
    self.field = field
    self.reason = reason
  }

  /// `recording.gz, line 3, field t: …`
  package var description: String {
    path + (line.map { ", line \($0)" } ?? "") + (field.map { ", field \($0)" } ?? "") + ": " + reason
  }

  /// The same without the file: `line 3, field t: …`
  package var shortDescription: String {
    let place = [line.map { "line \($0)" }, field.map { "field \($0)" }].compactMap(\.self).joined(separator: ", ")
    return place.isEmpty ? reason : "\(place): \(reason)"
  }
}
