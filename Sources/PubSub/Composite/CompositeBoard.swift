import Bytes
import MarketData

/// The location of a member of a composite.
package struct CompositePlace: Sendable, Hashable {
  package var symbol: String
  package var loop: Int
  package var place: MarketPlace

  package init(symbol: String, loop: Int, place: MarketPlace) {
    self.symbol = symbol
    self.loop = loop
    self.place = place
  }

  init(_ entry: DirectoryEntry) {
    self.init(
      symbol: entry.instrument.symbol, loop: entry.loop,
      place: MarketPlace(market: entry.market, instrument: entry.instrument.id))
  }
}

/// The composite markets that have subscribers. It collects the values of their members, and computes each composite
/// once for all changes, for any number of streams and subscribers. Sans-IO; loop 0 has one.
///
/// It stores the last values from the owners of the markets. It checks whether a feed is live when it computes a
/// composite, so a venue is excluded as soon as its state is not live.
package struct CompositeBoard {
  /// The most composites that one `advance` computes, at 5 µs each; the others follow in the order of their changes.
  package static let atOnce = 200

  private struct Member {
    var place: CompositePlace
    /// Whether its owner has reported its values; a composite is not shown before all owners have.
    var isKnown = false
    var part: QuotePart?
  }

  private struct Composite {
    /// The document shown last, for channels with subscribers; empty before the first.
    var shown: [ChannelName: String] = [:]
    var members: [Member] = []
    var isDirty = false
    /// The pulse of the last price, at the widest scale that the price has had.
    var pulse = PulseMerger(instrument: InstrumentID(0))
    var pulseScale: UInt8 = 0
    var lastPulse: StreamDocument?
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
    touch(symbol)
  }

  /// Removes a channel without subscribers, and the composite with its last channel. Returns the members that are no
  /// longer needed.
  package mutating func release(_ channel: ChannelName, of symbol: String) -> [CompositePlace] {
    composites[symbol]?.shown[channel] = nil
    guard let composite = composites[symbol], composite.shown.isEmpty else { return [] }
    composites[symbol] = nil
    held.remove(symbol)
    return composite.members.map(\.place)
  }

  /// Sets the members of a composite, from the directory. Returns the new members and the removed ones.
  package mutating func setMembers(
    _ entries: [DirectoryEntry], of symbol: String
  ) -> (added: [CompositePlace], removed: [CompositePlace]) {
    guard let old = composites[symbol]?.members else { return ([], []) }
    let places = entries.map { CompositePlace($0) }
    guard places != old.map(\.place) else { return ([], []) }
    composites[symbol]?.members = places.map { place in
      old.first { $0.place == place } ?? Member(place: place)
    }
    touch(symbol)
    return (
      places.filter { place in !old.contains { $0.place == place } },
      old.map(\.place).filter { !places.contains($0) }
    )
  }

  // MARK: What changed

  /// Sets a market's present values, from its owner; nil if the market has none. O(members of its composite).
  package mutating func take(_ part: QuotePart?, of symbol: String) {
    let name = CompositeSymbol.prefix + symbol.drop { $0 != ":" }.dropFirst()
    guard let index = composites[name]?.members.firstIndex(where: { $0.place.symbol == symbol }) else { return }
    composites[name]?.members[index].isKnown = true
    composites[name]?.members[index].part = part
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
  /// - Parameters:
  ///   - judge: adds to a part whether its feed is live.
  ///   - show: takes each document that differs from the one before.
  package mutating func advance(
    to now: Timestamp, judge: (inout QuotePart) -> Void, show: (StreamDocumentName, StreamDocument) -> Void
  ) {
    let count = min(dirty.count, Self.atOnce)
    for symbol in dirty[..<count] {
      guard composites[symbol]?.isDirty == true else { continue }
      composites[symbol]?.isDirty = false
      make(symbol, now, judge, show)
    }
    dirty.removeFirst(count)
    guard !held.isEmpty else { return }
    for symbol in held.sorted() where composites[symbol].map({ $0.pulse.deadline <= now }) ?? true {
      held.remove(symbol)
      if let pulse = composites[symbol]?.pulse.advance(to: now) { self.show(pulse, of: symbol, show) }
    }
  }

  private mutating func make(
    _ symbol: String, _ now: Timestamp, _ judge: (inout QuotePart) -> Void,
    _ show: (StreamDocumentName, StreamDocument) -> Void
  ) {
    guard let composite = composites[symbol], composite.members.allSatisfy(\.isKnown) else { return }
    made &+= 1
    let parts = composite.members.compactMap { member -> QuotePart? in
      guard var part = member.part else { return nil }
      judge(&part)
      return part
    }
    let quote = CompositeQuote(parts.map(\.market))
    let source = QuoteAnswer.source(of: parts.filter { quote.venues.contains($0.market.instrument.venue) })
    for channel in [ChannelName.quote, .ticker] {
      guard let shown = composite.shown[channel] else { continue }
      let document =
        channel == .quote
        ? CompositeChannel.quote(quote, source, now: now) : CompositeChannel.ticker(quote, source, now: now)
      guard document.head != shown else { continue }
      composites[symbol]?.shown[channel] = document.head
      show(StreamDocumentName(channel, symbol), document)
    }
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
