import Bytes
import MarketData
import PubSub
import Venues

/// The counters of one feed.
package struct FeedMetrics: Sendable {
  /// The state of an instrument's book, as metrics and operators see it.
  package enum BookCondition: String, CaseIterable, Sendable {
    case live
    /// Waiting for a snapshot, or before its request.
    case syncing
    /// The book was in sync when its feed fell silent.
    case stale
    /// Bids and asks overlap: the book is kept, but not shown.
    case crossed
  }

  package var venue: String
  /// The connection's name: `binance-usdm`.
  package var connection: String
  package var state: String
  package var messages = 0
  package var rejected = 0
  package var bytes: UInt64 = 0
  package var connects = 0
  package var instruments = 0
  /// By the index in `BookCondition.allCases`.
  package var books = [Int](repeating: 0, count: BookCondition.allCases.count)
  package var gaps = 0
  /// How often a book lost sync, by the index of the reason in `ResyncReason.allCases`.
  package var resyncs = [Int](repeating: 0, count: ResyncReason.allCases.count)
  /// Channels beside a book that are silent although others of their instrument contradict that, and how often one was
  /// found so: by the index in `MarketChannel.allCases`.
  package var channelsSilent = [Int](repeating: 0, count: MarketChannel.allCases.count)
  package var channelSilences = [Int](repeating: 0, count: MarketChannel.allCases.count)
  package var trades = 0
  /// Trades that are missing by the venue's numbers, and those of them that came late or were found by REST.
  package var tradesMissed = 0
  package var tradesFound = 0
  /// µs UTC.
  package var startedAt: Int64
  /// µs UTC; nil: there was no message.
  package var lastMessage: Int64?
  /// Rejected messages, by kind.
  package var errors: [(kind: FeedError.Kind, count: Int)] = []
  /// Connections that were replaced without a gap, and replacements that failed.
  package var replaced = 0
  package var handoversFailed = 0
  /// How often the venue fell silent on an open connection.
  package var silences = 0
  /// Whether its prices are simulated or replayed.
  package var isSimulated = false
  /// Values of the venue that no market can have.
  package var refusedValues = 0
  /// How often the venue began the numbers of an instrument's trades anew.
  package var renumberings = 0
  /// From the venue's time of a trade to its arrival.
  package var arrival = Histogram.arrivals

  package init(venue: String, connection: String, state: String, startedAt: Int64) {
    self.venue = venue
    self.connection = connection
    self.state = state
    self.startedAt = startedAt
  }
}

extension FeedMetrics {
  /// The families of all feeds.
  /// - Parameter now: ages are measured until then, UTC.
  static func table(now: Timestamp) -> [Metric<FeedMetrics>] {
    connections + books + trades + [
      .gauge("feed_age_seconds", "Seconds since the last market message; since the feed's start if there was none.") {
        Double(max(0, now.microseconds - ($0.lastMessage ?? $0.startedAt))) / 1e6
      },
      .histogram(
        "feed_arrival_seconds", "From the venue's time of a trade to its arrival, by both clocks.", unit: 1e9,
        ifKnown: { $0.arrival.count > 0 ? $0.arrival : nil }),
    ]
  }

  private static let connections: [Metric<FeedMetrics>] = [
    .gauges("feed_state", "1 for the state a feed is in.", by: "state") { feed in
      FeedState.allCases.map { ($0.rawValue, $0.rawValue == feed.state ? 1 : 0) }
    },
    .gauge("feed_simulated", "1 if prices are simulated or replayed, 0 if they are the venue's.") {
      $0.isSimulated ? 1 : 0
    },
    .counter("feed_messages_total", "Messages received.", \.messages),
    .counter("feed_rejected_total", "Messages refused as unreadable.", \.rejected),
    .counters("feed_errors_total", "Rejected messages and REST answers, by kind.", by: "kind") {
      $0.errors.map { ($0.kind.rawValue, $0.count) }
    },
    .counter("feed_refused_values_total", "Prices, sizes and times that no market can have.", \.refusedValues),
    .counter("feed_bytes_total", "Bytes received.", \.bytes),
    .counter("feed_connects_total", "Connections made.", \.connects),
    .counter("feed_silences_total", "Times that the venue fell silent on an open connection.", \.silences),
    .counters(
      "feed_handovers_total", "Planned changes of connection, and whether the feed continued without a gap.",
      by: "result"
    ) {
      [("replaced", $0.replaced), ("failed", $0.handoversFailed)]
    },
  ]

  private static let books: [Metric<FeedMetrics>] = [
    .gauge("feed_instruments", "Instruments followed.", \.instruments),
    .gauges(
      "feed_books",
      "Books by state: in sync, waiting for a snapshot, in sync when the feed fell silent, or bids and asks overlap.",
      by: "state"
    ) {
      zip(BookCondition.allCases, $0.books).map { ($0.rawValue, $1) }
    },
    .counter("feed_gaps_total", "Gaps found in book sequences.", \.gaps),
    .counters("feed_resyncs_total", "Times that a book lost sync while its connection stood, by reason.", by: "reason")
    {
      zip(ResyncReason.allCases, $0.resyncs).filter { $0.0 != .disconnected }.map { ($0.rawValue, $1) }
    },
    .gauges(
      "feed_channels_silent",
      "Channels beside a book that are silent although other channels of the instrument contradict that, by channel.",
      by: "channel"
    ) {
      zip(MarketChannel.allCases, $0.channelsSilent).map { ($0.name, $1) }
    },
    .counters(
      "feed_channel_silences_total", "Times that such a channel was found silent and subscribed again, by channel.",
      by: "channel"
    ) {
      zip(MarketChannel.allCases, $0.channelSilences).map { ($0.name, $1) }
    },
  ]

  private static let trades: [Metric<FeedMetrics>] = [
    .counter("feed_trades_total", "Live trades.", \.trades),
    .counter(
      "feed_trade_renumberings_total", "Times that a venue restarted an instrument's trade ids.", \.renumberings),
    .counter("feed_trades_missed_total", "Trades that did not arrive, by the venue's numbers.", \.tradesMissed),
    .counter(
      "feed_trades_found_total", "Missed trades that arrived late or that REST brought.", \.tradesFound),
  ]
}
