/// A mistake in the text of a configuration file that its parser accepts, or reports in terms that do not help.
struct FileMistake: Equatable {
  /// The key, or the text that is wrong.
  let name: String
  /// Line numbers, from 1.
  let lines: [Int]
  let message: String
  let allowed: String

  /// A key that one map has twice: parsers take the last value and say nothing.
  static func repeated(_ key: String, lines: [Int]) -> FileMistake {
    FileMistake(name: key, lines: lines, message: "appears twice", allowed: "once: put both values in one place")
  }
}
