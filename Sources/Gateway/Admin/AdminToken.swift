import Foundation
import HTTP1
import Synchronization

/// The token that operators show on the internal port. It stands in a file of its own, which is read at the start and
/// with every reload; without one, or while it cannot be used, every request is refused.
final class AdminToken: Sendable {
  /// Bytes of a token: less can be guessed, more is no token.
  static let lengths = 16...512

  enum Verdict: Equatable { case good, closed, missing, wrong }

  private let path: String?
  private let token = Mutex<[UInt8]?>(nil)

  /// - Parameter path: of the file; nil: the administration is closed.
  init(path: String?) { self.path = path }

  /// Reads the file. Returns what is wrong with it; the token in use stays then.
  func read() -> String? {
    guard let path else { return nil }
    guard let data = FileManager.default.contents(atPath: path) else { return "\(path) cannot be read" }
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard Self.lengths.contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return "\(path) holds no token: \(Self.lengths.lowerBound) to \(Self.lengths.upperBound) letters without spaces"
    }
    token.withLock { $0 = Array(text.utf8) }
    return nil
  }

  /// Whether a request may continue. The time that it takes says nothing of the token but its length.
  func check(_ request: HTTPRequestHead) -> Verdict {
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
