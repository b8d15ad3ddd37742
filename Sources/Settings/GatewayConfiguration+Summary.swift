import Transport
import Venues

extension GatewayConfiguration {
  /// Every setting with its value, then every feed's symbols. Contains no secrets, only the paths of their files.
  package var shown: [(key: String, value: String)] {
    Setting.all.map { ($0.key, $0.show(self)) }
      + feeds.map { ("feeds.\($0.venue).symbols", $0.symbols.joined(separator: ",")) }
  }

  /// What the gateway serves, and where, in one line: `2 symbols of kraken, 1 of coinbase, for clients on
  /// 127.0.0.1:8080`.
  package var summary: String {
    var data = feeds.map { feed in
      let selections = feed.symbols.count { MarketSelection.isMeant(by: $0) }
      let parts = [(feed.symbols.count - selections, "symbol"), (selections, "selection")].filter { $0.0 > 0 }
      return parts.map { "\($0) \($1)\($0 == 1 ? "" : "s")" }.joined(separator: " and ") + " of \(feed.venue)"
    }
    if demo { data.append("a simulated market") }
    if !replay.isEmpty { data.append("\(replay.count) recording\(replay.count == 1 ? "" : "s")") }
    return data.joined(separator: ", ") + ", for clients on \(listen.description)"
      + (tls == nil ? "" : " under TLS") + (keysFile == nil && access == nil ? "" : " with a token")
  }
}
