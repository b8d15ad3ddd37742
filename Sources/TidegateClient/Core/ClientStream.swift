/// One stream as the client sees it: its position in the gateway's numbering, and the value merged from its messages.
struct ClientStream: Sendable {
  enum Freshness: Sendable, Equatable {
    /// Nothing has arrived yet.
    case waiting
    case live
    case stale(StaleReason)
  }

  /// What a message changed for the stream's consumers.
  enum Change {
    case nothing
    /// The state, or whether it is stale.
    case state
    /// New events; nil: none. Events before them may be missing, with their number if it is known. After them the
    /// channel is silent at the exchange, if there is a reason.
    case events(Payload?, isGap: Bool, missing: Int?, silence: String? = nil)
  }

  /// The largest number of trades in a snapshot, as the protocol says.
  static let recentLimit = 50

  /// The item; its symbol is not a pattern.
  let item: StreamItem
  /// In order of creation.
  let serial: Int
  var subscribers: Set<Int> = []
  /// The gateway's number of the stream on this connection; nil: there is no subscription.
  var number: Int64?
  /// The number on the previous connection, if the stream can continue from `seq`.
  var numberToResume: Int64?
  var priceIncrement: ExactDecimal?
  /// Whether it is a member of a group, which has a position in place of its members.
  var isGrouped = false
  /// The epoch of `seq`.
  var epoch: String?
  var seq: UInt64?
  /// For a channel whose updates are changes: whether there is a snapshot to change.
  var hasSnapshot = false
  /// When to subscribe again if no snapshot came after a gap.
  var gapDeadline: UInt64?
  var freshness = Freshness.waiting
  /// Why the exchange sends no trades any more, although its other channels live; nil: it does.
  private(set) var silence: String?

  // The value: one of these, by channel.
  private var latest: Payload?
  private var book: OrderBook?
  private var line: Sparkline?
  private var series: CandleSeries?
  private var alerts: AlertList?
  /// The latest trades; nil before the first message.
  private var recent: [Trade]?
  /// The latest documents; nil before the first message.
  private var documents: [TopicDocument]?
  /// The latest liquidations; nil before the first message.
  private var liquidations: [Liquidation]?
  /// Of liquidations: whether the exchange tells of all.
  private var isComplete: Bool?

  init(item: StreamItem, serial: Int) {
    self.item = item
    self.serial = serial
  }

  var info: StreamInfo {
    StreamInfo(channel: item.channel, symbol: item.symbol, priceIncrement: priceIncrement, isComplete: isComplete)
  }

  /// The merged value; for events, the latest ones.
  var payload: Payload? {
    switch item.channel {
    case .book: book.map { .book($0) }
    case .sparkline: line.map { .sparkline($0) }
    case .candles: series.map { .candles($0) }
    case .trades: recent.map { .trades($0) }
    case .topic: documents.map { .topic($0) }
    case .liquidations: liquidations.map { .liquidations($0) }
    case .alerts: alerts.map { .alerts($0) }
    case .quote, .ticker, .pulse, .derivative, .status, .rate, .portfolio, .deck: latest
    }
  }

  /// The present state for a new consumer; nil: nothing has arrived.
  var event: StreamEvent<Payload>? {
    switch freshness {
    case .waiting: nil
    case .stale(let reason): .stale(info, reason)
    case .live: payload.map { .value($0, info) }
    }
  }

  /// Whether a session may continue with it.
  var isResumable: Bool {
    guard seq != nil, epoch != nil, gapDeadline == nil, !isGrouped else { return false }
    return !item.channel.isState || item.channel.isIncremental && hasSnapshot
  }

  /// Begins the numbering that the gateway named; a snapshot follows.
  mutating func join(_ accepted: ServerMessage.Accepted) {
    number = accepted.stream
    numberToResume = nil
    isGrouped = !accepted.symbols.isEmpty
    epoch = accepted.epoch
    seq = accepted.seq
    priceIncrement = accepted.priceIncrement ?? priceIncrement
    hasSnapshot = false
    gapDeadline = nil
  }

