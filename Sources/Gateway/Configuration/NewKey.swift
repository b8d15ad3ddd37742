import Access
import Transport

/// A new API key: 256 random bits behind a prefix by which scanners for leaked secrets can know it.
package struct NewKey: Sendable {
  /// What the client sends: `tg_` and 43 characters.
  package let text: String
  /// The line of the key file that lets it in.
  package let line: String

  /// - Parameter fields: what follows the hash: `symbols=kraken:*`.
  /// - Throws: what is wrong with the name or the fields.
  package init(name: String, fields: [String] = []) throws(ConfigurationProblems) {
    text = "tg_" + Base64URL.encode(SystemRandom.bytes(32))
    let digits = Array("0123456789abcdef")
    let hash = String(Digest.sha256(Array(text.utf8)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    line = (["key", name, "sha256=\(hash)"] + fields).joined(separator: " ")
    _ = try KeyFile.parse(Array(line.utf8), path: "of the new key") { _ in nil }
  }
}
