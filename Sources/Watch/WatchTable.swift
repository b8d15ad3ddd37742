import TidegateClient

/// What `tidegate watch` shows: the state of one connection, rendered as lines. A value without a terminal.
package struct WatchTable: Sendable {
  /// One symbol.
  struct Row: Sendable {
    var price = ""
    var direction = Pulse.Direction.flat
    var changePercent24h: ExactDecimal?
    var bid: ExactDecimal?, ask: ExactDecimal?
    var points: [Double?] = []
    var derivative: Derivative?
    var error: String?
    /// Why the book behind the quote is out of sync; nil: its stream does not say so.
    var outOfSync: String?
    var increment: ExactDecimal?

    var isComplete: Bool {
      !price.isEmpty && changePercent24h != nil && bid != nil && ask != nil && !points.isEmpty
    }
  }

  private enum Link: Sendable {
    case connecting
    case connected(node: String)
    case lost(String)
  }

  private typealias Color = LineCells.Color

  /// The largest number of rows that a gateway's messages may create.
  private static let rowLimit = 10_000

  private let url: String
  /// The requested symbols and patterns.
  private let symbols: [String]
  private var link = Link.connecting
  private(set) var rows: [String: Row] = [:]
  private var feeds: [String: FeedReport] = [:]
  /// The last status of each feed.
  private var told: [String: FeedReport] = [:]
  /// The feeds of the last event, a line each, for output that cannot be redrawn.
  package private(set) var news: [String] = []

  /// - Parameter symbols: each symbol gets a row at once; a pattern like `kraken:*` gets its rows with their data.
  package init(url: String, symbols: [String] = []) {
    self.url = url
    self.symbols = symbols
    for symbol in symbols where !symbol.contains("*") { rows[symbol] = Row() }
  }

  /// Where a gateway listens that is not configured otherwise.
  package static let usualURL = "ws://127.0.0.1:8080/v1/stream"

  /// Whether every row has all that it can show, or an error, and the states of the feeds are known.
  package var isComplete: Bool {
    !rows.isEmpty && !feeds.isEmpty && rows.values.allSatisfy { $0.isComplete || $0.error != nil }
  }

  /// Whether the gateway has refused everything that was requested, so that no data can come.
  package var isRefused: Bool { !symbols.isEmpty && symbols.allSatisfy { rows[$0]?.error != nil } }

  /// The symbols and patterns that the gateway refused, each with its reason, in their order.
  package var refused: [String] {
    rows.keys.sorted().compactMap { symbol in rows[symbol]?.error.map { Self.printable("\(symbol): \($0)") } }
  }

  /// The symbols that are neither refused nor complete, sorted.
  package var unfinished: [String] {
    rows.keys.sorted().filter { rows[$0].map { $0.error == nil && !$0.isComplete } ?? false }.map(Self.printable)
  }

  /// Whether the gateway has answered.
  package var isConnected: Bool { if case .connected = link { true } else { false } }

  /// How many rows there are.
  package var count: Int { rows.count }

  /// Why the connection is gone; nil while it is not.
  package var lost: String? {
    guard case .lost(let reason) = link else { return nil }
    return Self.printable(reason)
  }

  /// One line about a lost connection, for output that cannot be redrawn. Nil while it is not lost.
  package var failure: String? {
    lost.map { "● disconnected from \(url): \($0)" }
  }

  private mutating func take(_ feed: FeedReport) {
    let old = told.updateValue(feed, forKey: feed.venue)
    feeds[feed.venue] = feed
    let isNews = old.map { $0.state != feed.state || $0.reason != feed.reason } ?? (feed.state != .live)
    if isNews {
      news.append(Self.printable("● \(feed.venue) \(feed.state)" + (feed.reason.map { ": " + $0 } ?? "")))
    }
    if feed.isSimulated, old?.isSimulated != true { news.append("● \(feed.venue): prices are SIMULATED") }
    for (symbol, reason) in feed.syncing.sorted(by: { $0.key < $1.key })
    where rows[symbol] != nil && rows[symbol]?.outOfSync == nil && old?.syncing[symbol] != reason {
      news.append(Self.printable("● \(symbol) out of sync: \(reason)"))
    }
    for symbol in (old?.syncing.keys.sorted() ?? [])
    where rows[symbol] != nil && rows[symbol]?.outOfSync == nil && feed.syncing[symbol] == nil
      && feed.indicator == .connected
    {
      news.append(Self.printable("● \(symbol) in sync again"))
    }
  }

  /// Applies an event of the connection.
  package mutating func apply(_ event: ConnectionEvent) {
    news.removeAll()
    switch event {
    case .connected(let welcome): link = .connected(node: welcome.node)
    case .disconnected(let failure, _): link = .lost(Self.withoutRoutes(failure.description))
    case .heartbeat(let heartbeat):
      for feed in heartbeat.feeds {
        // A heartbeat says less about a feed than its status does.
        var known = feeds[feed.venue] ?? feed
        known.state = feed.state
        known.indicator = feed.indicator
        known.isSimulated = feed.isSimulated
        feeds[feed.venue] = known
      }
    case .notice, .frame, .dropped: break
    }
  }

  /// A reason without the gateway's list of its routes: those are for programs.
  package static func withoutRoutes(_ reason: String) -> String {
    guard let hint = reason.firstRange(of: "; "),
      reason[hint.upperBound...].split(separator: " ").contains(where: { $0.hasPrefix("/") })
    else { return reason }
    return reason[..<hint.lowerBound] + "; a gateway's stream is /v1/stream on its client port"
  }

  /// The gateway's hints are for developers of clients; a user of `watch` sets the token in another way, and types a
  /// command in place of a request.
  private func words(of refusal: Refusal) -> String {
    if refusal.code == .unauthorized {
      return "the gateway requires a key or token; give it with --token-file or in TIDEGATE_TOKEN"
    }
    var hint = refusal.hint
    if let request = hint.firstRange(of: "GET /") {
      let at = url == Self.usualURL ? "" : url + " "
      let venue = refusal.symbol.prefix { $0 != ":" }
      // Markets of all venues at once are no pattern.
      let command = venue == "*" || venue.isEmpty ? "" : "see them: tidegate watch --once \(at)'\(venue):*'"
      hint = hint[..<request.lowerBound] + command
    }
    return hint.isEmpty ? refusal.message : "\(refusal.message); \(hint)"
  }

  /// Applies an event of the streams; returns the symbol whose row changed, if one did.
  package mutating func apply(_ event: StreamEvent<Payload>) -> String? {
    news.removeAll()
    switch event {
    case .refused(let refusal) where !refusal.symbol.isEmpty:
      guard rows[refusal.symbol] != nil || rows.count < Self.rowLimit else { return nil }
      let error = words(of: refusal)
      // Each channel is refused with the same words; they are shown once.
      guard rows[refusal.symbol, default: Row()].error != error else { return nil }
      rows[refusal.symbol, default: Row()].error = error
      return refusal.symbol
    case .stale(let info, .outOfSync(let reason)):
      guard rows[info.symbol] != nil, rows[info.symbol]?.outOfSync == nil else { return nil }
      rows[info.symbol]?.outOfSync = reason
      if !isSyncing(info.symbol) { news.append(Self.printable("● \(info.symbol) out of sync: \(reason)")) }
    case .value(.status(let reports), _):
      for feed in reports { take(feed) }
    case .value(let payload, let info):
      guard rows[info.symbol] != nil || rows.count < Self.rowLimit else { return nil }
      if case .quote = payload, rows[info.symbol]?.outOfSync != nil {
        rows[info.symbol]?.outOfSync = nil
        if !isSyncing(info.symbol) { news.append(Self.printable("● \(info.symbol) in sync again")) }
      }
      rows[info.symbol, default: Row()].increment = info.priceIncrement ?? rows[info.symbol]?.increment
      apply(payload, to: &rows[info.symbol, default: Row()])
      if case .sparkline = payload { return nil }
      return info.symbol
    default: break
    }
    return nil
  }

  /// Whether the feed's status names a symbol's book as out of sync.
  private func isSyncing(_ symbol: String) -> Bool {
    feeds[String(symbol.prefix { $0 != ":" })]?.syncing[symbol] != nil
  }

  private func apply(_ payload: Payload, to row: inout Row) {
    switch payload {
    case .pulse(let pulse):
      row.error = nil
      row.price = pulse.price.trimmed(to: row.increment)
      row.direction = pulse.direction
      row.changePercent24h = pulse.changePercent24h ?? row.changePercent24h
    case .ticker(let ticker):
      row.error = nil
      row.price = ticker.last?.trimmed(to: row.increment) ?? row.price
      row.changePercent24h = ticker.changePercent24h ?? row.changePercent24h
      row.bid = ticker.bid ?? row.bid
      row.ask = ticker.ask ?? row.ask
    case .quote(let quote):
      row.bid = quote.bid ?? row.bid
      row.ask = quote.ask ?? row.ask
    case .sparkline(let line): row.points = line.points.map { $0?.doubleValue }
    case .derivative(let derivative): row.derivative = derivative
    case .trades, .liquidations, .book, .candles, .status, .rate, .topic, .alerts, .portfolio, .deck: break
    }
  }

  /// The whole table for programs: cells with a tab between them, neither padded nor cut.
  package var plainLines: [String] {
    let cells = LineCells(width: .max, color: false, pads: false)
    return [header(cells), title(cells)] + rows.keys.sorted().compactMap { line($0, cells) }
  }

  /// The whole table, no line wider than `width` columns and at most `height` lines.
  package func lines(width: Int, height: Int, color: Bool) -> [String] {
    let cells = LineCells(width: width, color: color)
    var lines = [header(cells), title(cells)]
    let room = max(0, height - lines.count)
    let symbols = rows.keys.sorted()
    let shown = symbols.count > room ? max(0, room - 1) : symbols.count
    for symbol in symbols.prefix(shown) { lines.append(line(symbol, width: width, color: color) ?? "") }
    if shown < symbols.count, room > 0 { lines.append(Self.fit("… \(symbols.count - shown) more", width)) }
    return Array(lines.prefix(max(0, height)))
  }

  /// One row; nil if the symbol has none.
  package func line(_ symbol: String, width: Int, color: Bool) -> String? {
    line(symbol, LineCells(width: width, color: color))
  }

  private func line(_ symbol: String, _ empty: LineCells) -> String? {
    guard let row = rows[symbol] else { return nil }
    var cells = empty
    let (dot, text, dotColor) = status(of: symbol)
    cells.add(cells.color ? dot : "\(dot) \(text)", columns: cells.color ? 1 : 14, dotColor)
    let columns = columns(width: cells.width, color: cells.color)
    cells.add(symbol, columns: columns.symbol)
    if let error = row.error {
      cells.add(error, columns: cells.width, .red)
      return cells.text
    }
    let arrow: (String, Color?) =
      switch row.direction {
      case .up: ("▲", .green)
      case .down: ("▼", .red)
      case .flat: ("", nil)
      }
    // Before the price, since it is the direction of the last change, not of the day.
    cells.add(arrow.0, columns: 1, arrow.1)
    cells.add(row.price, columns: 14, alignRight: true)
    let change = row.changePercent24h?.doubleValue
    cells.add(
      row.changePercent24h.map { ($0.doubleValue > 0 ? "+" : "") + $0.description + " %" } ?? "", columns: 9,
      change.map { $0 < 0 ? .red : .green }, alignRight: true)
    cells.add(BlockSparkline.text(row.points, width: columns.sparkline), columns: columns.sparkline)
    cells.add(spread(row), columns: 12, .dim, alignRight: true)
    if hasDerivatives { cells.add(Self.text(row.derivative), columns: Self.derivativeWidth, .dim) }
    return cells.text
  }

  /// The width of the column of mark and funding.
  private static let derivativeWidth = 32

  /// Whether a row has what only perpetuals and dated futures have.
  private var hasDerivatives: Bool { rows.values.contains { $0.derivative != nil } }

  /// `64123.4 0.0001/8h`: the mark, and the rate with its interval.
  private static func text(_ derivative: Derivative?) -> String {
    guard let derivative else { return "" }
    var words = derivative.mark.map { [$0.description] } ?? []
    if let rate = derivative.fundingRate {
      let hours = derivative.fundingInterval.map { $0.components.seconds / 3600 }
      words.append(rate.description + (hours.map { "/\($0)h" } ?? ""))
    }
    return words.joined(separator: " ")
  }

  /// The widths of the flexible columns: symbols get the width of the longest, the curve the rest before the spread.
  private func columns(width: Int, color: Bool) -> (symbol: Int, sparkline: Int) {
    let symbol = min(max(rows.keys.map(\.count).max() ?? 0, 6), 24)
    // Feed, arrow, price, change and spread, with two spaces before each column but the first.
    let others = (color ? 1 : 14) + 14 + 1 + 9 + 12 + 6 * 2
    return (symbol, min(max(width - others - symbol, 8), 24))
  }

  private func spread(_ row: Row) -> String {
    guard let bid = row.bid, let ask = row.ask else { return "" }
    return (ask - bid).trimmed(to: 1)
  }

  /// Dot, text and colour of a symbol's feed; the state of the connection to the gateway takes precedence.
  private func status(of symbol: String) -> (dot: String, text: String, color: Color) {
    switch link {
    case .connecting: return ("●", "connecting", .yellow)
    case .lost: return ("●", "disconnected", .red)
    case .connected: break
    }
    let row = rows[symbol]
    if row?.error != nil { return ("●", "refused", .red) }
    let isEmpty = row?.price.isEmpty ?? true
    let venue = String(symbol.prefix { $0 != ":" })
    guard let feed = feeds[venue] else { return isEmpty ? ("●", "waiting", .yellow) : ("●", "connected", .green) }
    if feed.indicator == .connected, feed.syncing[symbol] != nil || row?.outOfSync != nil {
      return ("●", "syncing", .yellow)
    }
    // No data yet: the feed is well, but that says nothing about this symbol.
    if feed.indicator == .connected, isEmpty, row?.bid == nil, row?.ask == nil { return ("●", "waiting", .yellow) }
    return switch feed.indicator {
    case .connected: ("●", "connected", .green)
    case .reconnecting, .unknown: ("●", "reconnecting", .yellow)
    case .disconnected: ("●", "disconnected", .red)
    }
  }

  private func header(_ empty: LineCells) -> String {
    var cells = empty
    let width = cells.width
    switch link {
    case .connecting: cells.add("● connecting to \(url)", columns: width, .yellow)
    case .connected(let node):
      let address = node.isEmpty ? url : node + " (\(url))"
      let simulated = feeds.values.filter(\.isSimulated).map(\.venue).sorted()
      if simulated.isEmpty {
        cells.add("● connected to \(address)", columns: width, .green)
      } else {
        // Placed before the address, so that a narrow terminal does not cut it off.
        let venues = simulated.joined(separator: ", ")
        cells.add("● prices are SIMULATED (\(venues)); connected to \(address)", columns: width, .yellow)
      }
    case .lost(let reason): cells.add("● disconnected, reconnecting: \(reason)", columns: width, .red)
    }
    return cells.text
  }

  private func title(_ empty: LineCells) -> String {
    var cells = empty
    cells.add(cells.color ? "" : "feed", columns: cells.color ? 1 : 14, .dim)
    let columns = columns(width: cells.width, color: cells.color)
    cells.add("symbol", columns: columns.symbol, .dim)
    cells.add(cells.pads ? "" : "tick", columns: 1)
    cells.add("price", columns: 14, .dim, alignRight: true)
    cells.add("24 h", columns: 9, .dim, alignRight: true)
    cells.add("last 24 h", columns: columns.sparkline, .dim)
    cells.add("spread", columns: 12, .dim, alignRight: true)
    if hasDerivatives { cells.add("mark, funding", columns: Self.derivativeWidth, .dim) }
    return cells.text
  }

  static func fit(_ text: String, _ columns: Int) -> String {
    guard text.count > columns else { return text }
    return columns > 1 ? String(text.prefix(columns - 1)) + "…" : String(text.prefix(max(0, columns)))
  }

  /// Text from the network without control characters, which a terminal would execute.
  static func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }))
  }
}
