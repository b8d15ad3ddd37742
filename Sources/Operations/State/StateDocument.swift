import Build
import Bytes
import HTTPAPI
import Logging
import MarketData
import PubSub
import Transport

/// The state of the whole gateway at one moment, as operators' pages and `tidegate top` get it. `Operations.md` has its
/// fields.
package struct StateDocument: Sendable {
  /// A limit of the gateway, and how much of it is used.
  package struct Limit: Sendable {
    /// The setting's key, or what the system calls it.
    let name: String
    let used: Int
    let limit: Int

    package init(name: String, used: Int, limit: Int) {
      self.name = name
      self.used = used
      self.limit = limit
    }
  }

  /// The process: which run of which node, since when, and what it uses.
  package struct Process: Sendable {
    let node: String
    let epoch: String
    let uptimeSeconds: Int64
    /// Nil where the kernel is a simulated one.
    let figures: ProcessFigures?
    /// Cores that the process has used over the last second; nil before it is over.
    let cores: Double?

    package init(node: String, epoch: String, uptimeSeconds: Int64, figures: ProcessFigures?, cores: Double?) {
      self.node = node
      self.epoch = epoch
      self.uptimeSeconds = uptimeSeconds
      self.figures = figures
      self.cores = cores
    }
  }

  let now: Timestamp
  let process: Process
  let health: Health
  let limits: [Limit]
  /// When the first certificate in use expires, Unix seconds; nil: there is none.
  let certificateExpiry: Int?
  /// Why a recording is not written; nil: all are, or there is none.
  let recordingFailure: String?
  /// Refused connections, handshakes and requests, by reason; reasons without refusals are left out.
  let refused: [(reason: String, count: UInt64)]
  /// By loop.
  let parts: [NodeState]
  let events: [EventLog.Entry]

  package init(
    now: Timestamp, process: Process, health: Health, limits: [Limit], certificateExpiry: Int?,
    recordingFailure: String?, refused: [(reason: String, count: UInt64)], parts: [NodeState], events: [EventLog.Entry]
  ) {
    self.now = now
    self.process = process
    self.health = health
    self.limits = limits
    self.certificateExpiry = certificateExpiry
    self.recordingFailure = recordingFailure
    self.refused = refused
    self.parts = parts
    self.events = events
  }

  /// JSON in one line, without the line feed.
  func encode() -> [UInt8] {
    var writer = JSONObjectWriter(capacity: 16_384)
    writer.object { writer in
      writer.field("type", "state")
      writer.field("time", now.microseconds)
      writer.field("node", process.node)
      writer.field("epoch", process.epoch)
      writer.field("version", TidegateVersion.current)
      writer.field("commit", TidegateVersion.commit)
      writer.field("uptime_s", process.uptimeSeconds)
      writer.field("status", health.status.rawValue)
      writer.field("ready", health.isReady)
      writer.field("draining", health.isDraining)
      writer.field("reasons", health.reasons)
      writer.field("warnings", warnings)
      appendFeeds(to: &writer)
      appendBooks(to: &writer)
      appendClients(to: &writer)
      appendThroughput(to: &writer)
      appendLoops(to: &writer)
      appendLimits(to: &writer)
      appendEvents(to: &writer)
    }
    return writer.takeBytes()
  }

  /// The thresholds of warnings, as in the alert rules: the used part of a limit, the time to a certificate's expiry
  /// (s), and the time of a loop's turn (ns).
  private static let nearLimit = 0.75
  private static let certificateNotice = 14 * 86_400
  private static let slowTurn = 50_000_000.0

  /// The problems that need an operator although the gateway is still ready, a sentence each.
  var warnings: [String] {
    var warnings: [String] = []
    if let certificateExpiry {
      let seconds = certificateExpiry - Int(now.microseconds / Microseconds.second)
      if seconds <= 0 {
        warnings.append("a certificate has expired")
      } else if seconds < Self.certificateNotice {
        warnings.append("a certificate expires in \(seconds / 86_400) d \(seconds / 3_600 % 24) h")
      }
    }
    if let recordingFailure { warnings.append("a recording is not written: \(recordingFailure)") }
    for limit in limits where Double(limit.used) > Self.nearLimit * Double(limit.limit) {
      warnings.append("\(limit.name) is nearly used up: \(limit.used) of \(limit.limit)")
    }
    for loop in parts.map(\.loop).sorted(by: { $0.index < $1.index }) {
      guard let turn = loop.turn, turn > Self.slowTurn else { continue }
      warnings.append("loop \(loop.index) keeps clients waiting for \(Int(turn / 1e6)) ms")
    }
    let unreal = Set(
      parts.flatMap(\.feeds).filter { $0.source != .live && !$0.report.isStopped }.map(\.report.figures.venue))
    if !unreal.isEmpty { warnings.append("prices are not real: \(unreal.sorted().joined(separator: ", "))") }
    return warnings
  }

  private func appendFeeds(to writer: inout JSONObjectWriter) {
    let feeds = parts.flatMap(\.feeds).sorted { $0.report.connection < $1.report.connection }
    writer.array("feeds") { writer in
      for feed in feeds { writer.object { append(feed, to: &$0) } }
    }
  }

  private func append(_ feed: NodeState.FeedState, to writer: inout JSONObjectWriter) {
    let (report, figures) = (feed.report, feed.report.figures)
    writer.field("connection", report.connection)
    writer.field("venue", figures.venue)
    writer.field("state", report.isStopped ? "stopped" : figures.state)
    writer.field("indicator", feed.indicator)
    writer.field("reason", report.isStopped ? "stopped by an operator" : report.reason)
    writer.field("since", feed.since.microseconds)
    writer.field("simulated", feed.source != .live)
    writer.field("age_ms", report.lastMessage.map { Int(max(0, now - $0) / Microseconds.millisecond) })
    writer.field("rate", feed.messages.rate)
    writer.field("rates", feed.messages.line)
    writer.field("lag_ms", feed.arrival.flatMap { $0.quantile(0.5) }.map { $0 / 1e6 })
    writer.field("lag_p99_ms", feed.arrival.flatMap { $0.quantile(0.99) }.map { $0 / 1e6 })
    writer.field("messages", figures.messages)
    writer.field("connects", figures.connects)
    writer.field("gaps", figures.gaps)
    writer.field("resyncs", figures.resyncs.reduce(0, +))
    writer.field("rejected", figures.rejected)
    writer.object("books") { writer in
      for (condition, count) in zip(FeedMetrics.BookCondition.allCases, figures.books) {
        writer.field(condition.rawValue, count)
      }
    }
  }

  private func appendBooks(to writer: inout JSONObjectWriter) {
    writer.field("books_not_live", parts.reduce(0) { $0 + $1.booksNotLive })
    let books = parts.flatMap(\.books).sorted { $0.symbol < $1.symbol }.prefix(NodeState.bookLimit)
    writer.array("books") { writer in
      for book in books {
        writer.object { writer in
          writer.field("connection", book.connection)
          writer.field("symbol", book.symbol)
          writer.field("reason", book.reason)
        }
      }
    }
  }

  private func appendClients(to writer: inout JSONObjectWriter) {
    var hub = HubFigures()
    var ends = ClientCounts()
    for part in parts {
      hub.add(part.hub)
      ends.add(part.metrics.ends)
    }
    writer.object("clients") { writer in
      writer.field("now", parts.reduce(0) { $0 + $1.loop.clients })
      writer.field("total", parts.reduce(0) { $0 + $1.metrics.clientsTotal })
      writer.field("connections", parts.reduce(0) { $0 + $1.metrics.connections })
      writer.field("subscriptions", hub.subscriptions.reduce(0, +))
      writer.field("slow", parts.reduce(0) { $0 + $1.slowCount })
      writer.field("degraded", hub.degraded)
      writer.field("merged", hub.merged)
      writer.field("lost", hub.lost)
      writer.field("resumed", hub.resumed)
      writer.field("parked", parts.reduce(0) { $0 + $1.metrics.parkedSessions })
      writer.object("closed") { writer in
        for (ending, count) in zip(ClientCounts.Ending.allCases, ends.ended) where count > 0 {
          writer.field(ending.rawValue, count)
        }
      }
      writer.object("refused") { writer in
        for (reason, count) in refused { writer.field(reason, count) }
      }
    }
    let slow = parts.flatMap(\.slow).sorted(by: ClientReport.isSlower).prefix(NodeState.slowLimit)
    writer.array("slow") { writer in
      for client in slow { writer.object { client.append(to: &$0, now: now) } }
    }
  }

  private func appendThroughput(to writer: inout JSONObjectWriter) {
    var delivery = Histogram.durations
    for part in parts { delivery.add(part.delivery) }
    let feeds = parts.flatMap(\.feeds).map(\.messages)
    writer.object("throughput") { writer in
      writer.field("messages", Self.sum(feeds).rate)
      writer.field("messages_line", Self.sum(feeds).line)
      writer.field("frames", Self.sum(parts.map(\.frames)).rate)
      writer.field("frames_line", Self.sum(parts.map(\.frames)).line)
      writer.field("delivery_ms", delivery.quantile(0.5).map { $0 / 1e6 })
      writer.field("delivery_p99_ms", delivery.quantile(0.99).map { $0 / 1e6 })
    }
  }

  private static func sum(_ all: [SecondCounts]) -> (rate: Double?, line: [UInt32]) {
    let rates = all.compactMap(\.rate)
    let lines = all.map(\.line)
    let length = lines.map(\.count).max() ?? 0
    // All lines end now, but some began later.
    let line = (0..<length).map { position in
      lines.reduce(UInt32(0)) { sum, line in
        let index = position - (length - line.count)
        return index < 0 ? sum : UInt32(clamping: UInt64(sum) + UInt64(line[index]))
      }
    }
    return (rates.isEmpty ? nil : rates.reduce(0, +), line)
  }

  private func appendLoops(to writer: inout JSONObjectWriter) {
    writer.array("loops") { writer in
      for loop in parts.map(\.loop).sorted(by: { $0.index < $1.index }) {
        writer.object { writer in
          writer.field("loop", loop.index)
          writer.field("clients", loop.clients)
          writer.field("feeds", loop.feeds)
          writer.field("busy", loop.busy)
          writer.field("turn_p99_ms", loop.turn.map { $0 / 1e6 })
          writer.field("lag_p99_ms", loop.lag.map { $0 / 1e6 })
        }
      }
    }
  }

  private func appendLimits(to writer: inout JSONObjectWriter) {
    writer.array("limits") { writer in
      for limit in limits {
        writer.object { writer in
          writer.field("name", limit.name)
          writer.field("used", limit.used)
          writer.field("limit", limit.limit)
        }
      }
    }
    writer.object("process") { writer in
      writer.field("cores", process.cores)
      writer.field("resident_bytes", process.figures?.residentBytes)
      writer.field("descriptors", process.figures?.openDescriptors)
    }
  }

  private func appendEvents(to writer: inout JSONObjectWriter) {
    writer.array("events") { writer in
      for entry in events {
        writer.object { writer in
          writer.field("time", entry.time)
          writer.field("level", entry.level.rawValue)
          writer.field("event", entry.event)
          writer.field("msg", entry.message)
          writer.object("fields") { writer in
            for (key, value) in entry.fields { writer.field(key, value) }
          }
        }
      }
    }
  }
}
