import Bytes
import MarketData

/// Markets whose list has names only: details and 24 h figures of each by REST.
extension FeedEngine {
  /// What the list's names are, beyond what it says of itself: where base and quote run together, a name may be taken
  /// apart in another way by who configured it.
  func configuredMarkets(among markets: [ListedMarket], _ names: Set<String>) -> [ListedMarket] {
    guard let per = facts.perMarket else { return [] }
    let listed = Set(markets.map(\.symbol))
    return marketList.named.compactMap { text in
      guard let symbol = FeedSymbol(text), !listed.contains(symbol), names.contains(per.name(symbol)) else {
        return nil
      }
      return ListedMarket(venueSymbol: per.name(symbol), symbol: symbol)
    }
  }

  /// Notes that the newest list has a market, and says what is known of it; nil while it is not to be carried.
  func known(of market: ListedMarket) -> ListedMarket? {
    guard let per = facts.perMarket, let entry = markets?.list(market) else { return market }
    if let reason = entry.ended {
      if entry.fetched != nil { refuse(market.symbol.text, reason) }
      return nil
    }
    return entry.details ?? (per.waits(market.symbol) ? nil : market)
  }

  /// Whom a name is carried for already, where several configured symbols spell it.
  func carrier(of market: ListedMarket) -> FeedSymbol? {
    guard facts.perMarket != nil, let place = known.place(named: market.venueSymbol) else { return nil }
    let symbol = FeedSymbol(known[place])
    return symbol == market.symbol ? nil : symbol
  }

  /// A new list is there: its markets have their places, what was carried is found by them.
  func placeMarkets() {
    let entries = markets?.entries ?? []
    for index in entries.indices { markets?.entries[index].place = known.place(of: entries[index].market.symbol) }
  }

  /// Asks for what is wanted, as far as it may be asked for now.
  func pumpMarkets(_ now: Timestamp) {
    guard markets != nil else { return }
    markets?.expire(now: now)
    if isConnected { markets?.wantFigures({ lines[$0].isCarried && lines[$0].isAsked }, now: now) }
    while let (path, request) = markets?.next(now: now) {
      actions.append(.get(request: request, path: path, bodyLimit: facts.perMarket?.bodyLimit ?? 0))
    }
  }

  /// Takes an answer about a market.
  func takeMarket(
    _ subject: MarketDesk.Subject, _ status: AnswerStatus, _ body: RawSpan, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    do throws(FeedError) {
      try status.check()
      switch subject {
      case .details(let index): try takeDetails(body, index, now: now, into: &batch)
      case .figures(let index, let kind): try takeFigures(body, index, kind, now: now, into: &batch)
      }
      markets?.succeeded(subject)
    } catch {
      if status.code != 400, status.code != 404 {
        markets?.failed(subject, status: status.code, retryAfter: status.retryAfter, now: now)
      } else if case .details(let index) = subject, let market = markets?.entries[index], market.place == nil {
        // There is nothing to be had, now or soon. What need not wait does without.
        refuse(market.market.symbol.text, "\(venue.title) gives no details of \(market.market.venueSymbol)")
      }
      throw error
    }
  }

  private func takeDetails(
    _ body: RawSpan, _ index: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let entry = markets?.entries[index] else { return }
    guard let details = try facts.perMarket?.read(body, entry.market) else { return }
    markets?.entries[index].fetched = now
    switch details {
    case .refused(let reason):
      markets?.entries[index].ended = reason
      if let place = entry.place { end(place, into: &batch) }
      refuse(entry.market.symbol.text, reason)
    case .market(let market):
      markets?.entries[index].details = market
      markets?.entries[index].ended = nil
      guard carrier(of: market) == nil else { return }
      guard let place = add(market, for: market.symbol.text, into: &batch) else { return }
      if let isListed = markets?.entries[index].isListed, isListed, entry.place == nil || entry.ended != nil {
        makeLines()
        lines[place].isListed = true
        lines[place].isEnded = false
        lines[place].isAsked = false
        markets?.entries[index].place = place
      }
      guard isConnected else { return }
      subscribeMissing(now)
      flush(now)
    }
  }

