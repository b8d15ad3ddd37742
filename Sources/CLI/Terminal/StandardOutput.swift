import Foundation

/// Standard output for commands that print until they are stopped.
enum StandardOutput {
  /// Writes all of `text`. Ends the program when the reader has closed the pipe, as in `tidegate watch … | head`.
  static func write(_ text: String) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    } catch {
      exit(EXIT_SUCCESS)
    }
  }
}

/// Standard error, for messages that are not a command's output.
enum StandardError {
  /// Writes all of `text`, or nothing if the reader has closed the pipe: the command continues.
  static func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
