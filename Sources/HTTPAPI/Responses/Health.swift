import Build
import Bytes
import MarketData
import PubSub

/// Whether the gateway can serve its clients, and why not. A plain value of what it is given.
package struct Health: Sendable {
  package enum Status: String, Sendable {
    /// Every feed is live, and no symbol is refused or out of sync.
    case ok
    /// Ready, but a part of the configured markets is missing, or history is not written.
    case degraded
    /// Not ready: fewer venues are live than `required`, or the gateway drains.
    case failing
  }

  private let feeds: [FeedStatus]
  /// Venues that must be live before the gateway counts as ready.
  private let required: Int
  package let isDraining: Bool
  /// Why history is not written; nil while it is, or if none is stored. Clients are served nevertheless.
  private let historyFailure: String?

  /// - Parameters:
  ///   - feeds: of the whole gateway.
  ///   - required: 0 and more; the setting `ready-feeds`.
  package init(feeds: [FeedStatus], required: Int, isDraining: Bool, historyFailure: String? = nil) {
    self.feeds = feeds
    self.required = required
    self.isDraining = isDraining
    self.historyFailure = historyFailure
  }

  private var live: Int { feeds.count { $0.state == .live } }
  package var isReady: Bool { !isDraining && live >= required }

  package var status: Status { !isReady ? .failing : reasons.isEmpty ? .ok : .degraded }

  /// The present problems, a sentence each, the most important first.
  package var reasons: [String] {
    var reasons: [String] = []
    if isDraining { reasons.append("the gateway is draining: it closes its clients") }
    if live < required {
      reasons.append("\(live) of \(feeds.count) feeds are live; ready-feeds requires \(required)")
    }
    for feed in feeds where feed.state != .live {
      reasons.append("\(feed.venue) is \(feed.state.rawValue)\(feed.reason.map { ": \($0)" } ?? "")")
    }
    for feed in feeds {
      if !feed.failed.isEmpty { reasons.append("\(feed.venue) does not serve \(Self.words(feed.failed))") }
      if feed.state == .live, !feed.syncing.isEmpty {
        reasons.append("\(feed.venue) rebuilds \(Self.words(feed.syncing))")
      }
      if feed.state == .live, !feed.silent.isEmpty {
        reasons.append("\(feed.venue) has silent channels: \(Self.words(feed.silenceReasons))")
      }
    }
    if let historyFailure { reasons.append("history is not written: \(historyFailure)") }
    return reasons
  }

  /// `2 symbols: kraken:A-B (no such pair), …`, at most three of them by name.
  private static func words(_ symbols: [String: String]) -> String {
    let shown = symbols.sorted { $0.key < $1.key }.prefix(3).map { "\($0.key) (\($0.value))" }
    let rest = symbols.count > shown.count ? ", …" : ""
    return "\(symbols.count) symbol\(symbols.count == 1 ? "" : "s"): \(shown.joined(separator: ", "))\(rest)"
  }

  /// The text of `/readyz`: a summary, then a line for each feed.
  package var text: String {
    let first = isDraining ? "draining" : isReady ? "ready" : "not ready"
    let lines = feeds.map { "\($0.venue): \($0.state.rawValue)\($0.reason.map { " (\($0))" } ?? "")\n" }.joined()
    return "\(first): \(live) of \(feeds.count) feeds live, \(required) required\n" + lines
      + (historyFailure.map { "history: not written (\($0))\n" } ?? "")
  }

  /// Appends the answer of `/healthz`.
  package func append(uptimeSeconds: Int64, to out: inout ByteBuffer) {
    out.appendObject { writer in
      writer.field("status", status.rawValue)
      writer.field("ready", isReady)
      writer.field("draining", isDraining)
      writer.field("feeds_live", live)
      writer.field("feeds_required", required)
      writer.field("feeds", feeds.count)
      writer.field("uptime_s", uptimeSeconds)
      writer.field("version", TidegateVersion.current)
      writer.field("commit", TidegateVersion.commit)
      writer.field("reasons", reasons)
    }
    out.append("\n")
  }
}
