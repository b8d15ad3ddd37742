import Bytes
import MarketData
import PubSub
import Transport
import Venues

/// The counters of one loop; plain integers, added up on request.
struct NodeMetrics: Sendable {
  var clients = 0
  var clientsTotal: UInt64 = 0
  var connections = 0
  var requests: UInt64 = 0
  var http = HTTPFigures()
  /// Present clients, and ended ones by reason.
  var ends = ClientCounts()
  /// From a venue's message to clients' sockets.
  var delivery = Histogram.durations
  /// Bytes that wait for a client; each client is checked every 5 s.
  var queues = Histogram(from: 100, to: 100_000_000)
  var hub = HubFigures()
  var framesSent: UInt64 = 0
  var feedBatches: UInt64 = 0
  /// Instruments that the loop announced to all loops, because they or their books changed.
  var entriesAnnounced = 0
  var protocolErrors: UInt64 = 0
  /// Clients closed while draining.
  var evicted: UInt64 = 0
  var parkedSessions = 0
  /// The loop's streams with subscribers, and those that keep their number for clients that return.
  var streams = 0
  var streamsKept = 0
  /// Bytes of the messages that are kept for clients that return.
  var replayBytes = 0
  /// Clients closed because all clients together had too many queued bytes, including HTTP clients.
  var closedOverBudget: UInt64 = 0
  /// Silent connections that were closed to make room for new ones.
  var endedForRoom: UInt64 = 0
  /// Clients that agreed on compression, since the start.
  var compressingClients: UInt64 = 0
  /// Compressions done; each may serve many clients.
  var framesCompressed: UInt64 = 0
  var compressedFramesSent: UInt64 = 0
  /// Bytes of the compressed frames sent, before and after compression.
  var bytesBeforeCompression: UInt64 = 0
  var bytesAfterCompression: UInt64 = 0

  mutating func add(_ other: NodeMetrics) {
    clients += other.clients
    clientsTotal += other.clientsTotal
    connections += other.connections
    requests += other.requests
    http.add(other.http)
    ends.add(other.ends)
    delivery.add(other.delivery)
    queues.add(other.queues)
    hub.add(other.hub)
    framesSent += other.framesSent
    feedBatches += other.feedBatches
    protocolErrors += other.protocolErrors
    evicted += other.evicted
    parkedSessions += other.parkedSessions
    streams += other.streams
    streamsKept += other.streamsKept
    replayBytes += other.replayBytes
    closedOverBudget += other.closedOverBudget
    endedForRoom += other.endedForRoom
    compressingClients += other.compressingClients
    framesCompressed += other.framesCompressed
    compressedFramesSent += other.compressedFramesSent
    bytesBeforeCompression += other.bytesBeforeCompression
    bytesAfterCompression += other.bytesAfterCompression
  }
}

/// The turn times and timer lags of one loop.
struct LoopMetrics: Sendable {
  var index: Int
  var times: LoopTimes
}

/// The counters of one feed.
struct FeedMetrics: Sendable {
  /// The state of an instrument's book, as metrics and operators see it.
  enum BookCondition: String, CaseIterable, Sendable {
    case live
    /// Waiting for a snapshot, or before its request.
    case syncing
    /// The book was in sync when its feed fell silent.
    case stale
    /// Bids and asks overlap: the book is kept, but not shown.
    case crossed
  }

  var venue: String
  /// The connection's name: `binance-usdm`.
  var connection: String
  var state: String
  var messages: Int
  var rejected: Int
  var bytes: UInt64
  var connects: Int
  var instruments: Int
  /// By the index in `BookCondition.allCases`.
  var books = [Int](repeating: 0, count: BookCondition.allCases.count)
  var gaps: Int
  /// How often a book lost sync, by the index of the reason in `ResyncReason.allCases`.
  var resyncs = [Int](repeating: 0, count: ResyncReason.allCases.count)
  /// Channels beside a book that are silent although others of their instrument contradict that, and how often one was
  /// found so: by the index in `MarketChannel.allCases`.
  var channelsSilent = [Int](repeating: 0, count: MarketChannel.allCases.count)
  var channelSilences = [Int](repeating: 0, count: MarketChannel.allCases.count)
  var trades: Int
  /// Trades that are missing by the venue's numbers, and those of them that came late or were found by REST.
  var tradesMissed = 0
  var tradesFound = 0
  /// µs UTC.
  var startedAt: Int64
  /// µs UTC; nil: there was no message.
  var lastMessage: Int64?
  /// Rejected messages, by kind.
  var errors: [(kind: FeedError.Kind, count: Int)] = []
  /// Connections that were replaced without a gap, and replacements that failed.
  var replaced = 0
  var handoversFailed = 0
  /// How often the venue fell silent on an open connection.
  var silences = 0
  /// Whether its prices are simulated or replayed.
  var isSimulated = false
  /// Values of the venue that no market can have.
  var refusedValues = 0
  /// How often the venue began the numbers of an instrument's trades anew.
  var renumberings = 0
  /// From the venue's time of a trade to its arrival.
  var arrival = Histogram(from: 100_000, to: 10_000_000_000)

  var booksLive: Int { books[0] }
}
