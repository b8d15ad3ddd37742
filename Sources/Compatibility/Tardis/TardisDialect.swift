import HTTPAPI
import PubSub

/// The normalised stream of tardis-machine: its options are in the address, and its clients never send a message.
enum TardisDialect: Dialect {
  /// The exchange is in the options.
  static let venue = ""
  static let firstWords: Set<Substring> = ["ws-stream-normalized"]
  static let rootWord: Substring? = nil

  static func session(_ target: DialectPath) -> (any DialectSession)? {
    guard target.path == ["ws-stream-normalized"] else { return nil }
    return TardisSession(target.markets, options: target.query.first { $0.name == "options" }?.value ?? "")
  }

  static func answer(_ target: DialectPath, _ request: DialectRequest) -> DialectAnswer { .notFound }
}
