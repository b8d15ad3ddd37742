import Bytes
import MarketData

/// Lists of markets: asking for them, by REST or in the stream, and which of their markets are followed: those that are
/// configured by name, and what selections come to.
extension FeedEngine {
  /// Whether `connected` may be called.
  package var isPrepared: Bool {
    facts.streamedList == nil
      ? lists.request.hasList
      : lists.hasAllVolumes || !lists.market.wantsVolumes || facts.volumes.isEmpty
  }

  /// All markets that the venue lists, in its order, where the configuration asks for them. Empty until the list has
  /// come: with `prepare` from most venues, after `connected` where it is part of the stream.
  package var listing: [ListedMarket] { lists.market.markets }

  /// The kinds of market that are asked for: those of the named symbols and of the selections, and all where the list
  /// is kept.
  var wantedFamilies: Set<Instrument.Kind.Family> {
    if lists.market.detail != .none { return venue.kinds }
    return venue.kinds.filter { family in
      lists.market.selections.contains { $0.mayHold(family) }
        || lists.market.named.contains { FeedSymbol($0)?.kind.family == family }
    }
  }

  /// What is asked for of `facts.volumes`.
  var wantedVolumes: [VolumeListing] {
    let families = wantedFamilies
    return facts.volumes.filter { $0.family.map(families.contains) ?? true }
  }

  /// Asks for what is wanted before a connection: the volumes, and then the list.
  package func prepare(now: Timestamp, into batch: inout EventBatch) {
    if facts.streamedList != nil {
      lists.hasAllVolumes = hasVolumes(now: now)
    } else if wantedFamilies.isEmpty {
      // Symbols of no kind that is followed, or none at all: nothing is asked for, and they are refused.
      guard lists.request.isDue(now: now) else { return }
      take([], into: &batch)
      lists.request.finished()
    } else {
      guard lists.request.isDue(now: now), hasVolumes(now: now), let list = facts.list,
        let path = list.path(lists.query(wantedFamilies))
      else { return }
      let number = requests.sending.number()
      lists.request.sent(number, now: now)
      actions.append(.get(request: number, path: path, bodyLimit: list.bodyLimit))
    }
  }

  /// Whether `prepare` may go on to the list: the 24 h volumes are there, or nobody wants them. Asks for them if not.
  private func hasVolumes(now: Timestamp) -> Bool {
    switch lists.market.volumeStep(wantedVolumes, now: now) {
    case .none: return true
    case .waits: return false
    case .asks(let path, let request):
      actions.append(.get(request: request, path: path, bodyLimit: MarketList.volumesLimit))
      return false
    }
  }

  /// What reads the answer to a request away from the loop; nil where the engine has to do that.
  package func listReader(for request: Int) -> ListReader? {
    lists.request.awaits(request) ? facts.list.map(ListReader.init) : nil
  }

  /// Takes the answer to the list's request: what cannot be read is asked for again later, what it says is
  /// not all is gone on with.
  func takeList(
    _ status: AnswerStatus, _ body: RawSpan, _ readAhead: Result<ListPage, FeedError>?, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    do throws(FeedError) {
      try status.check()
      guard try readList(body, readAhead, into: &batch) else {
        lists.request.goesOn()
        return prepare(now: now, into: &batch)
      }
      lists.request.finished()
      hasListed(now: now)
    } catch {
      lists.failed(status, facts.list, now: now)
      throw error
    }
  }

  /// Reads an answer to the list's request and takes the markets that it lists; false if that is not all.
  private func readList(
    _ body: RawSpan, _ readAhead: Result<ListPage, FeedError>?, into batch: inout EventBatch
  ) throws(FeedError) -> Bool {
    guard let list = facts.list else { preconditionFailure("an answer to a list that is not asked for") }
    let page = if let readAhead { try readAhead.get() } else { try list.read(body) }
    if let weight = page.weightPerMinute { books.setWeight(weight, connections: configuration.connections) }
    let isSame = lists.pages.append(page)
    guard
      !page.goesOn || isSame || lists.pages.count >= list.partLimit || list.path(lists.query(wantedFamilies)) == nil
    else { return false }
    take(lists.pages.markets, lists.pages.names, into: &batch)
    lists.pages.restart()
    return true
  }

