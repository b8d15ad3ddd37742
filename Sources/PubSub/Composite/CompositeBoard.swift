import Bytes
import MarketData

/// The location of a member of a composite.
package struct CompositeRoute: Sendable, Hashable {
  package var symbol: String
  package var loop: Int
  package var local: MarketRoute

  package init(symbol: String, loop: Int, local: MarketRoute) {
    self.symbol = symbol
    self.loop = loop
    self.local = local
  }

  init(_ entry: DirectoryEntry) {
    self.init(
      symbol: entry.instrument.symbol, loop: entry.loop,
      local: MarketRoute(market: entry.market, instrument: entry.instrument.id))
  }
}

/// A history that a composite market needs: the last candles of its members.
package struct CompositeHistory {
  package var symbol: String
  package var market: CompositeMarket
  package var interval: CandleInterval
  package var count: Int
}

/// The composite markets that have subscribers. It collects the values of their members, and computes each composite
/// once for all changes, for any number of streams and subscribers. Sans-IO; loop 0 has one.
///
/// It stores the last values from the owners of the markets. It checks whether a feed is live when it computes a
/// composite, so a venue is excluded as soon as its state is not live.
package struct CompositeBoard {
  /// Where results go.
  package struct Outputs {
    /// Takes each document that differs from the one before.
    package var show: (StreamDocumentName, StreamDocument) -> Void
    /// Takes the changes of the composite of a symbol, with its members as fields of a book's messages.
    package var publish: (String, borrowing MarketChanges, String) -> Void

    package init(
      show: @escaping (StreamDocumentName, StreamDocument) -> Void,
      publish: @escaping (String, borrowing MarketChanges, String) -> Void
    ) {
      self.show = show
      self.publish = publish
    }
  }

  /// The most composites that one `advance` computes, at 5 µs each; the others follow in the order of their changes.
  package static let atOnce = 200
  /// How many of those one with a book counts for.
  private static let bookCost = 4
  /// The most candles of a member that wait for its composite to be computed; beyond it, the history is read again.
  package static let candleLimit = 512
  /// The shortest time between two readings of the same history, µs.
  private static let historyPeriod = Microseconds.second

  private struct Member {
    var route: CompositeRoute
    /// Whether its owner has reported its values; a composite is not shown before all owners have.
    var isKnown = false
    var part: QuotePart?
    /// The candles that came since the composite was computed.
    var candles: [Candle] = []
  }

  private struct Composite {
    /// The document shown last, for channels with subscribers; empty before the first.
    var shown: [ChannelName: String] = [:]
    /// For book, line and candles; nil without streams of them.
    var market: CompositeMarket?
    var wants = CompositeWants()
    /// When the history of each interval was last read, by the interval's raw value.
    var readAt = [Timestamp](repeating: .distantPast, count: CandleInterval.allCases.count)
    var members: [Member] = []
    /// The members as fields of a book's messages, as published last.
    var membersShown = ""
    var isDirty = false
    /// The pulse of the last price, at the widest scale that the price has had.
    var pulse = PulseMerger(instrument: InstrumentID(0))
    var pulseScale: UInt8 = 0
    var lastPulse: StreamDocument?
    /// The newest price of its members.
    var price: Decimal64?
    /// Whether the composite of perpetuals compares itself with it.
    var isCompared = false
  }

  private var composites: [String: Composite] = [:]
  /// Changed composites, in the order of their changes.
  private var dirty: [String] = []
  /// Composites with a delayed pulse.
  private var held: Set<String> = []
  /// The number of computed composites since the start. For tests and metrics.
  package private(set) var made: UInt64 = 0

  package init() {}

  package var isEmpty: Bool { composites.isEmpty }
  /// Whether `advance` has a composite to compute.
  package var isDirty: Bool { !dirty.isEmpty }
  /// The symbols that have subscribers, in order. O(n log n).
  package var symbols: [String] { composites.keys.sorted() }

  // MARK: Subscribers

  /// Adds a subscribed stream of a composite's channel.
  package mutating func want(_ channel: ChannelName, of symbol: String) {
    composites[symbol, default: Composite()].shown[channel] = ""
    if channel.isOfDerivatives {
      composites[symbol]?.wants.hasDerivative = true
      composites[Self.spot(of: symbol), default: Composite()].isCompared = true
      touch(Self.spot(of: symbol))
    }
    touch(symbol)
  }

  /// Removes a channel without subscribers, and the composite with its last channel. Returns the members that are no
  /// longer needed.
  package mutating func release(_ channel: ChannelName, of symbol: String) -> [CompositeRoute] {
    composites[symbol]?.shown[channel] = nil
    guard channel.isOfDerivatives else { return dropIfUnused(symbol) }
    composites[symbol]?.wants.hasDerivative = false
    composites[Self.spot(of: symbol)]?.isCompared = false
    return dropIfUnused(symbol) + dropIfUnused(Self.spot(of: symbol))
  }

  /// The composite of the spot markets of the same pair.
  private static func spot(of symbol: String) -> String {
    symbol.hasSuffix("-PERP") ? String(symbol.dropLast("-PERP".count)) : symbol
  }

  /// Sets what the streams of book, line and candles need. Returns the members that are no longer needed.
  package mutating func demand(_ demand: CompositeDemand) -> [CompositeRoute] {
    guard let market = demand.market else {
      composites[demand.symbol]?.market = nil
      setWants(CompositeWants(), of: demand.symbol)
      return dropIfUnused(demand.symbol)
    }
    market.want(demand.wants.candles)
    if composites[demand.symbol]?.market !== market {
      composites[demand.symbol, default: Composite()].market = market
      composites[demand.symbol]?.readAt = Composite().readAt
    }
    setWants(demand.wants, of: demand.symbol)
    touch(demand.symbol)
    return []
  }

  private mutating func setWants(_ wants: CompositeWants, of symbol: String) {
    var wants = wants
    wants.hasDerivative = composites[symbol]?.wants.hasDerivative ?? false
    composites[symbol]?.wants = wants
  }

  /// The members of a composite.
  package func routes(of symbol: String) -> [CompositeRoute] { composites[symbol]?.members.map(\.route) ?? [] }

  /// What the owners of a composite's members must pass on beside the values of every market.
  package func wants(of symbol: String) -> CompositeWants { composites[symbol]?.wants ?? CompositeWants() }

  private mutating func dropIfUnused(_ symbol: String) -> [CompositeRoute] {
    guard let composite = composites[symbol], composite.shown.isEmpty, composite.market == nil,
      !composite.isCompared
    else { return [] }
    composites[symbol] = nil
    held.remove(symbol)
    return composite.members.map(\.route)
  }

  /// Sets the members of a composite, from the directory. Returns the new members and the removed ones.
  package mutating func setMembers(
    _ entries: [DirectoryEntry], of symbol: String
  ) -> (added: [CompositeRoute], removed: [CompositeRoute]) {
    guard let old = composites[symbol]?.members else { return ([], []) }
    let routes = entries.map { CompositeRoute($0) }
    guard routes != old.map(\.route) else { return ([], []) }
    composites[symbol]?.members = routes.map { route in
      old.first { $0.route == route } ?? Member(route: route)
    }
    composites[symbol]?.market?.invalidate()
    touch(symbol)
    return (
      routes.filter { route in !old.contains { $0.route == route } },
      old.map(\.route).filter { !routes.contains($0) }
    )
  }

  // MARK: What changed

  /// Sets a market's present values, from its owner; nil if the market has none. O(members of its composite).
  package mutating func take(_ part: QuotePart?, of symbol: String) {
    let name = CompositeSymbol.prefix + symbol.drop { $0 != ":" }.dropFirst()
    guard let index = composites[name]?.members.firstIndex(where: { $0.route.symbol == symbol }) else { return }
    composites[name]?.members[index].isKnown = true
    composites[name]?.members[index].part = part
    if let part, let market = composites[name]?.market {
      composites[name]?.members[index].candles += part.candles
      let isTooMany = composites[name]?.members[index].candles.count ?? 0 > Self.candleLimit
      if isTooMany { composites[name]?.members[index].candles = [] }
      if part.hasOtherPast || isTooMany { market.invalidate() }
    }
    touch(name)
  }

  /// Marks all composites as changed, because a feed's state changed. O(composites × log).
  package mutating func feedsChanged() {
    for symbol in symbols { touch(symbol) }
  }

  private mutating func touch(_ symbol: String) {
    guard composites[symbol]?.isDirty == false else { return }
    composites[symbol]?.isDirty = true
    dirty.append(symbol)
  }

  // MARK: Results

  /// Computes changed composites, at most `atOnce`, and publishes due pulses.
  /// - Parameter judge: adds to a part whether its feed is live.
  package mutating func advance(to now: Timestamp, judge: (inout QuotePart) -> Void, into outputs: Outputs) {
    var (count, cost) = (0, 0)
    for symbol in dirty {
      guard cost < Self.atOnce else { break }
      count += 1
      guard let composite = composites[symbol], composite.isDirty else { continue }
      cost += composite.wants.hasBook ? Self.bookCost : 1
      composites[symbol]?.isDirty = false
      make(symbol, now, judge, outputs)
    }
    dirty.removeFirst(count)
    guard !held.isEmpty else { return }
    for symbol in held.sorted() where composites[symbol].map({ $0.pulse.deadline <= now }) ?? true {
      held.remove(symbol)
      if let pulse = composites[symbol]?.pulse.advance(to: now) { self.show(pulse, of: symbol, outputs.show) }
    }
  }

  private mutating func make(
    _ symbol: String, _ now: Timestamp, _ judge: (inout QuotePart) -> Void, _ outputs: Outputs
  ) {
    let show = outputs.show
    guard let composite = composites[symbol], composite.members.allSatisfy(\.isKnown) else { return }
    made &+= 1
    let parts = composite.members.compactMap { member -> QuotePart? in
      guard var part = member.part else { return nil }
      judge(&part)
      return part
    }
    let quote = CompositeQuote(parts.map(\.market))
    let source = QuoteAnswer.source(of: parts.filter { quote.venues.contains($0.market.instrument.venue) })
    for (channel, document) in [(ChannelName.quote, CompositeChannel.quote), (.ticker, CompositeChannel.ticker)] {
      guard let shown = composite.shown[channel], case let document = document(quote, source, now),
        document.head != shown
      else { continue }
      composites[symbol]?.shown[channel] = document.head
      show(StreamDocumentName(channel, symbol), document)
    }
    composites[symbol]?.price = quote.last.map { Decimal64(mantissa: $0.price, scale: quote.priceScale) }
    if let shown = composite.shown[.derivative] {
      let live = parts.filter { quote.venues.contains($0.market.instrument.venue) }
      let derivative = CompositeDerivative(
        live.compactMap { $0.market.contract?.derivative }, spot: composites[Self.spot(of: symbol)]?.price)
      let document = CompositeChannel.derivative(derivative, quote, source, now: now)
      if document.head != shown {
        composites[symbol]?.shown[.derivative] = document.head
        show(StreamDocumentName(.derivative, symbol), document)
      }
    }
    update(symbol, quote, parts, source, now, outputs)
    guard let shown = composite.shown[.pulse], let last = quote.last else { return }
    if shown.isEmpty, let document = composite.lastPulse {
      // Another stream of the composite begins with the document of the first.
      composites[symbol]?.shown[.pulse] = document.head
      show(StreamDocumentName(.pulse, symbol), document)
    }
    guard let price = price(last.price, quote.priceScale, of: symbol) else { return }
    let pulse = composites[symbol]?.pulse.price(price, now: now)
    if let pulse { self.show(pulse, of: symbol, show) }
    if composites[symbol]?.pulse.deadline != .distantFuture { held.insert(symbol) }
  }

  /// Brings the state of a composite up to date.
  private mutating func update(
    _ symbol: String, _ quote: CompositeQuote, _ parts: [QuotePart], _ source: DataSource, _ now: Timestamp,
    _ outputs: Outputs
  ) {
    guard let market = composites[symbol]?.market, let members = composites[symbol]?.members else { return }
    var changes = MarketChanges()
    for part in parts {
      let instrument = part.market.instrument
      market.widen(
        priceScale: instrument.priceScale, sizeScale: instrument.sizeScale, now: now, into: &changes)
    }
    if composites[symbol]?.wants.hasBook == true { market.show(parts.books(of: quote), into: &changes) }
    market.show(price: quote.last?.price, scale: quote.priceScale, into: &changes)
    let candles = members.compactMap { member -> CompositeCandles.Part? in
      guard !member.candles.isEmpty, let instrument = member.part?.market.instrument else { return nil }
      return .init(instrument: instrument, candles: member.candles)
    }
    for index in members.indices { composites[symbol]?.members[index].candles = [] }
    market.take(candles, now: now, into: &changes)
    let text = CompositeChannel.members(of: quote, source)
    composites[symbol]?.membersShown = text
    outputs.publish(symbol, changes, text)
  }

  // MARK: History

  /// The histories that must be read now, at most `limit`. Answer each with `restore`. O(composites).
  package mutating func takeMissing(limit: Int, now: Timestamp) -> [CompositeHistory] {
    var missing: [CompositeHistory] = []
    for symbol in symbols {
      guard let market = composites[symbol]?.market else { continue }
      for (interval, count) in market.missing {
        guard missing.count < limit else { return missing }
        let index = Int(interval.rawValue)
        guard let last = composites[symbol]?.readAt[index], now - last >= Self.historyPeriod else { continue }
        composites[symbol]?.readAt[index] = now
        market.beginRestoring(interval)
        missing.append(CompositeHistory(symbol: symbol, market: market, interval: interval, count: count))
      }
    }
    return missing
  }

  /// Takes the candles of all members; nil if they could not be read.
  package mutating func restore(
    _ history: CompositeHistory, _ parts: [CompositeCandles.Part]?, now: Timestamp, into outputs: Outputs
  ) {
    guard let composite = composites[history.symbol], composite.market === history.market else { return }
    var changes = MarketChanges()
    history.market.restore(parts, of: history.interval, now: now, into: &changes)
    // The members are shown with the next values.
    if !changes.items.isEmpty { outputs.publish(history.symbol, changes, composite.membersShown) }
    touch(history.symbol)
  }

  /// A price at the widest scale that the composite has had. Widens the stored values to this scale. Nil if the price
  /// does not fit.
  private mutating func price(_ value: Int64, _ scale: UInt8, of symbol: String) -> Int64? {
    guard let widest = composites[symbol]?.pulseScale else { return nil }
    if scale > widest {
      composites[symbol]?.pulseScale = scale
      // Values that do not fit are dropped: the next pulse is a first one.
      _ = composites[symbol]?.pulse.rescale(by: Int64(clamping: DecimalText.power(scale - widest)))
      return value
    }
    let (wider, overflow) = value.multipliedReportingOverflow(by: Int64(clamping: DecimalText.power(widest - scale)))
    return overflow ? nil : wider
  }

  private mutating func show(
    _ pulse: Pulse, of symbol: String, _ show: (StreamDocumentName, StreamDocument) -> Void
  ) {
    guard let composite = composites[symbol], composite.shown[.pulse] != nil else { return }
    let instrument = Instrument(
      id: InstrumentID(0), venue: CompositeSymbol.venue, venueSymbol: symbol, base: "", quote: "",
      priceScale: composite.pulseScale, sizeScale: 0)
    let document = CompositeChannel.pulse(pulse, of: instrument)
    composites[symbol]?.lastPulse = document
    composites[symbol]?.shown[.pulse] = document.head
    show(StreamDocumentName(.pulse, symbol), document)
  }
}
