import MarketData

/// Holds what a connection receives and sends before it takes over. It is recorded then, after what the old connection
/// received.
///
/// A recording contains one connection after the other, so that a replay finds after each `open` all that a handler
/// needs. It contains trades of the overlap twice. Bounded: of more than `limit` bytes only the opening is kept.
final class HeldRecording: FeedRecorder {
  static let limit = 32 << 20

  private enum Item {
    case opened(url: String)
    case received([UInt8])
    case sent(String)
    case answered(url: String, status: Int, body: [UInt8])
  }
  private var items: [Item] = []
  private var bytes = 0

  func opened(url: String, at now: Timestamp) {
    if items.isEmpty { releasedAt = now }
    keep(.opened(url: url), url.utf8.count)
  }
  func received(_ message: UnsafeRawBufferPointer, at now: Timestamp) {
    releasedAt = now
    keep(.received(Array(message)), message.count)
  }
  func sent(_ message: String, at now: Timestamp) {
    releasedAt = now
    keep(.sent(message), message.utf8.count)
  }
  func answered(url: String, status: Int, body: [UInt8], at now: Timestamp) {
    releasedAt = now
    keep(.answered(url: url, status: status, body: body), body.count)
  }
  func closed(at now: Timestamp) {}

  /// The time of the newest item: times in a recording do not go back.
  private var releasedAt = Timestamp.distantPast

  private func keep(_ item: Item, _ size: Int) {
    guard bytes <= Self.limit else { return }
    bytes += size + 64
    if bytes > Self.limit {
      items.removeAll { if case .opened = $0 { false } else { true } }
    } else {
      items.append(item)
    }
  }

  /// Records all items, with the time of the newest one.
  func release(into recorder: (any FeedRecorder)?) {
    guard let recorder else { return }
    for item in items {
      switch item {
      case .opened(let url): recorder.opened(url: url, at: releasedAt)
      case .received(let message): message.withUnsafeBytes { recorder.received($0, at: releasedAt) }
      case .sent(let message): recorder.sent(message, at: releasedAt)
      case .answered(let url, let status, let body):
        recorder.answered(url: url, status: status, body: body, at: releasedAt)
      }
    }
    items = []
  }
}
