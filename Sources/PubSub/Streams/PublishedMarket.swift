import MarketData

/// A market of a publisher, with the publisher's own state for each instrument.
final class PublishedMarket {
  /// Nil for a composite, which is a market of one instrument.
  let market: Market?
  let venue: String
  private var instruments: [PublishedInstrument] = []

  init(market: Market, venue: String) {
    self.market = market
    self.venue = venue
  }

  init(composite: CompositeMarket) {
    market = nil
    venue = CompositeSymbol.venue
    instruments = [PublishedInstrument(state: composite.state)]
  }

  /// The publisher's state of an instrument; nil if the market does not have the instrument.
  func instrument(_ id: InstrumentID) -> PublishedInstrument? {
    let index = id.index
    if index < instruments.count { return instruments[index] }
    guard let market, index >= 0, index < market.instruments.count else { return nil }
    while instruments.count <= index {
      instruments.append(PublishedInstrument(state: market.instruments[instruments.count]))
    }
    return instruments[index]
  }
}

/// The subscribed streams of an instrument, and what new subscribers are shown of its past.
final class PublishedInstrument {
  /// The streams of one channel, of ours or of another protocol.
  struct Group {
    let channel: ChannelName
    let dialect: DialectChannel?
    let hears: MarketChangeKinds
    let rank: UInt8
    var streams: [MarketStream]
  }

  let state: InstrumentState
  /// The channels with subscribed streams, in the order in which they receive changes.
  private(set) var groups: [Group] = []
  private(set) var recentTrades = RecentTrades() { didSet { state.revision.raise(.figures) } }
  private(set) var lastPulse: Pulse? { didSet { state.revision.raise(.figures) } }
  /// For a composite: its members, as fields of a book's messages; otherwise empty.
  private(set) var members = ""
  private var priceScale: UInt8
  private var sizeScale: UInt8

  init(state: InstrumentState) {
    self.state = state
    self.priceScale = state.instrument.priceScale
    self.sizeScale = state.instrument.sizeScale
  }

  // MARK: Streams

  var hasStreams: Bool { !groups.isEmpty }

  func add(_ stream: MarketStream) {
    if let index = index(of: stream.key) { return groups[index].streams.append(stream) }
    let rank = stream.key.channel.facts.rank
    let index = groups.firstIndex { $0.rank > rank } ?? groups.count
    groups.insert(
      Group(
        channel: stream.key.channel, dialect: stream.key.dialect, hears: stream.hears, rank: rank, streams: [stream]),
      at: index)
  }

  func remove(_ stream: MarketStream) {
    guard let index = index(of: stream.key) else { return }
    groups[index].streams.removeAll { $0 === stream }
    if groups[index].streams.isEmpty { groups.remove(at: index) }
  }

  private func index(of key: StreamKey) -> Int? {
    groups.firstIndex { $0.channel == key.channel && $0.dialect == key.dialect }
  }

  // MARK: Changes

  /// Keeps what new subscribers will be shown of a change.
  func take(_ change: MarketChange, _ changes: borrowing MarketChanges) {
    switch change {
    case .trades(_, let range): for trade in changes.trades[range] { recentTrades.add(trade) }
    case .tradeGap(_, let range): for trade in changes.trades[range] { recentTrades.append(trade) }
    case .pulse(let pulse): lastPulse = pulse
    default: break
    }
  }

  /// Takes over the trades of an earlier run, oldest first, if there are no newer ones.
  func restore(_ trades: [Trade]) {
    guard recentTrades.isEmpty else { return }
    for trade in trades { recentTrades.append(trade) }
  }

  /// Sets the members of a composite. Returns whether they changed.
  func setMembers(_ text: String) -> Bool {
    guard text != members else { return false }
    members = text
    return true
  }

  /// Adopts the wider scales of the instrument. Returns nil if they are the same.
  func rescale() -> Rescaling? {
    let instrument = state.instrument
    guard instrument.priceScale != priceScale || instrument.sizeScale != sizeScale else { return nil }
    let priceBy = Self.factor(from: priceScale, to: instrument.priceScale)
    let sizeBy = Self.factor(from: sizeScale, to: instrument.sizeScale)
    priceScale = instrument.priceScale
    sizeScale = instrument.sizeScale
    guard let priceBy, let sizeBy else {
      recentTrades = RecentTrades()
      lastPulse = nil
      return Rescaling(factors: nil)
    }
    recentTrades.rescale(priceBy: priceBy, sizeBy: sizeBy)
    if let pulse = lastPulse {
      lastPulse?.price = pulse.price &* priceBy
      lastPulse?.previous = pulse.previous.map { $0 &* priceBy }
    }
    return Rescaling(factors: (priceBy, sizeBy))
  }

  /// 10^(to − from); nil if scales became narrower or the factor does not fit.
  private static func factor(from: UInt8, to: UInt8) -> Int64? {
    guard to >= from, to - from <= 18 else { return nil }
    var factor: Int64 = 1
    for _ in from..<to { factor *= 10 }
    return factor
  }
}
