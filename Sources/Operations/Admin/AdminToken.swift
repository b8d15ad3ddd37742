import Foundation
import HTTP1
import Synchronization

/// The token that operators send on the internal port, from a file that the gateway reads at the start and at every
/// reload. If a new token cannot be used, the old one stays. Without any token, every request is refused.
package final class AdminToken: Sendable {
  /// The allowed lengths of a token, bytes. A shorter one could be guessed.
  static let lengths = 16...512

  package enum Verdict: Equatable { case good, closed, missing, wrong }

  private let path: String?
  private let token = Mutex<[UInt8]?>(nil)

  /// - Parameter path: path of the file; nil: the administration is closed.
  package init(path: String?) { self.path = path }

  /// Reads the file. Returns what is wrong with it; then the token in use stays.
  package func read() -> String? {
    guard let path else { return nil }
    switch Self.read(path) {
    case .success(let read):
      token.withLock { $0 = read }
      return nil
    case .failure(let problem): return problem.words
    }
  }

  /// Why a file holds no token; in words.
  package struct Problem: Error { package let words: String }

  /// The token in a file.
  package static func read(_ path: String) -> Result<[UInt8], Problem> {
    guard let data = FileManager.default.contents(atPath: path) else {
      return .failure(Problem(words: "\(path) cannot be read"))
    }
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard lengths.contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      let (least, most) = (lengths.lowerBound, lengths.upperBound)
      return .failure(
        Problem(words: "\(path) contains no token: it must be \(least) to \(most) letters without spaces"))
    }
    return .success(Array(text.utf8))
  }

  /// Whether a request may continue. The time that the check takes reveals nothing about the token but its length.
  package func check(_ request: HTTPRequestHead) -> Verdict {
    guard let token = token.withLock({ $0 }) else { return .closed }
    let values = request.fields.values("Authorization")
    guard values.count == 1, let value = values.first else { return .missing }
    let parts = value.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return .missing }
    let shown = Array(parts[1].utf8)
    guard shown.count == token.count else { return .wrong }
    var difference: UInt8 = 0
    for (left, right) in zip(shown, token) { difference |= left ^ right }
    return difference == 0 ? .good : .wrong
  }
}
