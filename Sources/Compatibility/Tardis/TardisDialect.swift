import HTTPAPI
import PubSub

/// The normalised stream of tardis-machine: its options are in the address, and its clients never send a message.
enum TardisDialect: Dialect {
  /// The exchange is in the options.
  static let venue = ""
  static let firstWords: Set<Substring> = [stream, framedReplay, plainReplay]
  private static let stream: Substring = "ws-stream-normalized"
  private static let framedReplay: Substring = "ws-replay-normalized"
  private static let plainReplay: Substring = "replay-normalized"
  static let rootWord: Substring? = nil

  static func session(_ target: DialectPath) -> (any DialectSession)? {
    guard target.path == [stream] else { return nil }
    return TardisSession(target.markets, options: options(target))
  }

  static func replay(_ target: DialectPath) -> DialectReplay? {
    guard target.path == [framedReplay] || target.path == [plainReplay] else { return nil }
    return DialectReplay(needsWebSocket: target.path == [framedReplay]) { grant, directory in
      TardisReplay.request(options(target), grant, directory)
    }
  }

  private static func options(_ target: DialectPath) -> String {
    target.query.first { $0.name == "options" }?.value ?? ""
  }

  static func answer(_ target: DialectPath, _ request: DialectRequest) -> DialectAnswer { .notFound }
}