  /// Takes over from a stream of the same number: the gateway sends no second snapshot.
  mutating func join(_ other: ClientStream) {
    number = other.number
    numberToResume = nil
    isGrouped = other.isGrouped
    (epoch, seq, priceIncrement) = (other.epoch, other.seq, other.priceIncrement)
    (hasSnapshot, gapDeadline, freshness) = (other.hasSnapshot, other.gapDeadline, other.freshness)
    (latest, book, line, series) = (other.latest, other.book, other.line, other.series)
    (alerts, recent, documents, silence) = (other.alerts, other.recent, other.documents, other.silence)
    (liquidations, isComplete) = (other.liquidations, other.isComplete)
  }

  /// The connection has ended. True if the stream was not stale before.
  mutating func leave() -> Bool {
    if let number {
      numberToResume = isResumable ? number : nil
      self.number = nil
    }
    gapDeadline = nil
    guard freshness == .live else { return false }
    freshness = .stale(.disconnected)
    return true
  }

  /// Continues where it stopped, in a resumed session.
  mutating func resume(_ number: Int64) {
    self.number = number
    numberToResume = nil
    if payload != nil { freshness = .live }
  }

  /// A message is missing, so the value is stale. True if it was not before.
  mutating func miss(until deadline: UInt64?) -> Bool {
    gapDeadline = deadline
    guard freshness != .stale(.gap) else { return false }
    freshness = .stale(.gap)
    return true
  }

  /// Merges a message.
  /// - Parameter deadline: when to subscribe again if it shows a gap and no snapshot follows.
  mutating func take(_ message: ServerMessage.StreamMessage, deadline: UInt64) -> Change {
    if case .outOfSync(let reason) = message.data {
      seq = message.seq
      hasSnapshot = false
      // The gateway sends a snapshot once it has one from the exchange; a new subscription would not make that faster.
      gapDeadline = nil
      freshness = .stale(.outOfSync(reason))
      return .state
    }
    if case .trades(let trades, let lost, let reason) = message.data {
      let isNews = reason != silence
      silence = reason
      let change = take(trades, lost, of: message)
      guard isNews else { return change }
      // Also without trades: the channel has died, or speaks again.
      guard case .events(let events, let isGap, let missing, _) = change else {
        return .events(reason == nil ? .trades([]) : nil, isGap: false, missing: nil, silence: reason)
      }
      return .events(events, isGap: isGap, missing: missing, silence: reason)
    }
    if case .documents(let documents) = message.data { return take(documents, of: message) }
    if case .liquidations(let list, let isComplete) = message.data {
      self.isComplete = isComplete ?? self.isComplete
      return take(list, of: message)
    }
    if !message.isSnapshot {
      // After a gap, messages before the next snapshot are useless.
      if gapDeadline != nil { return .nothing }
      let links = seq == nil || message.prev == seq
      guard links, hasSnapshot || !item.channel.isIncremental else {
        seq = message.seq
        return miss(until: deadline) ? .state : .nothing
      }
    }
    seq = message.seq
    guard merge(message.data, isSnapshot: message.isSnapshot) else { return miss(until: deadline) ? .state : .nothing }
    if message.isSnapshot { hasSnapshot = true }
    gapDeadline = nil
    if case .silent(_, let reason) = message.data { freshness = .stale(.outOfSync(reason)) } else { freshness = .live }
    return .state
  }

  /// False if the message does not fit the channel or the value.
  private mutating func merge(_ data: StreamData, isSnapshot: Bool) -> Bool {
    switch data {
    case .payload(let payload), .silent(let payload, _): latest = payload
    case .levels(let levels):
      if isSnapshot || book == nil {
        if book == nil { book = OrderBook(symbol: item.symbol, time: levels.time) }
        book?.replace(with: levels)
      } else {
        book?.update(with: levels)
      }
    case .sparkline(let whole):
      line = whole.of(item.symbol)
    case .sparklineChange(let index, let price, let from, let move):
      guard line?.apply(index: index, price: price, from: from) == true else { return false }
      line?.take(move)
    case .candles(let candles):
      if isSnapshot || series == nil {
        series = CandleSeries(symbol: item.symbol, interval: item.interval ?? .minute)
      }
      series?.merge(candles)
    case .alerts(let change):
      if isSnapshot || alerts == nil { alerts = AlertList(isKept: change.isKept) }
      return alerts?.apply(change.alerts, removed: change.removed) ?? false
    case .trades, .documents, .liquidations, .outOfSync: return false
    }
    return true
  }

