import Bytes
import MarketData

/// The state of a feed, as clients see it (Protocol.md).
package enum FeedState: String, Sendable, CaseIterable {
  case connecting, syncing, live, stale, reconnecting, disconnected, maintenance

  /// What a status dot shows.
  package var indicator: String {
    switch self {
    case .live, .syncing: "connected"
    case .connecting, .stale, .reconnecting, .maintenance: "reconnecting"
    case .disconnected: "disconnected"
    }
  }
}

/// Where a feed's prices come from.
package enum DataSource: String, Sendable, CaseIterable {
  /// The venue's present prices.
  case live
  /// A simulated exchange.
  case simulated
  /// A recording.
  case replayed

  /// Appends `,"simulated":true` if prices are not a venue's present ones, and `,"replayed":true` if they are from a
  /// recording.
  package func append(to out: inout ByteBuffer) {
    switch self {
    case .live: break
    case .simulated: out.append(",\"simulated\":true")
    case .replayed: out.append(",\"simulated\":true,\"replayed\":true")
    }
  }
}

/// The state of one feed, for clients and operators.
package struct FeedStatus: Sendable, Equatable {
  package var venue: String
  package var source = DataSource.live
  package var state: FeedState
  /// Since when it is in this state.
  package var since: Timestamp
  /// The reason for this state, for people: `closed by the venue (1006)`.
  package var reason: String?
  /// The number of the reconnection attempt; nil while connected.
  package var attempt: Int?
  /// The time of the last market data, or of the venue's last own heartbeat; answers to pings do not count. Its age is
  /// computed when a message is encoded.
  package var lastMessage: Timestamp?
  /// The last gap in the data, if there was one: from the last message before it to the first after it (nil: it
  /// continues).
  package var gapFrom: Timestamp?
  package var gapTo: Timestamp?
  /// Symbols whose books are not in sync, with the reason: `kraken:BTC-USD` → `checksum mismatch`.
  package var syncing: [String: String]
  /// Symbols that the venue refused, with the reason.
  package var failed: [String: String]
  /// Symbols of which a channel has died while others live, with those channels.
  package var silent: [String: MarketChannels] = [:]

  /// The symbols of `silent`, each with the reasons of its channels.
  package var silenceReasons: [String: String] {
    silent.mapValues { $0.list.map(\.silenceReason).joined(separator: ", ") }
  }

  package init(venue: String, state: FeedState, since: Timestamp) {
    self.venue = venue
    self.state = state
    self.since = since
    self.syncing = [:]
    self.failed = [:]
  }
}
