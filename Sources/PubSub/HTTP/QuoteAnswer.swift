import Bytes
import MarketData

/// One venue's part in a composite market, from the loop that owns it.
package struct QuotePart: Sendable {
  package var market: VenueMarket
  /// The best levels of its book; nil if they were not requested, or the book is not in sync.
  package var book: CompositeBook.Part?
  /// Where its prices come from.
  package var source = DataSource.live
  /// Whether its feed is live, regardless of its book.
  package var isFeedLive = true
  /// Its candles that changed since the last part, at its own scales; only if they were requested.
  package var candles: [Candle] = []
  /// Whether more candles changed than `candles` has.
  package var hasOtherPast = false
}

extension [QuotePart] {
  /// The books of the members that a composite includes, in the order of their venues.
  package func books(of quote: CompositeQuote) -> [CompositeBook.Part] {
    filter { quote.venues.contains($0.market.instrument.venue) }.compactMap(\.book).sorted { $0.venue < $1.venue }
  }
}

extension StreamPublisher {
  /// A market's present values; nil if there is no such market. The result says whether the book is in sync; the caller
  /// adds whether the feed is live. O(depth).
  /// - Parameters:
  ///   - depth: levels a side, 0 for none.
  ///   - hasFigures: whether to include the 24 h volumes.
  package func quotePart(at route: MarketRoute, depth: Int, hasFigures: Bool, now: Timestamp) -> QuotePart? {
    guard markets.indices.contains(route.market),
      let state = markets[route.market].instrument(route.instrument)?.state
    else { return nil }
    var reason = ""
    if case .syncing(let why) = state.bookState { reason = why?.description ?? "awaiting a snapshot" }
    var part = QuotePart(
      market: state.venueMarket(isLive: reason.isEmpty, reason: reason, hasFigures: hasFigures, now: now))
    guard depth > 0, state.bookState == .live else { return part }
    var book = CompositeBook.Part(
      venue: state.instrument.venue, priceScale: state.instrument.priceScale, sizeScale: state.instrument.sizeScale,
      bids: [], asks: [], time: state.bookTime)
    BookView.top(depth, of: state.book.bids, into: &book.bids)
    BookView.top(depth, of: state.book.asks, into: &book.asks)
    part.book = book
    return part
  }
}

extension SubscriberHub {
  /// The markets that `composite:BTC-USD` or `composite:BTC-USD-PERP` is made of, in the order of their symbols; empty
  /// if there are none or it is not a composite's symbol.
  package func members(ofComposite symbol: String) -> [DirectoryEntry] { directory.members(ofComposite: symbol) }

  /// Adds to a part whether its feed is live. O(feeds).
  package func judge(_ part: inout QuotePart) {
    let instrument = part.market.instrument
    guard let feed = feeds.first(where: { $0.venue == instrument.venue }) else {
      part.market.isLive = false
      part.market.reason = FeedState.connecting.rawValue
      part.isFeedLive = false
      return
    }
    part.source = feed.source
    if let failure = feed.failed[instrument.symbol] {
      part.market.isLive = false
      part.market.reason = failure
    }
    guard feed.state.indicator != "connected" else { return }
    part.market.isLive = false
    part.isFeedLive = false
    part.market.reason = feed.state.rawValue
  }
}

