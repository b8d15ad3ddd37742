import Access
import MarketData
import PubSub
import Venues

/// Prometheus' text format, version 0.0.4.
enum MetricsText {
  /// - Parameters:
  ///   - queuedBytes: what waits for clients, over all loops.
  ///   - shed: connections turned away for want of descriptors.
  static func render(
    _ node: NodeMetrics, feeds: [FeedMetrics], admission: Admission.Figures = .init(), queuedBytes: Int = 0,
    shed: Int = 0, uptimeSeconds: Double, now: Timestamp
  ) -> String {
    var out = ""
    func metric(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: String)]) {
      guard !samples.isEmpty else { return }
      out += "# HELP tidegate_\(name) \(help)\n# TYPE tidegate_\(name) \(type)\n"
      for sample in samples { out += "tidegate_\(name)\(sample.labels) \(sample.value)\n" }
    }
    func single(_ name: String, _ type: String, _ help: String, _ value: some Numeric) {
      metric(name, type, help, [("", "\(value)")])
    }
    func perFeed(_ name: String, _ type: String, _ help: String, _ value: (FeedMetrics) -> String?) {
      metric(name, type, help, feeds.compactMap { feed in value(feed).map { ("{venue=\"\(feed.venue)\"}", $0) } })
    }
    metric(
      "build_info", "gauge", "The version, the commit and the day of the build that runs.",
      [
        (
          "{version=\"\(TidegateVersion.current)\",commit=\"\(TidegateVersion.commit)\","
            + "date=\"\(TidegateVersion.buildDate)\"}", "1"
        )
      ])
    single("uptime_seconds", "gauge", "Seconds since the start.", uptimeSeconds)
    single("clients", "gauge", "Clients on the stream now.", node.clients)
    single("clients_total", "counter", "Clients that have joined the stream.", node.clientsTotal)
    single("connections", "gauge", "Connections on the client port now.", node.connections)
    metric(
      "refused_total", "counter", "Connections, handshakes and requests refused.",
      zip(Refusal.allCases, admission.refusals).map { ("{reason=\"\($0.rawValue)\"}", "\($1)") }
        + [("{reason=\"descriptors\"}", "\(shed)")])
    single("addresses", "gauge", "Addresses that limits remember.", admission.addresses)
    single("queued_bytes", "gauge", "Bytes that wait for clients.", queuedBytes)
    single("client_requests_total", "counter", "Requests on the stream.", node.requests)
    single("http_requests_total", "counter", "HTTP requests on the client port.", node.httpRequests)
    single("frames_sent_total", "counter", "Frames handed to clients' connections.", node.framesSent)
    single(
      "clients_compressing_total", "counter", "Clients that have agreed on compression.", node.compressingClients)
    single("frames_compressed_total", "counter", "Compressions done; each serves many clients.", node.framesCompressed)
    single(
      "compressed_frames_sent_total", "counter", "Compressed frames handed to clients' connections.",
      node.compressedFramesSent)
    single(
      "compression_input_bytes_total", "counter", "Bytes of the compressed frames sent, before.",
      node.bytesBeforeCompression)
    single(
      "compression_output_bytes_total", "counter", "Bytes of the compressed frames sent, after.",
      node.bytesAfterCompression)
    single("client_protocol_errors_total", "counter", "Clients that broke the WebSocket protocol.", node.protocolErrors)
    single(
      "over_budget_closed_total", "counter", "Clients closed because too much waited for all together.",
      node.closedOverBudget)
    single(
      "silent_ended_total", "counter", "Connections that had asked for nothing, ended for newcomers.",
      node.endedForRoom)
    single("clients_closed_total", "counter", "Clients closed by a rule (slow, limits).", node.closedByPolicy)
    single("clients_evicted_total", "counter", "Clients closed while draining.", node.evicted)
    single("sessions_resumed_total", "counter", "Sessions that clients came back to.", node.resumed)
    single("sessions_parked", "gauge", "Sessions kept for clients that may come back.", node.parkedSessions)
    single("streams", "gauge", "Streams with subscribers.", node.streams)
    single("streams_kept", "gauge", "Streams without, whose numbers are kept.", node.streamsKept)
    single("replay_bytes", "gauge", "Bytes of messages kept for clients that come back.", node.replayBytes)
    metric(
      "feed_state", "gauge", "1 for the state a feed is in.",
      feeds.flatMap { feed in
        FeedState.allCases.map { state in
          ("{venue=\"\(feed.venue)\",state=\"\(state.rawValue)\"}", state.rawValue == feed.state ? "1" : "0")
        }
      })
    perFeed("feed_simulated", "gauge", "1 where prices are simulated or replayed, 0 where they are the venue's.") {
      $0.isSimulated ? "1" : "0"
    }
    perFeed("feed_messages_total", "counter", "Messages received.") { "\($0.messages)" }
    perFeed("feed_rejected_total", "counter", "Messages refused as unreadable.") { "\($0.rejected)" }
    metric(
      "feed_errors_total", "counter", "Rejected messages and REST answers, by kind.",
      feeds.flatMap { feed in
        feed.errors.map { ("{venue=\"\(feed.venue)\",kind=\"\($0.kind.rawValue)\"}", "\($0.count)") }
      })
    perFeed("feed_bytes_total", "counter", "Bytes received.") { "\($0.bytes)" }
    perFeed("feed_connects_total", "counter", "Connections made.") { "\($0.connects)" }
    metric(
      "feed_handovers_total", "counter", "Planned changes of connection, and whether the feed went on without a hole.",
      feeds.flatMap { feed in
        [("replaced", feed.replaced), ("failed", feed.handoversFailed)].map {
          ("{venue=\"\(feed.venue)\",result=\"\($0.0)\"}", "\($0.1)")
        }
      })
    perFeed("feed_instruments", "gauge", "Instruments carried.") { "\($0.instruments)" }
    perFeed("feed_books_live", "gauge", "Books in sync.") { "\($0.booksLive)" }
    perFeed("feed_gaps_total", "counter", "Holes found in book sequences.") { "\($0.gaps)" }
    perFeed("feed_trades_total", "counter", "Live trades.") { "\($0.trades)" }
    perFeed(
      "feed_age_seconds", "gauge", "Seconds since anything came; where nothing ever has, since the feed's start."
    ) { feed in "\(Double(max(0, now.microseconds - (feed.lastMessage ?? feed.startedAt))) / 1e6)" }
    return out
  }
}
