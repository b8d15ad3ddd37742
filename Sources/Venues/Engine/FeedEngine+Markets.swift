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

  /// Takes an answer; false if it is none about a market.
  func takeMarket(
    _ request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) -> Bool {
    guard let subject = markets?.answered(request) else { return false }
    do throws(FeedError) {
      guard status == 200 else { throw FeedError(.refused, "REST request: status \(status)") }
      switch subject {
      case .details(let index): try takeDetails(body, index, now: now, into: &batch)
      case .figures(let index, let kind): try takeFigures(body, index, kind, now: now, into: &batch)
      }
      markets?.succeeded(subject)
    } catch {
      rejectAnswer(error)
      if status != 400, status != 404 {
        markets?.failed(subject, status: status, retryAfter: retryAfter, now: now)
      } else if case .details(let index) = subject, let market = markets?.entries[index], market.place == nil {
        // There is nothing to be had, now or soon. What need not wait does without.
        refuse(market.market.symbol.text, "\(venue.title) gives no details of \(market.market.venueSymbol)")
      }
    }
    pumpMarkets(now)
    return true
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
