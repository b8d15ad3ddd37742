import Logging
import Synchronization
import Transport

/// Logs events that unknown peers cause: the first of a kind at once, then one line per kind in ten seconds with their
/// number. So any number of events causes at most one line per kind in that time, and uses tables of a fixed size.
package final class FoldedLog: Sendable {
  /// The time between two lines of the same kind, monotonic µs.
  static let interval: Int64 = 10_000_000
  /// Kinds that are counted one by one; all others share one.
  static let kindLimit = 64
  /// Peers that are counted one by one in a line.
  static let peerLimit = 32

  /// An event as the log shows it.
  package struct Event {
    var level: Logger.Level
    var message: Logger.Message
    var metadata: Logger.Metadata

    package init(
      level: Logger.Level = .notice, message: Logger.Message, metadata: Logger.Metadata = [:]
    ) {
      self.level = level
      self.message = message
      self.metadata = metadata
    }
  }

  private struct Fold {
    var toldAt: Int64
    /// Events since.
    var count = 0
    /// The first of them.
    var event: Event?
    var peers: Set<IPAddress> = []
  }

  private let log: Logger
  private let now: @Sendable () -> Int64
  private let folds = Mutex<[String: Fold]>([:])

  /// - Parameter now: monotonic µs.
  package init(_ log: Logger, now: @escaping @Sendable () -> Int64) {
    self.log = log
    self.now = now
  }

  /// Records an event. Callable from anywhere; takes under 1 µs if it is folded.
  /// - Parameters:
  ///   - kind: events of the same kind are folded. It comes from a table of the caller, not from a peer's text.
  ///   - peer: the peer of the event. One peer is shown; several are counted.
  ///   - event: made only if it is shown.
  package func note(_ kind: String, peer: IPAddress? = nil, _ event: () -> Event) {
    let moment = now()
    let line: Event? = folds.withLock { folds in
      let name = folds[kind] != nil || folds.count < Self.kindLimit ? kind : "other"
      let isNew = folds[name] == nil
      var fold = folds[name] ?? Fold(toldAt: moment)
      fold.count += 1
      if let peer, fold.peers.count <= Self.peerLimit { fold.peers.insert(peer) }
      defer { folds[name] = fold }
      if fold.event == nil { fold.event = event() }
      return isNew || moment - fold.toldAt >= Self.interval ? Self.take(&fold, at: moment) : nil
    }
    if let line { write(line) }
  }

  /// Logs due folded events, and forgets kinds without new events; call about once a second.
  package func tell() {
    let moment = now()
    let lines: [Event] = folds.withLock { folds in
      var lines: [Event] = []
      for kind in folds.keys.sorted() where moment - folds[kind]!.toldAt >= Self.interval {
        if let line = Self.take(&folds[kind]!, at: moment) { lines.append(line) } else { folds[kind] = nil }
      }
      return lines
    }
    for line in lines { write(line) }
  }

  private static func take(_ fold: inout Fold, at moment: Int64) -> Event? {
    guard var event = fold.event else { return nil }
    if fold.count > 1 { event.metadata["count"] = "\(fold.count)" }
    if fold.peers.count == 1, let peer = fold.peers.first {
      event.metadata["peer"] = "\(peer.description)"
    } else if fold.peers.count > 1 {
      event.metadata["peers"] = fold.peers.count > peerLimit ? "more than \(peerLimit)" : "\(fold.peers.count)"
    }
    fold = Fold(toldAt: moment)
    return event
  }

  private func write(_ event: Event) {
    var metadata = event.metadata
    metadata[LogLineHandler.foldedKey] = "true"
    log.log(level: event.level, event.message, metadata: metadata)
  }
}