/// Answers with quotes and rates of several venues.
package enum QuoteAnswer {
  /// The most levels a side.
  package static let depthLimit = 100

  /// The quote of one symbol, or of all venues combined: best bid and ask, last trade, 24 h volumes, and on request
  /// levels. Nil if no part is live.
  /// - Parameters:
  ///   - parts: those of a composite, or the one of the symbol.
  ///   - depth: levels a side, 0 for none.
  package static func quote(_ symbol: String, _ parts: [QuotePart], depth: Int, isComposite: Bool) -> [UInt8]? {
    let quote = CompositeQuote(parts.map(\.market))
    guard !quote.venues.isEmpty else { return nil }
    let live = parts.filter { quote.venues.contains($0.market.instrument.venue) }
    var out = ByteBuffer(capacity: 512)
    out.append("{\"symbol\":")
    out.append(json: symbol)
    out.append(isComposite && quote.isSingle ? ",\"state\":\"single\"" : ",\"state\":\"live\"")
    source(of: live).append(to: &out)
    append(quote.bid, "bid", quote, hasVenue: isComposite, to: &out)
    append(quote.ask, "ask", quote, hasVenue: isComposite, to: &out)
    append(quote.last, "last", quote, hasVenue: isComposite, to: &out)
    if quote.last != nil {
      out.append(",\"last_time\":")
      out.append(integer: quote.lastTime.microseconds)
    }
    append(quote.volume, "volume_24h", to: &out)
    append(quote.quoteVolume, "quote_volume_24h", to: &out)
    append(quote.vwap.map { Decimal64(mantissa: $0, scale: quote.priceScale) }, "vwap_24h", to: &out)
    if isComposite { appendMembers(of: quote, to: &out) }
    if depth > 0 {
      let book = CompositeBook(parts.books(of: quote), depth: depth)
      append(book.bids, "bids", book, hasVenues: isComposite, to: &out)
      append(book.asks, "asks", book, hasVenues: isComposite, to: &out)
    }
    if quote.time != .distantPast {
      out.append(",\"time\":")
      out.append(integer: quote.time.microseconds)
    }
    out.append(UInt8(ascii: "}"))
    return out.takeBytes()
  }

  /// `{"base":"ZEC","quote":"USD","rate":"48","path":["kraken:ZEC-BTC",…],"time":1795368532751191,"state":"live"}`: the
  /// time is that of the oldest price on the path, so the text changes only with the prices.
  package static func rate(_ conversion: Conversion, base: String, quote: String, source: DataSource) -> [UInt8] {
    var out = ByteBuffer(capacity: 256)
    out.append("{\"base\":")
    out.append(json: base)
    out.append(",\"quote\":")
    out.append(json: quote)
    append(conversion.rate, "rate", to: &out)
    out.append(",\"path\":[")
    for (index, symbol) in conversion.path.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: symbol)
    }
    out.append(UInt8(ascii: "]"))
    if let oldest = conversion.oldest {
      out.append(",\"time\":")
      out.append(integer: oldest.microseconds)
    }
    out.append(",\"state\":\"live\"")
    source.append(to: &out)
    out.append(UInt8(ascii: "}"))
    return out.takeBytes()
  }

  /// `,"venues":["coinbase"],"absent":[{"venue":"kraken","reason":"stale"}]`
  static func appendMembers(of quote: CompositeQuote, to out: inout ByteBuffer) {
    out.append(",\"venues\":[")
    for (index, venue) in quote.venues.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: venue)
    }
    out.append("],\"absent\":[")
    for (index, absent) in quote.absent.enumerated() {
      out.append(index > 0 ? ",{\"venue\":" : "{\"venue\":")
      out.append(json: absent.venue)
      out.append(",\"reason\":")
      out.append(json: absent.reason)
      out.append(UInt8(ascii: "}"))
    }
    out.append(UInt8(ascii: "]"))
  }

  /// The least real source of the parts.
  package static func source(of parts: some Sequence<QuotePart>) -> DataSource { source(of: parts.map(\.source)) }

  /// The least real of sources.
  package static func source(of sources: [DataSource]) -> DataSource {
    sources.max { $0.rank < $1.rank } ?? .live
  }

  static func append(
    _ side: CompositeQuote.Side?, _ name: StaticString, _ quote: CompositeQuote, hasVenue: Bool,
    to out: inout ByteBuffer
  ) {
    guard let side else { return }
    append(Decimal64(mantissa: side.price, scale: quote.priceScale), name, to: &out)
    if side.size > 0 {
      out.append(",\"")
      out.append(name)
      out.append("_size\":\"")
      out.append(decimal: side.size, scale: quote.sizeScale)
      out.append(UInt8(ascii: "\""))
    }
    guard hasVenue else { return }
    out.append(",\"")
    out.append(name)
    out.append("_venue\":")
    out.append(json: side.venue)
  }

  static func append(_ value: Decimal64?, _ name: StaticString, to out: inout ByteBuffer) {
    guard let value else { return }
    out.append(",\"")
    out.append(name)
    out.append("\":\"")
    out.append(value)
    out.append(UInt8(ascii: "\""))
  }

  static func append(
    _ levels: [CompositeBook.Level], _ name: StaticString, _ book: CompositeBook, hasVenues: Bool,
    to out: inout ByteBuffer
  ) {
    out.append(",\"")
    out.append(name)
    out.append("\":[")
    for (index, level) in levels.enumerated() {
      out.append(index > 0 ? ",[\"" : "[\"")
      out.append(decimal: level.price, scale: book.priceScale)
      out.append("\",\"")
      out.append(decimal: level.size, scale: book.sizeScale)
      guard hasVenues else {
        out.append("\"]")
        continue
      }
      for (index, venue) in level.venues.enumerated() {
        out.append(index == 0 ? "\",[" : ",")
        out.append(json: venue)
      }
      out.append("]]")
    }
    out.append(UInt8(ascii: "]"))
  }
}

extension DataSource {
  /// The less real, the higher.
  fileprivate var rank: Int {
    switch self {
    case .live: 0
    case .replayed: 1
    case .simulated: 2
    }
  }
}
