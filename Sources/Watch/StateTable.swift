/// What `tidegate top` shows: the last state of a gateway as lines. A value without a terminal.
package struct StateTable: Sendable {
  private typealias Color = LineCells.Color
  /// The used part of a limit from which it counts as near.
  private static let near = 0.75
  /// The most lines of reasons, books and clients.
  private static let reasonLines = 8
  private static let bookLines = 8
  private static let clientLines = 8

  private let address: String
  private var state: GatewayState?
  /// Why the last request failed; nil: it did not.
  private var failure: String?

  /// - Parameter address: the internal port's address, for people.
  package init(address: String) { self.address = address }

  package mutating func apply(_ state: GatewayState) {
    self.state = state
    failure = nil
  }

  /// A request has failed: the shown state is old.
  package mutating func fail(_ reason: String) { failure = reason }

  /// At most `height` lines of at most `width` columns; the least urgent lines are left out first.
  package func lines(width: Int, height: Int, color: Bool) -> [String] {
    var lines: [String] = []
    func add(_ body: (inout LineCells) -> Void) {
      var cells = LineCells(width: width, color: color)
      body(&cells)
      lines.append(cells.text)
    }
    if let failure { add { $0.add("● no connection to \(address), retrying: \(failure)", columns: width, .red) } }
    guard let state else {
      if failure == nil { add { $0.add("● connecting to \(address)", columns: width, .yellow) } }
      return Array(lines.prefix(height))
    }
    add { head(state, width, &$0) }
    for reason in (state.reasons + state.warnings).prefix(Self.reasonLines) {
      add { $0.add("  \(reason)", columns: width, .yellow) }
    }
    add { figures(state, &$0) }
    add { Self.feedTitle(&$0, color: color) }
    for feed in state.feeds { add { Self.feed(feed, &$0, color: color) } }
    if state.books_not_live > 0 {
      add { $0.add("books that are not live: \(state.books_not_live)", columns: width, .dim) }
      for book in state.books.prefix(Self.bookLines) {
        add {
          $0.add("  \(book.symbol)", columns: 26)
          $0.add(book.reason, columns: width, .yellow)
        }
      }
    }
    if !state.slow.isEmpty {
      add { $0.add("slow clients: \(state.clients.slow)", columns: width, .dim) }
      for client in state.slow.prefix(Self.clientLines) { add { Self.client(client, &$0) } }
    }
    add { $0.add("loops and limits", columns: width, .dim) }
    for loop in state.loops { add { Self.loop(loop, &$0) } }
    for limit in state.limits { add { Self.limit(limit, &$0) } }
    if !state.events.isEmpty { add { $0.add("events", columns: width, .dim) } }
    for event in state.events { add { Self.event(event, width, &$0) } }
    return Array(lines.prefix(max(0, height)))
  }

  private func head(_ state: GatewayState, _ width: Int, _ cells: inout LineCells) {
    let word = state.draining ? "draining" : state.status
    let tint: Color = state.status == "ok" ? .green : state.status == "degraded" ? .yellow : .red
    let simulated = state.feeds.contains(where: \.simulated) ? "; prices are SIMULATED" : ""
    cells.add(
      "● \(word): \(state.node) (\(address)), version \(state.version), up \(Self.time(state.uptime_s * 1_000))\(simulated)",
      columns: width, tint)
  }

  private func figures(_ state: GatewayState, _ cells: inout LineCells) {
    let (clients, throughput) = (state.clients, state.throughput)
    for (name, value) in [
      ("clients", "\(clients.now), \(clients.slow) slow"), ("subscriptions", "\(clients.subscriptions)"),
      ("in", Self.rate(throughput.messages)), ("out", Self.rate(throughput.frames)),
      ("delivery p99", Self.time(throughput.delivery_p99_ms)),
      ("cores", state.process.cores.map { Self.decimal($0, digits: 2) } ?? "–"),
      ("memory", Self.bytes(state.process.resident_bytes)),
    ] {
      let text = "\(name) \(value)"
      cells.add(text, columns: text.count)
    }
  }

  private static func feedTitle(_ cells: inout LineCells, color: Bool) {
    cells.add("feed", columns: 18, .dim)
    cells.add("state", columns: 14, .dim)
    for name in ["rate", "age", "lag", "gaps", "resyncs", "books"] {
      cells.add(name, columns: 8, .dim, alignRight: true)
    }
    cells.add("last minute", columns: 30, .dim)
  }

  private static func feed(_ feed: GatewayState.Feed, _ cells: inout LineCells, color: Bool) {
    let tint: Color = feed.indicator == "connected" ? .green : feed.indicator == "reconnecting" ? .yellow : .red
    cells.add("● \(feed.connection)", columns: 18, tint)
    cells.add(feed.state, columns: 14)
    let all = feed.books.values.reduce(0) { sum, count in
      let (total, overflow) = sum.addingReportingOverflow(count)
      return overflow ? .max : total
    }
    for text in [
      rate(feed.rate), time(feed.age_ms), time(feed.lag_ms), "\(feed.gaps)", "\(feed.resyncs)",
      "\(feed.books["live"] ?? 0)/\(all)",
    ] {
      cells.add(text, columns: 8, alignRight: true)
    }
    cells.add(BlockSparkline.text(feed.rates.map { $0 }, width: 30), columns: 30)
    if let reason = feed.reason { cells.add(reason, columns: 80, .yellow) }
  }

  private static func client(_ client: GatewayState.Client, _ cells: inout LineCells) {
    cells.add("  \(client.id)", columns: 14)
    cells.add(client.key ?? client.peer, columns: 24)
    let pace =
      client.held_ms > 0 ? "held at \(client.held_ms) ms" : client.degraded_ms > 0 ? "at \(client.degraded_ms) ms" : ""
    for (name, text) in [
      ("waits", bytes(client.queued_bytes)), ("slow for", time(client.slow_ms)), ("merged", "\(client.merged)"),
      ("lost", "\(client.lost)"), ("", pace),
    ] where !text.isEmpty {
      let shown = name.isEmpty ? text : "\(name) \(text)"
      cells.add(shown, columns: max(16, shown.count))
    }
  }

  private static func loop(_ loop: GatewayState.Loop, _ cells: inout LineCells) {
    cells.add("  loop \(loop.loop)", columns: 26)
    cells.add("busy \(percent(loop.busy))", columns: 11, (loop.busy * 100).rounded() >= near * 100 ? .yellow : nil)
    cells.add("lag p99 \(time(loop.lag_p99_ms))", columns: 18)
    cells.add("turn p99 \(time(loop.turn_p99_ms))", columns: 19)
    cells.add("\(loop.clients) clients, \(loop.feeds) feeds", columns: 30)
  }

  private static func limit(_ limit: GatewayState.Limit, _ cells: inout LineCells) {
    let part = limit.limit > 0 ? limit.used / limit.limit : 0
    cells.add("  \(limit.name)", columns: 26)
    cells.add(percent(part), columns: 11, part >= near ? .red : nil)
    let text = limit.name.contains("bytes") ? bytes : { decimal($0 ?? 0, digits: 0) }
    cells.add("\(text(limit.used)) of \(text(limit.limit))", columns: 40)
  }

  private static func event(_ event: GatewayState.Event, _ width: Int, _ cells: inout LineCells) {
    let tint: Color? = event.level == "warning" ? .yellow : ["error", "critical"].contains(event.level) ? .red : nil
    cells.add("  \(clock(event.time))", columns: 10)
    cells.add(event.level, columns: 8, tint)
    let fields = event.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    cells.add(([event.msg] + fields).joined(separator: " "), columns: width)
  }

  // MARK: Texts

  /// `31 %`; `–` for a part that nobody can read.
  private static func percent(_ part: Double) -> String {
    guard part.isFinite, abs(part) < 1e6 else { return "–" }
    return "\(Int((part * 100).rounded())) %"
  }

  /// `0.4 ms`, `12 ms`, `3.2 s`, `5 min`, `4 h 5 min`, `3 d 4 h`; `–` for nil.
  static func time(_ milliseconds: Double?) -> String {
    guard let value = milliseconds, value.isFinite, value >= 0, value < 1e15 else { return "–" }
    if value < 10 { return "\(decimal(value, digits: 1)) ms" }
    if value < 1_000 { return "\(Int(value.rounded())) ms" }
    if value < 60_000 { return "\(decimal(value / 1_000, digits: 1)) s" }
    let minutes = Int(value / 60_000)
    if minutes < 60 { return "\(minutes) min" }
    let hours = minutes / 60
    return hours < 24 ? "\(hours) h \(minutes % 60) min" : "\(hours / 24) d \(hours % 24) h"
  }

  /// `812 B`, `1.2 kB`, `34 MB`; `–` for nil.
  static func bytes(_ value: Double?) -> String {
    guard var value, value.isFinite else { return "–" }
    let units = ["B", "kB", "MB", "GB", "TB"]
    var power = 0
    while value >= 1_000, power < units.count - 1 {
      value /= 1_000
      power += 1
    }
    return "\(decimal(value, digits: power > 0 && value < 10 ? 1 : 0)) \(units[power])"
  }

  private static func rate(_ value: Double?) -> String {
    value.map { "\(decimal($0, digits: $0 < 10 ? 1 : 0))/s" } ?? "–"
  }

  private static func decimal(_ value: Double, digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "–" }
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let scaled = Int64((value * scale).rounded())
    guard digits > 0 else { return "\(scaled)" }
    let part = "\(abs(scaled) % Int64(scale))"
    return "\(scaled / Int64(scale))." + String(repeating: "0", count: digits - part.count) + part
  }

  /// The time of day, UTC, of µs since 1970.
  private static func clock(_ microseconds: Int64) -> String {
    let seconds = max(0, microseconds / 1_000_000) % 86_400
    return [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
      .joined(separator: ":")
  }
}
