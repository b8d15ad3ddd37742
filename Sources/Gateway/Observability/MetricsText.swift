import Access
import Build
import Bytes
import MarketData
import PubSub
import Transport
import Venues

/// Prometheus' text format, version 0.0.4.
enum MetricsText {
  /// - Parameters:
  ///   - queuedBytes: the bytes that wait for clients, over all loops.
  ///   - shed: connections turned away for lack of descriptors.
  static func render(
    _ node: NodeMetrics, feeds: [FeedMetrics], loops: [LoopMetrics] = [], admission: Admission.Figures = .init(),
    queuedBytes: Int = 0,
    shed: Int = 0, uptimeSeconds: Double, now: Timestamp
  ) -> String {
    var out = MetricsWriter()
    out.family(
      "build_info", "gauge", "The version, the commit and the day of the build that runs.",
      [
        (
          [
            "version": TidegateVersion.current, "commit": TidegateVersion.commit, "date": TidegateVersion.buildDate,
          ], "1"
        )
      ])
    out.single("uptime_seconds", "gauge", "Seconds since the start.", uptimeSeconds)
    out.family(
      "clients", "gauge", "Clients on the stream now.",
      zip(ClientCounts.labels, node.ends.present).map {
        (["transport": $0.transport, "encoding": $0.encoding], "\($1)")
      })
    out.single("clients_total", "counter", "Clients that have joined the stream.", node.clientsTotal)
    out.single("connections", "gauge", "Connections on the client port now.", node.connections)
    out.family(
      "refused_total", "counter", "Connections, handshakes and requests refused.",
      zip(Refusal.allCases, admission.refusals).map { (["reason": $0.rawValue], "\($1)") }
        + [(["reason": "descriptors"], "\(shed)")])
    out.single("addresses", "gauge", "Addresses that limits remember.", admission.addresses)
    out.single("queued_bytes", "gauge", "Bytes that wait for clients.", queuedBytes)
    out.single("client_requests_total", "counter", "Requests on the stream.", node.requests)
    out.family(
      "http_requests_total", "counter", "HTTP requests on the client port, by route and status.",
      node.http.answers.sorted { $0.key < $1.key }.map {
        (["route": HTTPFigures.routes[$0.key.route], "code": "\($0.key.status)"], "\($0.value)")
      })
    out.histograms(
      "http_request_seconds", "From a request's head to its answer.", unit: 1e9,
      zip(HTTPFigures.routes, node.http.times).filter { $1.count > 0 }.map { (["route": $0], $1) })
    out.single("frames_sent_total", "counter", "Frames handed to clients' connections.", node.framesSent)
    out.single(
      "clients_compressing_total", "counter", "Clients that have agreed on compression.", node.compressingClients)
    out.single(
      "frames_compressed_total", "counter", "Compressions done; each serves many clients.", node.framesCompressed)
    out.single(
      "compressed_frames_sent_total", "counter", "Compressed frames handed to clients' connections.",
      node.compressedFramesSent)
    out.single(
      "compression_input_bytes_total", "counter", "Bytes of the compressed frames sent, before.",
      node.bytesBeforeCompression)
    out.single(
      "compression_output_bytes_total", "counter", "Bytes of the compressed frames sent, after.",
      node.bytesAfterCompression)
    out.single(
      "client_protocol_errors_total", "counter", "Clients that broke the WebSocket protocol.", node.protocolErrors)
    out.single(
      "over_budget_closed_total", "counter", "Clients closed because all clients together had too many queued bytes.",
      node.closedOverBudget)
    out.single(
      "silent_ended_total", "counter", "Silent connections that were closed to make room for new ones.",
      node.endedForRoom)
    out.family(
      "clients_closed_total", "counter", "Ended clients, by reason: the client itself, a rule, an operator or a drain.",
      zip(ClientCounts.Ending.allCases, node.ends.ended).map { (["reason": $0.rawValue], "\($1)") })
    out.single("clients_degraded", "gauge", "Clients in a slower class than they asked for.", node.hub.degraded)
    out.family(
      "subscriptions", "gauge", "Subscriptions of clients, by channel.",
      zip(ChannelName.allCases, node.hub.subscriptions).map { (["channel": $0.rawValue], "\($1)") })
    out.single(
      "messages_merged_total", "counter", "Messages that slow clients did not get because a newer one replaced them.",
      node.hub.merged)
    out.single(
      "messages_lost_total", "counter", "Messages that slow clients did not get, each reported to its client.",
      node.hub.lost)
    out.histograms(
      "client_queue_bytes", "Bytes that wait for a client; each client is checked every 5 s.", unit: 1,
      [([:], node.queues)])
    out.histograms(
      "delivery_seconds",
      "From the turn in which a venue's message was read to its frames' writing; the oldest of each turn that wrote.",
      unit: 1e9, [([:], node.delivery)])
    out.histograms(
      "loop_turn_seconds", "How long turns of an event loop took.", unit: 1e9,
      loops.sorted { $0.index < $1.index }.map { (["loop": "\($0.index)"], $0.times.turns) })
    out.histograms(
      "loop_lag_seconds", "How late an event loop's timers ran; up to 1 ms is their granularity.", unit: 1e9,
      loops.sorted { $0.index < $1.index }.map { (["loop": "\($0.index)"], $0.times.lag) })
    out.single("clients_evicted_total", "counter", "Clients closed while draining.", node.evicted)
    out.family(
      "resumes_total", "counter", "Clients that asked to resume a session, and whether it still existed.",
      [(["result": "resumed"], "\(node.hub.resumed)"), (["result": "refused"], "\(node.hub.notResumed)")])
    out.single("sessions_parked", "gauge", "Sessions kept for clients that may come back.", node.parkedSessions)
    out.single("streams", "gauge", "Streams with subscribers.", node.streams)
    out.single("streams_kept", "gauge", "Streams without subscribers whose numbers are kept.", node.streamsKept)
    out.single("replay_bytes", "gauge", "Bytes of messages kept for clients that come back.", node.replayBytes)
    renderFeeds(feeds, now: now, to: &out)
    return out.text
  }

