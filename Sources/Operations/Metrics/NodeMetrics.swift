import Bytes
import PubSub
import Transport

/// The counters of one loop; plain integers, added up on request.
package struct NodeMetrics: Sendable {
  package var clients = 0
  package var clientsTotal: UInt64 = 0
  package var connections = 0
  package var requests: UInt64 = 0
  package var http: HTTPFigures
  /// Present clients, and ended ones by reason.
  package var ends = ClientCounts()
  /// From a venue's message to clients' sockets.
  package var delivery = Histogram.durations
  /// Bytes that wait for a client; each client is checked every 5 s.
  package var queues = Histogram(from: 100, to: 100_000_000)
  package var hub = HubFigures()
  package var framesSent: UInt64 = 0
  package var feedBatches: UInt64 = 0
  /// Instruments that the loop announced to all loops, because they or their books changed.
  package var entriesAnnounced = 0
  package var protocolErrors: UInt64 = 0
  /// Clients closed while draining.
  package var evicted: UInt64 = 0
  package var parkedSessions = 0
  /// The loop's streams with subscribers, and those that keep their number for clients that return.
  package var streams = 0
  package var streamsKept = 0
  /// Bytes of the messages that are kept for clients that return.
  package var replayBytes = 0
  /// Clients closed because all clients together had too many queued bytes, including HTTP clients.
  package var closedOverBudget: UInt64 = 0
  /// Silent connections that were closed to make room for new ones.
  package var endedForRoom: UInt64 = 0
  /// Clients that agreed on compression, since the start.
  package var compressingClients: UInt64 = 0
  /// Compressions done; each may serve many clients.
  package var framesCompressed: UInt64 = 0
  package var compressedFramesSent: UInt64 = 0
  /// Bytes of the compressed frames sent, before and after compression.
  package var bytesBeforeCompression: UInt64 = 0
  package var bytesAfterCompression: UInt64 = 0

  /// - Parameter routes: the labels of the client port's routes.
  package init(routes: [String] = []) { http = HTTPFigures(labels: routes) }

  package mutating func add(_ other: NodeMetrics) {
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
package struct LoopMetrics: Sendable {
  package var index: Int
  package var times: LoopTimes

  package init(index: Int, times: LoopTimes) {
    self.index = index
    self.times = times
  }
}
