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

/// The subscribed streams of an instrument, and the recent trades for new subscribers.
final class PublishedInstrument {
  let state: InstrumentState
  var trades: [PublishedStream] = []
  var quotes: [PublishedStream] = []
  var tickers: [PublishedStream] = []
  var pulses: [PublishedStream] = []
  var books: [PublishedStream] = []
  var sparklines: [PublishedStream] = []
  var candles: [PublishedStream] = []
  var recentTrades = RecentTrades() { didSet { state.revision.raise(.figures) } }
  var lastPulse: Pulse? { didSet { state.revision.raise(.figures) } }
  /// For a composite: its members, as fields of a book's messages; otherwise empty.
  private(set) var members = ""
  private var priceScale: UInt8
  private var sizeScale: UInt8

  init(state: InstrumentState) {
    self.state = state
    self.priceScale = state.instrument.priceScale
    self.sizeScale = state.instrument.sizeScale
  }

  func add(_ stream: PublishedStream) {
    switch stream.key.channel {
    case .trades: trades.append(stream)
    case .quote: quotes.append(stream)
    case .ticker: tickers.append(stream)
    case .pulse: pulses.append(stream)
    case .book: books.append(stream)
    case .sparkline: sparklines.append(stream)
    case .candles: candles.append(stream)
    case .status, .alerts, .topic, .rate, .portfolio, .deck: break
    }
  }

  func remove(_ stream: PublishedStream) {
    switch stream.key.channel {
    case .trades: trades.removeAll { $0 === stream }
    case .quote: quotes.removeAll { $0 === stream }
    case .ticker: tickers.removeAll { $0 === stream }
    case .pulse: pulses.removeAll { $0 === stream }
    case .book: books.removeAll { $0 === stream }
    case .sparkline: sparklines.removeAll { $0 === stream }
    case .candles: candles.removeAll { $0 === stream }
    case .status, .alerts, .topic, .rate, .portfolio, .deck: break
    }
  }

  /// Sets the members of a composite. Returns whether they changed.
  func setMembers(_ text: String) -> Bool {
    guard text != members else { return false }
    members = text
    return true
  }

  /// Adopts the wider scales of the instrument. Returns whether they changed, after which every text of a price
  /// differs.
  func rescale() -> Bool {
    let instrument = state.instrument
    guard instrument.priceScale != priceScale || instrument.sizeScale != sizeScale else { return false }
    let priceBy = Self.factor(from: priceScale, to: instrument.priceScale)
    let sizeBy = Self.factor(from: sizeScale, to: instrument.sizeScale)
    priceScale = instrument.priceScale
    sizeScale = instrument.sizeScale
    guard let priceBy, let sizeBy else {
      recentTrades = RecentTrades()
      lastPulse = nil
      return true
    }
    recentTrades.rescale(priceBy: priceBy, sizeBy: sizeBy)
    for stream in trades {
      for index in stream.gathered.indices {
        stream.gathered[index].price &*= priceBy
        stream.gathered[index].size &*= sizeBy
      }
    }
    if let pulse = lastPulse {
      lastPulse?.price = pulse.price &* priceBy
      lastPulse?.previous = pulse.previous.map { $0 &* priceBy }
    }
    return true
  }

  /// 10^(to − from); nil if scales became narrower or the factor does not fit.
  private static func factor(from: UInt8, to: UInt8) -> Int64? {
    guard to >= from, to - from <= 18 else { return nil }
    var factor: Int64 = 1
    for _ in from..<to { factor *= 10 }
    return factor
  }
}