  private static func renderFeeds(_ feeds: [FeedMetrics], now: Timestamp, to out: inout MetricsWriter) {
    func labels(_ feed: FeedMetrics, _ key: String, _ value: String) -> MetricsWriter.Labels {
      ["venue": feed.venue, "connection": feed.connection, key: value]
    }
    func perFeed(_ name: String, _ type: String, _ help: String, _ value: (FeedMetrics) -> String) {
      out.family(
        name, type, help,
        feeds.map { (["venue": $0.venue, "connection": $0.connection], value($0)) })
    }
    out.family(
      "feed_state", "gauge", "1 for the state a feed is in.",
      feeds.flatMap { feed in
        FeedState.allCases.map { (labels(feed, "state", $0.rawValue), $0.rawValue == feed.state ? "1" : "0") }
      })
    perFeed("feed_simulated", "gauge", "1 if prices are simulated or replayed, 0 if they are the venue's.") {
      $0.isSimulated ? "1" : "0"
    }
    perFeed("feed_messages_total", "counter", "Messages received.") { "\($0.messages)" }
    perFeed("feed_rejected_total", "counter", "Messages refused as unreadable.") { "\($0.rejected)" }
    out.family(
      "feed_errors_total", "counter", "Rejected messages and REST answers, by kind.",
      feeds.flatMap { feed in feed.errors.map { (labels(feed, "kind", $0.kind.rawValue), "\($0.count)") } })
    perFeed("feed_refused_values_total", "counter", "Prices, sizes and times that no market can have.") {
      "\($0.refusedValues)"
    }
    perFeed("feed_bytes_total", "counter", "Bytes received.") { "\($0.bytes)" }
    perFeed("feed_connects_total", "counter", "Connections made.") { "\($0.connects)" }
    perFeed("feed_silences_total", "counter", "Times that the venue fell silent on an open connection.") {
      "\($0.silences)"
    }
    out.family(
      "feed_handovers_total", "counter", "Planned changes of connection, and whether the feed continued without a gap.",
      feeds.flatMap { feed in
        [("replaced", feed.replaced), ("failed", feed.handoversFailed)].map {
          (labels(feed, "result", $0.0), "\($0.1)")
        }
      })
    perFeed("feed_instruments", "gauge", "Instruments followed.") { "\($0.instruments)" }
    out.family(
      "feed_books", "gauge",
      "Books by state: in sync, waiting for a snapshot, in sync when the feed fell silent, or bids and asks overlap.",
      feeds.flatMap { feed in
        zip(FeedMetrics.BookCondition.allCases, feed.books).map { (labels(feed, "state", $0.rawValue), "\($1)") }
      })
    perFeed("feed_gaps_total", "counter", "Gaps found in book sequences.") { "\($0.gaps)" }
    out.family(
      "feed_resyncs_total", "counter", "Times that a book lost sync while its connection stood, by reason.",
      feeds.flatMap { feed in
        zip(ResyncReason.allCases, feed.resyncs).filter { $0.0 != .disconnected }.map {
          (labels(feed, "reason", $0.0.rawValue), "\($0.1)")
        }
      })
    out.family(
      "feed_channels_silent", "gauge",
      "Channels beside a book that are silent although other channels of the instrument contradict that, by channel.",
      feeds.flatMap { feed in
        zip(MarketChannel.allCases, feed.channelsSilent).map { (labels(feed, "channel", $0.name), "\($1)") }
      })
    out.family(
      "feed_channel_silences_total", "counter",
      "Times that such a channel was found silent and subscribed again, by channel.",
      feeds.flatMap { feed in
        zip(MarketChannel.allCases, feed.channelSilences).map { (labels(feed, "channel", $0.name), "\($1)") }
      })
    perFeed("feed_trades_total", "counter", "Live trades.") { "\($0.trades)" }
    perFeed("feed_trade_renumberings_total", "counter", "Times that a venue restarted an instrument's trade ids.") {
      "\($0.renumberings)"
    }
    perFeed("feed_trades_missed_total", "counter", "Trades that did not arrive, by the venue's numbers.") {
      "\($0.tradesMissed)"
    }
    perFeed("feed_trades_found_total", "counter", "Missed trades that arrived late or that REST brought.") {
      "\($0.tradesFound)"
    }
    perFeed(
      "feed_age_seconds", "gauge", "Seconds since the last market message; since the feed's start if there was none."
    ) { feed in "\(Double(max(0, now.microseconds - (feed.lastMessage ?? feed.startedAt))) / 1e6)" }
    out.histograms(
      "feed_arrival_seconds", "From the venue's time of a trade to its arrival, by both clocks.", unit: 1e9,
      feeds.filter { $0.arrival.count > 0 }.map {
        (["venue": $0.venue, "connection": $0.connection], $0.arrival)
      })
  }
}
