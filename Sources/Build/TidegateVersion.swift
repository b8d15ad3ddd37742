import CBuild

/// The version that runs, as `tidegate --version`, `welcome` messages, health and metrics show it.
package enum TidegateVersion {
  package static let current = "0.2.0"
  /// The commit that was built; empty if the build did not set `TIDEGATE_COMMIT`, as `Deploy/package.sh` does.
  package static let commit = String(cString: tidegate_commit)
  /// The day of the build, `2026-01-31`; empty if the build did not set it.
  package static let buildDate = String(cString: tidegate_build_date)

  /// `0.2.0 (1234567890ab, 2026-01-31)`, as far as it is known.
  package static let full: String = {
    let parts = [commit, buildDate].filter { !$0.isEmpty }
    return parts.isEmpty ? current : "\(current) (\(parts.joined(separator: ", ")))"
  }()
}
