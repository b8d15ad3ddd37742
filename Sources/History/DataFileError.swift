/// Why the data file could not be read or written.
package enum DataFileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A newer version of the program has written the file. `unknown` are the migrations that this version does not know.
  case newer(path: String, unknown: [String])
  /// The file is an SQLite database of another program.
  case foreign(path: String)
  /// The file, or a part of it, is corrupt.
  case damaged(path: String, reason: String)
  /// There is no space left.
  case full(path: String)
  /// Another process kept the file locked for five seconds.
  case busy(path: String)
  /// Another gateway has the file, or a gateway of another version, whose tables this program must not change.
  case owned(path: String, by: DataFileOwner)
  /// The system refuses access to the file or its directory, or reports an error.
  case inaccessible(path: String, reason: String)
  /// Anything else, in the words of the library that reported it.
  case failed(path: String, reason: String)

  package var description: String {
    switch self {
    case .newer(let path, let unknown):
      "\(path) was written by a newer version of tidegate (unknown here: \(unknown.joined(separator: ", "))); "
        + "run that version, or name another data.directory"
    case .foreign(let path):
      "\(path) is a database of another program; name another data.directory"
    case .damaged(let path, let reason): "\(path) is damaged: \(reason)"
    case .full(let path): "no space is left for \(path)"
    case .busy(let path): "another process keeps \(path) locked"
    case .owned(let path, let owner):
      "\(path) belongs to a running gateway (\(owner)); end that one, or name another data.directory"
    case .inaccessible(let path, let reason): "\(path) cannot be used: \(reason)"
    case .failed(let path, let reason): "\(path): \(reason)"
    }
  }
}