  /// A market is not to be carried any more: its channels are ended, and nothing of it is told.
  private func end(_ place: Int, into batch: inout EventBatch) {
    guard !lines[place].isEnded else { return }
    if lines[place].book.isLive { batch.events.append(.bookReset(InstrumentID(place), .venueReset)) }
    lines[place].isEnded = true
    hasEnded = true
    lines[place].book.stop()
    if isConnected { desk.end(place) }
  }

  private func takeFigures(
    _ body: RawSpan, _ index: Int, _ kind: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let entry = markets?.entries[index], let place = entry.place else { return }
    var ticker = entry.ticker ?? Ticker(instrument: InstrumentID(place), time: now)
    ticker.time = now
    var reader = FieldReader(body)
    try facts.perMarket?.figures[kind].read(&reader, &known, &ticker)
    markets?.entries[index].ticker = ticker
    batch.events.append(.ticker(ticker))
  }
}

/// Channels beside the book that the market found dead.
extension FeedEngine {
  /// Attempts to revive a channel by subscribing to it again; then another connection is made.
  static let revivals = 2

  /// The channel of an instrument is silent although others contradict that: it is subscribed again and, if that did
  /// not
  /// help, on another connection. The connection that lives is left when the next one has everything.
  /// - Parameter attempt: how often it was found silent since it last spoke, 1 for the first time.
  package func revive(_ instrument: InstrumentID, _ channel: MarketChannel, attempt: Int, now: Timestamp) {
    let place = instrument.index
    guard isConnected, lines.indices.contains(place), lines[place].isCarried else { return }
    let content = VenueProfile.Content(channel)
    let codes = facts.channels.indices.filter { facts.channels[$0].content == content }
    // One that is not in force has been asked for, or waits its time.
    let inForce = codes.filter { desk.state(Topic(place: place, channel: $0)) == .acknowledged }
    guard !inForce.isEmpty else { return }
    guard attempt <= Self.revivals else {
      guard now >= nextRenewal else { return }
      nextRenewal = now + renewals.next()
      return leave("\(channel.silenceReason): \(known[place].venueSymbol)", within: RequestDeadline.renewal)
    }
    if channel == .trades {
      // The time of a trade shows whether the venue sends it again with the subscription.
      lines[place].hasTraded = false
      lines[place].tradesSince = now
    }
    for channel in inForce { desk.renew([place], channel: channel) }
    flush(now)
  }
}

/// The venue's figures of a market, asked for when its trades are in doubt.
extension FeedEngine {
  /// The number of the request for the first instrument's figures: beyond those of all other requests, which
  /// `TradeDesk.firstRequest` begins the highest of.
  static let firstWitness = 1 << 41
  /// After this long another request may be sent though the one before was not answered, µs.
  static let witnessTimeout = 10 * Microseconds.second
  static let witnessLimit = 64 << 10

  func askForFigures(of instrument: InstrumentID, now: Timestamp) {
    let place = instrument.index
    guard let witness = facts.witness, isConnected, lines.indices.contains(place), lines[place].isCarried,
      lines[place].witnessAsked.map({ now - $0 >= Self.witnessTimeout }) ?? true,
      now >= witnessPause, witnessBudget.left(now: now) > 0
    else { return }
    witnessBudget.spend(1, now: now)
    lines[place].witnessAsked = now
    actions.append(
      .get(request: Self.firstWitness + place, path: witness.path(known[place]), bodyLimit: Self.witnessLimit))
  }

  /// Takes an answer to one of those.
  func takeFigures(
    _ request: Int, _ status: AnswerStatus, _ body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = request - Self.firstWitness
    guard let witness = facts.witness, lines.indices.contains(place), lines[place].witnessAsked != nil else { return }
    lines[place].witnessAsked = nil
    if !status.isOK, status.code != 0 {
      witnessPause = now + ListRequest.wait(status: status.code, retryAfter: status.retryAfter, 0)
    }
    try status.check()
    var figures = Ticker(instrument: InstrumentID(place), time: now)
    var reader = FieldReader(body)
    try witness.read(&reader, &known, &figures)
    batch.events.append(.witness(figures))
  }
}

extension VenueProfile.Content {
  fileprivate init(_ channel: MarketChannel) {
    switch channel {
    case .trades: self = .trades
    case .quote: self = .quote
    case .ticker: self = .ticker
    }
  }
}
