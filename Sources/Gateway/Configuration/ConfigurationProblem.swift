/// One thing that is wrong with a configuration: its name, where it stands, what is allowed.
package struct ConfigurationProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The setting: `limits.clients`, `TIDEGATE_LISTN`, `--feed`.
  package let name: String
  /// Where it was given: `file tidegate.yaml, key limits.clients`.
  package let place: String
  /// What is wrong: `"many" is not allowed`.
  package let message: String
  /// What may stand there instead, in words; empty where `message` says it.
  package let allowed: String
  /// The name that was probably meant.
  package let suggestion: String?

  package init(name: String, place: String, message: String, allowed: String = "", suggestion: String? = nil) {
    self.name = name
    self.place = place
    self.message = message
    self.allowed = allowed
    self.suggestion = suggestion
  }

  package var description: String {
    var text = "\(name): \(message) (\(place))"
    if !allowed.isEmpty { text += "; allowed: \(allowed)" }
    if let suggestion { text += "; did you mean \(suggestion)?" }
    return text
  }
}

/// Everything that is wrong with a configuration, at once.
package struct ConfigurationProblems: Error, Sendable, Equatable, CustomStringConvertible {
  package let problems: [ConfigurationProblem]

  /// One problem a line.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Finds the name that was probably meant.
package enum NearMiss {
  /// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from `name`: at most 2, and fewer than half
  /// its letters. Nil if there is none. O(candidates × length²).
  package static func of(_ name: String, in candidates: some Sequence<String>) -> String? {
    var best: (distance: Int, name: String)?
    for candidate in candidates {
      let distance = edits(Array(name.lowercased().utf8), Array(candidate.lowercased().utf8))
      if distance <= 2, distance * 2 < max(candidate.utf8.count, 2), distance < best?.distance ?? .max {
        best = (distance, candidate)
      }
    }
    return best?.name
  }

  private static func edits(_ a: [UInt8], _ b: [UInt8]) -> Int {
    guard abs(a.count - b.count) <= 2 else { return .max }
    var beforePrevious: [Int] = []
    var previous = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var cost = min(previous[j + 1] + 1, row[j] + 1, previous[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforePrevious[j - 1] + 1) }
        row.append(cost)
      }
      beforePrevious = previous
      previous = row
    }
    return previous[b.count]
  }
}
