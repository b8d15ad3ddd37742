import Access
import Transport

/// A new API key: 256 random bits after a prefix by which scanners for leaked secrets recognise it.
package struct NewKey: Sendable {
  /// What the client sends: `tg_` and 43 characters.
  package let text: String
  private let entry: AccessEntry

  /// - Parameter fields: the key's rules: `symbols=kraken:*`.
  /// - Throws: the mistake in the name or the fields.
  package init(name: String, fields: [String] = []) throws(ConfigurationProblems) {
    text = "tg_" + Base64URL.encode(SystemRandom.bytes(32))
    let digits = Array("0123456789abcdef")
    let hash = String(Digest.sha256(Array(text.utf8)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    let words = (["sha256=\(hash)"] + fields)[...]
    var reader = AccessReader(path: "") { _ in nil }
    let entry = KeyFile.entry(.key, [name] + words, "the new key")
    reader.add(entry)
    guard reader.problems.isEmpty else { throw ConfigurationProblems(problems: reader.problems) }
    self.entry = entry
  }

  /// The section `access` that admits the keys, for a configuration or a key file, in YAML.
  package static func section(of keys: [NewKey]) -> String { AccessSection.text(of: keys.map(\.entry)) }
}
