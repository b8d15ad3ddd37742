import Foundation

/// Standard output for commands that print until they are stopped.
enum StandardOutput {
  /// Writes all of `text`. Ends the program when nobody reads any more, as `tidegate watch … | head` wants it.
  static func write(_ text: String) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    } catch {
      exit(EXIT_SUCCESS)
    }
  }
}