  /// The list is there: what it brought is subscribed, if there is a connection.
  private func hasListed(now: Timestamp) {
    lists.details?.wantDetails(now: now)
    if life.isConnected {
      subscribeMissing(now)
      subscribeSuspect(now)
      flush(now)
    }
    pumpMarkets(now)
  }

  func take(_ listed: [ListedMarket], _ names: Set<String> = [], into batch: inout EventBatch) {
    lists.details?.newList()
    let others = lists.details?.others(named: lists.market.named, among: listed, names) ?? []
    let symbols = Set(others.map(\.symbol))
    let followed = resolve(listed + others, listing: { !symbols.contains($0.symbol) && !$0.isAlias }, into: &batch)
    makeLines()
    for index in books.indices {
      books.lines[index].isListed = followed.contains(index)
      guard books.lines[index].isFollowed, !books.isLive(index), requests.suspects.isShunned(index) else { continue }
      books.lines[index].isRefused = true
      refuse(configuredName(index), requests.suspects.reason(known[index].venueSymbol, venue: venue.title))
    }
    lists.details?.placed(in: known)
  }

  /// Makes room for the instruments that are new.
  func makeLines() {
    books.grow(to: known.count, Books.Line(book: BookKeeper(facts), isSuspect: life.isConnected))
    requests.grow(to: books.count)
    life.watches.grow(to: books.count)
  }

  // MARK: Lists in the stream

  /// Asks for what has not come of a list in the stream; of one that has, for all of it anew.
  func askForStreamList(_ now: Timestamp, into batch: inout EventBatch) {
    guard facts.streamedList != nil else { return }
    var query = lists.query(wantedFamilies)
    for part in lists.streamed.begin(now: now) {
      query.part = part
      if let text = spell(.list(query, .subscribe), now) {
        send(text, now)
      } else {
        _ = lists.streamed.take([], part: part)
      }
    }
    takeStreamList(now, into: &batch)
  }

  /// A part of the list has come in the stream.
  func listed(_ markets: [ListedMarket], part: Int, now: Timestamp, into batch: inout EventBatch) {
    if lists.streamed.take(markets, part: part) { takeStreamList(now, into: &batch) }
  }

  /// When all parts are there: what is configured and not subscribed is subscribed.
  private func takeStreamList(_ now: Timestamp, into batch: inout EventBatch) {
    guard let whole = lists.streamed.takeWhole() else { return }
    take(whole, into: &batch)
    hasListed(now: now)
  }

  // MARK: Symbols that were refused

  /// Whether `retry` asks the venue for a symbol that was refused: not for what cannot be a symbol of it, and not where
  /// nothing can be carried on a connection, however often it is asked for.
  package func isAskedAgain(_ symbol: String) -> Bool {
    !life.opening.isNever && !lists.refused.isHopeless(symbol)
  }

  /// Asks again for symbols that the venue refused, while connected. At most once a minute.
  /// What stayed silent is subscribed again, too: a name that is none may be acknowledged, and whether one that has
  /// become one is heard of by itself is not known.
  package func retry(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    guard !life.opening.isNever else { return }
    lists.refused.forget(symbols)
    if facts.streamedList != nil {
      guard life.isConnected, lists.streamed.isThere, !requests.desk.outbox.isPaused(at: now) else { return }
    }
    // What was closed may have been opened, which its details say.
    lists.details?.forgetDetails(of: symbols)
    for index in books.indices where symbols.contains(configuredName(index)) && !books.isLive(index) {
      requests.suspects.release(index, now: now)
      guard books.lines[index].isRefused || books.lines[index].isToldSilent else { continue }
      books.retry(index)
      figures.forget(index)
      requests.desk.forget(index)
    }
    guard facts.streamedList != nil else {
      lists.request.again()
      return prepare(now: now, into: &batch)
    }
    if let text = spell(.list(lists.query(wantedFamilies), .unsubscribe), now) { send(text, now) }
    askForStreamList(now, into: &batch)
  }

  /// Tells once that a configured symbol cannot be followed.
  /// - Parameter isForGood: it is none that any list could have, and is not asked for again.
  func refuse(_ symbol: String, _ reason: String, isForGood: Bool = false) {
    guard lists.refused.note(symbol, isForGood: isForGood) else { return }
    actions.append(.symbolFailed(symbol: symbol, reason: reason))
  }

