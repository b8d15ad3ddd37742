import Venues

/// What one loop counts; plain integers, added up when somebody asks.
struct NodeMetrics: Sendable {
  var clients = 0
  var clientsTotal: UInt64 = 0
  var connections = 0
  var requests: UInt64 = 0
  var httpRequests: UInt64 = 0
  var framesSent: UInt64 = 0
  var feedBatches: UInt64 = 0
  /// Instruments that the loop told all loops of, because they or their books changed.
  var entriesAnnounced = 0
  var protocolErrors: UInt64 = 0
  var closedByPolicy: UInt64 = 0
  /// Clients closed while draining.
  var evicted: UInt64 = 0
  var resumed: UInt64 = 0
  var parkedSessions = 0
  /// Streams of the loop's markets that somebody subscribes to, and those that keep their number for who comes back.
  var streams = 0
  var streamsKept = 0
  /// Of the messages that are kept for who comes back.
  var replayBytes = 0
  /// Of them, those closed because all clients together had too much waiting; HTTP clients included.
  var closedOverBudget: UInt64 = 0
  /// Connections that had not asked for anything and were ended for newcomers.
  var endedForRoom: UInt64 = 0
  /// Clients that agreed on compression, since the start.
  var compressingClients: UInt64 = 0
  /// Compressions done; each may serve many clients.
  var framesCompressed: UInt64 = 0
  var compressedFramesSent: UInt64 = 0
  /// Of the compressed frames sent.
  var bytesBeforeCompression: UInt64 = 0
  var bytesAfterCompression: UInt64 = 0

  mutating func add(_ other: NodeMetrics) {
    clients += other.clients
    clientsTotal += other.clientsTotal
    connections += other.connections
    requests += other.requests
    httpRequests += other.httpRequests
    framesSent += other.framesSent
    feedBatches += other.feedBatches
    protocolErrors += other.protocolErrors
    closedByPolicy += other.closedByPolicy
    evicted += other.evicted
    resumed += other.resumed
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

/// What one loop counts of one feed.
struct FeedMetrics: Sendable {
  var venue: String
  var state: String
  var messages: Int
  var rejected: Int
  var bytes: UInt64
  var connects: Int
  var instruments: Int
  var booksLive: Int
  var gaps: Int
  var trades: Int
  /// µs UTC.
  var startedAt: Int64
  /// µs UTC; nil: nothing ever came.
  var lastMessage: Int64?
  /// Rejected messages, by kind.
  var errors: [(kind: FeedError.Kind, count: Int)] = []
  /// Connections that were replaced by another before they were left, and changes that failed.
  var replaced = 0
  var handoversFailed = 0
  /// Whether its prices are simulated or replayed.
  var isSimulated = false
}