  private mutating func take(
    _ trades: [Trade], _ lost: LostTrades?, of message: ServerMessage.StreamMessage
  ) -> Change {
    let links = message.isSnapshot || seq == nil || message.prev == seq
    seq = message.seq
    gapDeadline = nil
    freshness = .live
    hasSnapshot = hasSnapshot || message.isSnapshot
    guard message.isSnapshot, let known = recent else {
      // How a search for missing trades ended.
      if trades.isEmpty, lost == nil, links { return .nothing }
      // A later snapshot shows late ones before the newest.
      recent = Array(((recent ?? []) + trades.filter { !$0.isLate }).suffix(Self.recentLimit))
      let isMarked = !message.isSnapshot && trades.contains(where: \.followsGap)
      return .events(
        trades.isEmpty && lost != nil ? nil : .trades(trades), isGap: !links || isMarked || lost != nil,
        missing: links ? lost?.count : nil)
    }
    // The snapshot has the latest trades. If the last seen trade is among them, none is missing after it, unless a
    // later one says so. An id alone does not name a trade: an exchange may begin its numbers anew.
    var new = trades
    var isGap = known.isEmpty && trades.count >= Self.recentLimit
    if let last = known.last {
      let index = last.id.isEmpty ? nil : trades.lastIndex { $0.id == last.id && $0.time == last.time }
      if let index { new = Array(trades[(index + 1)...]) }
      isGap = index == nil || new.contains(where: \.followsGap)
    }
    recent = Array((isGap ? new : known + new).suffix(Self.recentLimit))
    return .events(.trades(new), isGap: isGap, missing: nil)
  }

  /// A snapshot has the latest ones, of which some are known. They have no numbers, but no two are the same.
  private mutating func take(_ list: [Liquidation], of message: ServerMessage.StreamMessage) -> Change {
    let links = message.isSnapshot || seq == nil || message.prev == seq
    seq = message.seq
    gapDeadline = nil
    freshness = .live
    hasSnapshot = hasSnapshot || message.isSnapshot
    let known = liquidations ?? []
    let new = message.isSnapshot ? list.filter { !known.contains($0) } : list
    // None of those that are known is among the latest: there were more in between.
    let isGap = !links || !known.isEmpty && new.count >= Self.recentLimit
    let isFirst = liquidations == nil
    liquidations = Array((known + new).suffix(Self.recentLimit))
    return new.isEmpty && !isGap && !isFirst ? .nothing : .events(.liquidations(new), isGap: isGap, missing: nil)
  }

  /// The documents' numbers show which are new and how many are missing, in snapshots and updates alike.
  private mutating func take(_ all: [TopicDocument], of message: ServerMessage.StreamMessage) -> Change {
    let links = message.isSnapshot || seq == nil || message.prev == seq
    seq = message.seq
    gapDeadline = nil
    freshness = .live
    hasSnapshot = hasSnapshot || message.isSnapshot
    guard let known = documents, let last = known.last?.number, let newest = all.last?.number else {
      documents = (documents ?? []) + all
      return .events(.topic(all), isGap: !links, missing: nil)
    }
    // Another numbering: the gateway has restarted.
    if newest < last, message.isSnapshot {
      documents = all
      return .events(.topic(all), isGap: true, missing: nil)
    }
    let new = Array(all.drop { $0.number <= last })
    let missing = new.first.map { $0.number - last - 1 } ?? 0
    documents = Array((missing > 0 ? new : known + new).suffix(max(1, min(item.last ?? 1, 100))))
    return .events(.topic(new), isGap: missing > 0, missing: Int(clamping: missing))
  }
}