  /// The symbol of an instrument as it was configured.
  func configuredName(_ index: Int) -> String { FeedSymbol(instruments[index]).text }

  // MARK: What is followed

  /// A configured symbol taken apart; refused, and nil, if it is none or of a kind that is not followed here.
  func wanted(_ symbol: String) -> FeedSymbol? {
    guard let wanted = FeedSymbol(symbol) else {
      refuse(symbol, "\(symbol) is not a symbol: \(FeedSymbol.advice)", isForGood: true)
      return nil
    }
    guard venue.kinds.contains(wanted.kind.family) else {
      let kinds = venue.kinds.map(\.rawValue).sorted().joined(separator: " and ")
      refuse(
        symbol,
        "\(symbol) is a \(wanted.kind.family.rawValue) market; the gateway follows only \(kinds) markets of \(venue.title)",
        isForGood: true)
      return nil
    }
    return wanted
  }

  /// Takes the venue's whole list: finds what is configured in it, adds that, and refuses what is not there or cannot
  /// be followed.
  ///
  /// - Parameters:
  ///   - markets: where two have one symbol, the one that was meant before is, else the first.
  ///   - isListed: whether a market is to be chosen by a selection and shown.
  /// - Returns: the indices of what is configured and followed, what was live and goes on among them. O(markets +
  ///   symbols × instruments).
  @discardableResult
  func resolve(
    _ markets: [ListedMarket], listing isListed: (ListedMarket) -> Bool = { _ in true }, into batch: inout EventBatch
  ) -> Set<Int> {
    list(markets.filter(isListed))
    let bySymbol = Dictionary(markets.lazy.map { ($0.symbol, $0) }, uniquingKeysWith: { first, _ in first })
    let count = instruments.count
    var indices: Set<Int> = []
    for symbol in lists.market.symbols {
      guard let wanted = wanted(symbol) else { continue }
      let present = known.index(of: wanted)
      if let index = present, index < count, books.isLive(index) {
        indices.insert(index)
        continue
      }
      guard var market = bySymbol[wanted] else {
        refuse(symbol, facts.unlisted?(wanted, markets) ?? venue.unlisted(wanted, among: markets))
        continue
      }
      if let name = present.map({ instruments[$0].venueSymbol }), name != market.venueSymbol {
        // Two instruments of one symbol would be one book to everybody else.
        guard let same = markets.first(where: { $0.symbol == wanted && $0.venueSymbol == name }) else {
          refuse(
            symbol,
            "\(symbol) was \(name) at \(venue.title) and is \(market.venueSymbol) now: restart the gateway to follow it"
          )
          continue
        }
        market = same
      }
      guard market.contractSize != nil else {
        refuse(symbol, market.inexact(among: markets))
        continue
      }
      guard market.state == .trading || facts.carriesHalted else {
        refuse(symbol, "\(symbol) is listed at \(venue.title) but not traded")
        continue
      }
      if let reason = refusal(of: market, for: symbol) {
        refuse(symbol, reason)
        continue
      }
      guard let market = known(of: market) else { continue }
      if let index = add(market, for: symbol, into: &batch) {
        indices.insert(index)
      }
    }
    return indices
  }

  /// Why a market that is listed is not followed under that symbol; nil if it is.
  private func refusal(of market: ListedMarket, for symbol: String) -> String? {
    if let carrier = followed(as: market) {
      return "\(venue.title)'s \(market.venueSymbol) is already followed as \(carrier.text): leave one of them out"
    }
    // A book may have two names, of which one is followed.
    guard let index = known.index(named: market.venueSymbol), configuredName(index) != symbol else { return nil }
    return "\(symbol) is the same book as \(configuredName(index)), which is already followed: leave one of them out"
  }

  /// Adds an instrument, or brings the one of that venue symbol up to date. Its index; nil if the table is full, and
  /// then the configured `symbol` is refused.
  func add(_ market: ListedMarket, for symbol: String, into batch: inout EventBatch) -> Int? {
    guard let (index, priceBy, sizeBy) = known.add(market, venue: venue.name, into: &batch) else {
      refuse(symbol, "too many symbols on one connection")
      return nil
    }
    tally.grow(to: known.count)
    if priceBy != 1 || sizeBy != 1 { widened(index, priceBy: priceBy, sizeBy: sizeBy) }
    return index
  }

