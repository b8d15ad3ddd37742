/// What is wrong with a recording, and where.
package struct RecordingError: Error, Sendable, CustomStringConvertible {
  package let path: String
  /// From 1; nil if it is not about a line.
  package let line: Int?
  /// The key that is missing or wrong; nil if it is not about one.
  package let field: String?
  package let reason: String

  package init(path: String, line: Int? = nil, field: String? = nil, _ reason: String) {
    self.path = path
    self.line = line
    self.field = field
    self.reason = reason
  }

  /// `recording.gz, line 3, field t: …`
  package var description: String {
    path + (line.map { ", line \($0)" } ?? "") + (field.map { ", field \($0)" } ?? "") + ": " + reason
  }
}
