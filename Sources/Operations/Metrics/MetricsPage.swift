import Access
import Build
import Bytes
import MarketData
import PubSub
import Transport

/// The figures of a gateway at one moment, for `/metrics`.
package struct MetricsPage: Sendable {
  /// Of all loops together.
  package var node: NodeMetrics
  package var feeds: [FeedMetrics] = []
  package var loops: [LoopMetrics] = []
  package var admission = Admission.Figures()
  /// The bytes that wait for clients, over all loops.
  package var queuedBytes = 0
  /// Connections turned away for lack of descriptors.
  package var shed = 0
  package var uptimeSeconds = 0.0
  package var now: Timestamp

  package init(_ node: NodeMetrics, now: Timestamp) {
    self.node = node
    self.now = now
  }

  /// Prometheus' text format, version 0.0.4.
  package var text: String {
    var writer = MetricsWriter()
    writer.append(Self.clients, of: self)
    writer.append(
      LoopMetrics.table, of: loops.sorted { $0.index < $1.index }, labels: { ["loop": "\($0.index)"] })
    writer.append(Self.streams, of: self)
    writer.append(
      FeedMetrics.table(now: now), of: feeds, labels: { ["venue": $0.venue, "connection": $0.connection] })
    return writer.text
  }

  private static let build: MetricLabels = [
    "version": TidegateVersion.current, "commit": TidegateVersion.commit, "date": TidegateVersion.buildDate,
  ]

  private static let clients: [Metric<MetricsPage>] = [
    .gauges("build_info", "The version, the commit and the day of the build that runs.") { _ in [(build, 1)] },
    .gauge("uptime_seconds", "Seconds since the start.", \.uptimeSeconds),
    .gauges("clients", "Clients on the stream now.") {
      zip(ClientCounts.labels, $0.node.ends.present).map {
        (["transport": $0.transport, "encoding": $0.encoding], $1)
      }
    },
    .counter("clients_total", "Clients that have joined the stream.", \.node.clientsTotal),
    .gauge("connections", "Connections on the client port now.", \.node.connections),
    .counters("refused_total", "Connections, handshakes and requests refused.", by: "reason") {
      zip(Refusal.allCases, $0.admission.refusals).map { ($0.rawValue, $1) }
        + [("descriptors", UInt64($0.shed))]
    },
    .gauge("addresses", "Addresses that limits remember.", \.admission.addresses),
    .gauge("queued_bytes", "Bytes that wait for clients.", \.queuedBytes),
    .counter("client_requests_total", "Requests on the stream.", \.node.requests),
    .counters("http_requests_total", "HTTP requests on the client port, by route and status.") { page in
      page.node.http.answers.sorted { $0.key < $1.key }.map {
        (["route": page.node.http.labels[$0.key.route], "code": "\($0.key.status)"], $0.value)
      }
    },
    .histograms("http_request_seconds", "From a request's head to its answer.", by: "route", unit: 1e9) {
      zip($0.node.http.labels, $0.node.http.times).filter { $1.count > 0 }.map { ($0, $1) }
    },
    .counter("frames_sent_total", "Frames handed to clients' connections.", \.node.framesSent),
    .counter("clients_compressing_total", "Clients that have agreed on compression.", \.node.compressingClients),
    .counter("frames_compressed_total", "Compressions done; each serves many clients.", \.node.framesCompressed),
    .counter(
      "compressed_frames_sent_total", "Compressed frames handed to clients' connections.",
      \.node.compressedFramesSent),
    .counter(
      "compression_input_bytes_total", "Bytes of the compressed frames sent, before.", \.node.bytesBeforeCompression),
    .counter(
      "compression_output_bytes_total", "Bytes of the compressed frames sent, after.", \.node.bytesAfterCompression),
    .counter(
      "client_protocol_errors_total", "Clients that broke the WebSocket protocol.", \.node.protocolErrors),
    .counter(
      "over_budget_closed_total", "Clients closed because all clients together had too many queued bytes.",
      \.node.closedOverBudget),
    .counter(
      "silent_ended_total", "Silent connections that were closed to make room for new ones.", \.node.endedForRoom),
    .counters(
      "clients_closed_total", "Ended clients, by reason: the client itself, a rule, an operator or a drain.",
      by: "reason"
    ) {
      zip(ClientCounts.Ending.allCases, $0.node.ends.ended).map { ($0.rawValue, $1) }
    },
    .gauge("clients_degraded", "Clients in a slower class than they asked for.", \.node.hub.degraded),
    .gauges("subscriptions", "Subscriptions of clients, by channel.", by: "channel") {
      zip(ChannelName.allCases, $0.node.hub.subscriptions).map { ($0.rawValue, $1) }
    },
    .counter(
      "messages_merged_total", "Messages that slow clients did not get because a newer one replaced them.",
      \.node.hub.merged),
    .counter(
      "messages_lost_total", "Messages that slow clients did not get, each reported to its client.",
      \.node.hub.lost),
    .histogram(
      "client_queue_bytes", "Bytes that wait for a client; each client is checked every 5 s.", unit: 1,
      \.node.queues),
    .histogram(
      "delivery_seconds",
      "From the turn in which a venue's message was read to its frames' writing; the oldest of each turn that wrote.",
      unit: 1e9, \.node.delivery),
  ]

  private static let streams: [Metric<MetricsPage>] = [
    .counter("clients_evicted_total", "Clients closed while draining.", \.node.evicted),
    .counters("resumes_total", "Clients that asked to resume a session, and whether it still existed.", by: "result") {
      [("resumed", $0.node.hub.resumed), ("refused", $0.node.hub.notResumed)]
    },
    .gauge("sessions_parked", "Sessions kept for clients that may come back.", \.node.parkedSessions),
    .gauge("streams", "Streams with subscribers.", \.node.streams),
    .gauge("streams_kept", "Streams without subscribers whose numbers are kept.", \.node.streamsKept),
    .gauge("replay_bytes", "Bytes of messages kept for clients that come back.", \.node.replayBytes),
  ]
}

extension LoopMetrics {
  fileprivate static let table: [Metric<LoopMetrics>] = [
    .histogram("loop_turn_seconds", "How long turns of an event loop took.", unit: 1e9, \.times.turns),
    .histogram(
      "loop_lag_seconds", "How late an event loop's timers ran; up to 1 ms is their granularity.", unit: 1e9,
      \.times.lag),
  ]
}
