/// A mistake in a recording, with its location.
package struct RecordingError: Error, Sendable, CustomStringConvertible {
  package let path: String
  /// The line, from 1; nil if the mistake is not in a line.
  package let line: Int?
  /// The missing or wrong key; nil if the mistake is not about a key.
  package let field: String?
  package let reason: String
  /// Whether only one line is wrong, so that the rest can be read.
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
    let location = [line.map { "line \($0)" }, field.map { "field \($0)" }].compactMap(\.self).joined(separator: ", ")
    return location.isEmpty ? reason : "\(location): \(reason)"
  }
}
