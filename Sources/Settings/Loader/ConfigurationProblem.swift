/// A mistake in a configuration: the setting's name, its location, and the allowed values.
package struct ConfigurationProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The setting: `limits.clients`, `TIDEGATE_LISTN`, `--feed`.
  package let name: String
  /// Where it was given: `file tidegate.yaml, key limits.clients`.
  package let location: String
  /// What is wrong: `"many" is not allowed`.
  package let message: String
  /// The allowed values, in words; empty if `message` names them.
  package let allowed: String
  /// The name that was probably meant.
  package let suggestion: String?

  package init(name: String, location: String, message: String, allowed: String = "", suggestion: String? = nil) {
    self.name = name
    self.location = location
    self.message = message
    self.allowed = allowed
    self.suggestion = suggestion
  }

  package var description: String {
    var text = "\(name): \(message) (\(location))"
    if !allowed.isEmpty { text += "; allowed: \(allowed)" }
    if let suggestion { text += "; did you mean \(suggestion)?" }
    return text
  }
}

/// Everything that is wrong with a configuration, at once.
package struct ConfigurationProblems: Error, Sendable, Equatable, CustomStringConvertible {
  package let problems: [ConfigurationProblem]

  package init(problems: [ConfigurationProblem]) { self.problems = problems }

  /// One problem a line.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}