  /// Takes the venue's whole list, before `symbols` is looked at. `markets` is made only if it is wanted.
  private func list(_ markets: @autoclosure () -> [ListedMarket]) {
    for (text, reason) in lists.market.malformed {
      refuse(text, "\(text) is not a selection: \(reason)", isForGood: true)
    }
    guard lists.market.isWanted else { return }
    for result in lists.market.take(markets(), of: venue) {
      switch result {
      case .accepted(let text): actions.append(.symbolAccepted(symbol: text))
      case .refused(let text, let reason): refuse(text, reason)
      }
    }
  }

  // MARK: Details of single markets

  /// The known details of a market in the newest list; nil while the engine cannot follow it.
  private func known(of market: ListedMarket) -> ListedMarket? {
    switch lists.details?.known(of: market) {
    case nil: return market
    case .market(let details): return details
    case .waits: return nil
    case .ended(let reason):
      if let reason { refuse(market.symbol.text, reason) }
      return nil
    }
  }

  /// Whom a name is followed for already, where several configured symbols spell it.
  private func followed(as market: ListedMarket) -> FeedSymbol? {
    guard lists.details != nil, let index = known.index(named: market.venueSymbol) else { return nil }
    let symbol = FeedSymbol(known[index])
    return symbol == market.symbol ? nil : symbol
  }

  /// Requests the wanted details and figures of single markets, within the limits at `now`.
  func pumpMarkets(_ now: Timestamp) {
    guard lists.details != nil else { return }
    lists.details?.expire(now: now)
    if life.isConnected {
      lists.details?.wantFigures({ books.lines[$0].isFollowed && books.lines[$0].isAsked }, now: now)
    }
    while let (path, request, bodyLimit) = lists.details?.next(now: now) {
      actions.append(.get(request: request, path: path, bodyLimit: bodyLimit))
    }
  }

  /// Takes an answer about a market.
  func takeMarket(
    _ subject: InstrumentLists.Subject, _ status: AnswerStatus, _ body: RawSpan, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    do throws(FeedError) {
      try status.check()
      switch subject {
      case .details(let index): try takeDetails(body, index, now: now, into: &batch)
      case .figures(let index, let kind):
        if let ticker = try lists.details?.takeFigures(body, index, kind, &known, now: now) {
          batch.events.append(.ticker(ticker))
        }
      }
      lists.details?.succeeded(subject)
    } catch {
      if status.code != 400, status.code != 404 {
        lists.details?.failed(subject, status, now: now)
      } else if case .details(let index) = subject, let market = lists.details?.entries[index], market.index == nil {
        // The venue has no details, now or soon. What need not wait does without them.
        refuse(market.market.symbol.text, "\(venue.title) gives no details of \(market.market.venueSymbol)")
      }
      throw error
    }
  }

  private func takeDetails(
    _ body: RawSpan, _ index: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let entry = lists.details?.entries[index],
      let details = try lists.details?.takeDetails(body, index, now: now)
    else { return }
    switch details {
    case .refused(let reason):
      if let symbolIndex = entry.index { end(symbolIndex, into: &batch) }
      refuse(entry.market.symbol.text, reason)
    case .market(let market):
      guard followed(as: market) == nil, let symbolIndex = add(market, for: market.symbol.text, into: &batch) else {
        return
      }
      if entry.isListed, entry.index == nil || entry.ended != nil {
        makeLines()
        books.begin(symbolIndex)
        lists.details?.entries[index].index = symbolIndex
      }
      guard life.isConnected else { return }
      subscribeMissing(now)
      flush(now)
    }
  }

  /// The engine no longer follows a market: it ends the channels, and publishes nothing more of it.
  private func end(_ index: Int, into batch: inout EventBatch) {
    guard !books.lines[index].isEnded else { return }
    if books.isLive(index) { batch.events.append(.bookReset(InstrumentID(index), .venueReset)) }
    books.end(index)
    if life.isConnected { requests.desk.end(index) }
  }
}
