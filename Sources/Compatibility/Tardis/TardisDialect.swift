import HTTPAPI
import PubSub

/// The normalised stream of tardis-machine: its options are in the address, and its clients never send a message.
enum TardisDialect: Dialect {
  /// The exchange is in the options.
  static let venue = ""
  static let firstWords: Set<Substring> = ["ws-stream-normalized"]
  static let rootWord: Substring? = nil

  static func session(_ place: DialectPath) -> (any DialectSession)? {
    guard place.path == ["ws-stream-normalized"] else { return nil }
    return TardisSession(place.markets, options: place.query.first { $0.name == "options" }?.value ?? "")
  }

  static func answer(_ place: DialectPath, _ request: DialectRequest) -> DialectAnswer { .notFound }
}
