import Bytes
import MarketData

/// Which of the venue's markets are carried: those that are configured by name, and what selections come to.
extension FeedEngine {
  /// All markets that the venue lists, in its order, where the configuration asks for them. Empty until the list has
  /// come: with `prepare` from most venues, after `connected` where it is part of the stream.
  package var listing: [ListedMarket] { marketList.markets }

  /// The kinds of market that are asked for: those of the named symbols and of the selections, and all where the list
  /// is kept.
  var wantedFamilies: Set<Instrument.Kind.Family> {
    if marketList.detail != .none { return venue.kinds }
    return venue.kinds.filter { family in
      marketList.selections.contains { $0.mayHold(family) }
        || marketList.named.contains { FeedSymbol($0)?.kind.family == family }
    }
  }

  /// The symbols to carry: those that were named, and behind them what the selections came to. Complete once `list`
  /// was called.
  var symbols: [String] { marketList.named + marketList.selected }

  /// A configured symbol taken apart; refused, and nil, if it is none or of a kind that is not carried here.
  func wanted(_ symbol: String) -> FeedSymbol? {
    guard let wanted = FeedSymbol(symbol) else {
      hopelessSymbols.insert(symbol)
      refuse(symbol, "\(symbol) is not a symbol: \(FeedSymbol.advice)")
      return nil
    }
    guard venue.kinds.contains(wanted.kind.family) else {
      hopelessSymbols.insert(symbol)
      let kinds = venue.kinds.map(\.rawValue).sorted().joined(separator: " and ")
      refuse(
        symbol,
        "\(symbol) is a \(wanted.kind.family.rawValue) market; the gateway follows only \(kinds) markets of \(venue.title)"
      )
      return nil
    }
    return wanted
  }

  /// Takes the venue's whole list: finds what is configured in it, adds that, and refuses what is not there or cannot
  /// be carried.
  ///
  /// - Parameters:
  ///   - markets: where two have one symbol, the one that was meant before is, else the first.
  ///   - isListed: whether a market is to be chosen by a selection and shown.
  /// - Returns: the places of what is configured and carried, what was live and goes on among them. O(markets +
  ///   symbols × instruments).
  @discardableResult
  func carry(
    _ markets: [ListedMarket], listing isListed: (ListedMarket) -> Bool = { _ in true }, into batch: inout EventBatch
  ) -> Set<Int> {
    list(markets.filter(isListed))
    let bySymbol = Dictionary(markets.lazy.map { ($0.symbol, $0) }, uniquingKeysWith: { first, _ in first })
    let count = instruments.count
    var places: Set<Int> = []
    for symbol in symbols {
      guard let wanted = wanted(symbol) else { continue }
      let present = known.place(of: wanted)
      if let place = present, place < count, isLive(place) {
        places.insert(place)
        continue
      }
      guard var market = bySymbol[wanted] else {
        refuse(symbol, unlisted(wanted, among: markets))
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
        refuse(symbol, inexact(market, among: markets))
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
      if let place = add(market, for: symbol, into: &batch) {
        places.insert(place)
      }
    }
    return places
  }

  /// Why no market of the venue's list is what was configured.
  private func unlisted(_ wanted: FeedSymbol, among markets: [ListedMarket]) -> String {
    if let reason = facts.unlisted?(wanted, markets) { return reason }
    let carried = markets.lazy.filter { $0.contractSize != nil }.map(\.symbol.text)
    return "\(venue.title) has no market \(wanted.text)\(NearNames.question(wanted.text, among: carried))"
  }

  /// Why a market without a contract size is not carried, and which one like it is.
  private func inexact(_ market: ListedMarket, among markets: [ListedMarket]) -> String {
    let symbol = market.symbol
    let other = markets.first {
      $0.contractSize != nil && $0.symbol.base == symbol.base && $0.symbol.kind == symbol.kind
    }
    let advice = other.map { ": write \($0.symbol.text)" } ?? ""
    return
      "\(market.venueSymbol) is an inverse contract, or its size is not listed: what is traded has no exact value in \(symbol.base)\(advice)"
  }

  /// Why a market that is listed is not carried under that symbol; nil if it is.
  private func refusal(of market: ListedMarket, for symbol: String) -> String? {
    if let carrier = carrier(of: market) {
      return "\(venue.title)'s \(market.venueSymbol) is already followed as \(carrier.text): leave one of them out"
    }
    // A book may have two names, of which one is carried.
    guard let place = known.place(named: market.venueSymbol), configuredName(place) != symbol else { return nil }
    return "\(symbol) is the same book as \(configuredName(place)), which is already followed: leave one of them out"
  }

  /// The symbol of an instrument as it was configured.
  func configuredName(_ place: Int) -> String { FeedSymbol(instruments[place]).text }

  /// Whether the book at `place` is in sync: then no list that is asked for meanwhile changes anything about it.
  func isLive(_ place: Int) -> Bool { lines[place].book.isLive }

  /// Adds an instrument, or brings the one of that venue symbol up to date. Its place; nil if the table is full, and
  /// then the configured `symbol` is refused.
  func add(_ market: ListedMarket, for symbol: String, into batch: inout EventBatch) -> Int? {
    guard let (place, priceBy, sizeBy) = known.add(market, venue: venue.name, into: &batch) else {
      refuse(symbol, "too many symbols on one connection")
      return nil
    }
    if seen.count < known.count { seen.append(SymbolCounts()) }
    if priceBy != 1 || sizeBy != 1 { widened(place, priceBy: priceBy, sizeBy: sizeBy) }
    return place
  }

  /// Tells once that what is configured is none that any list could have, and is not asked for again.
  func refuseForGood(_ symbol: String, _ reason: String) {
    hopelessSymbols.insert(symbol)
    refuse(symbol, reason)
  }

  /// Tells once that a configured symbol cannot be carried.
  func refuse(_ symbol: String, _ reason: String) {
    guard refusedSymbols.insert(symbol).inserted else { return }
    actions.append(.symbolFailed(symbol: symbol, reason: reason))
  }

  // MARK: Selections

  /// Takes the venue's whole list, once it is there and before `symbols` is looked at. `markets` is made only if it
  /// is wanted.
  func list(_ markets: @autoclosure () -> [ListedMarket]) {
    for (text, reason) in marketList.malformed { refuseForGood(text, "\(text) is not a selection: \(reason)") }
    guard marketList.isWanted else { return }
    var markets = markets()
    let volumes = marketList.volumes.byName
    if !volumes.isEmpty {
      for index in markets.indices { markets[index].quoteVolume = volumes[markets[index].venueSymbol] }
    }
    for selection in marketList.selections { select(selection, among: markets) }
    marketList.markets = marketList.detail == .none ? [] : markets
    marketList.volumes = MarketVolumes()
  }

  private func select(_ selection: MarketSelection, among markets: [ListedMarket]) {
    guard selection.rank == nil || markets.isEmpty || markets.contains(where: { $0.quoteVolume != nil }) else {
      return refuse(
        selection.text,
        "\(venue.title) publishes no 24 h volumes, so its markets cannot be ranked: leave :top out, or name the markets"
      )
    }
    let found = selection.choose(from: markets)
    guard !found.isEmpty else {
      if !marketList.selected.contains(where: { FeedSymbol($0).map(selection.matches) ?? false }) {
        marketList.wanting.insert(selection.text)
        refuse(selection.text, "\(venue.title) has no market for \(selection.text)")
      }
      return
    }
    let new = found.lazy.map(\.symbol.text).filter { !self.marketList.chosen.contains($0) }
    let room = max(0, marketList.limit - marketList.named.count - marketList.selected.count)
    let taken = Array(new.prefix(room))
    let left = new.count - taken.count
    marketList.selected += taken
    marketList.chosen.formUnion(taken)
    guard left > 0 else {
      if marketList.wanting.remove(selection.text) != nil { actions.append(.symbolAccepted(symbol: selection.text)) }
      return
    }
    marketList.wanting.insert(selection.text)
    refuse(
      selection.text,
      "\(selection.text) selects \(found.count) markets, and a connection to \(venue.title) holds \(marketList.limit): \(left) are left out; write \(selection.narrowed(to: marketList.limit))"
    )
  }

  // MARK: Volumes

  /// Whether `prepare` may go on to the list: the 24 h volumes are there, or nobody wants them. Asks for them if not.
  func hasVolumes(now: Timestamp) -> Bool {
    let requests = wantedVolumes
    guard marketList.wantsVolumes, !requests.isEmpty else { return true }
    if let read = marketList.volumesRead, now - read < MarketList.volumeAge { return true }
    if marketList.request != nil, now >= marketList.due {
      marketList.request = nil
      volumesFailed(now, .none)
      return hasVolumes(now: now)
    }
    guard marketList.request == nil, now >= marketList.due else { return false }
    marketList.requests += 1
    // Below zero, where no handler's own requests are.
    marketList.request = -marketList.requests
    marketList.due = now + RequestPacer.answerTimeout
    let next = requests[min(marketList.next, requests.count - 1)]
    actions.append(.get(request: -marketList.requests, path: next.path, bodyLimit: MarketList.volumesLimit))
    return false
  }

  /// Takes an answer to a request for volumes. The caller goes on with `prepare`.
  func takeVolumes(_ request: Int, _ status: AnswerStatus, _ body: RawSpan, now: Timestamp) throws(FeedError) {
    guard request == marketList.request else { return }
    marketList.request = nil
    do throws(FeedError) {
      try status.check()
      if marketList.next == 0 { marketList.volumes = MarketVolumes() }
      let wanted = wantedVolumes
      try wanted[marketList.next].read(body, &marketList.volumes)
      marketList.next += 1
      marketList.due = now
      if marketList.next >= wanted.count {
        marketList.next = 0
        marketList.volumesRead = now
        marketList.failures.reset()
      }
    } catch {
      volumesFailed(now, status)
      throw error
    }
  }

  private func volumesFailed(_ now: Timestamp, _ status: AnswerStatus) {
    marketList.next = 0
    let wait = marketList.failures.next()
    marketList.due = now + ListRequest.wait(status: status.code, retryAfter: status.retryAfter, wait)
    // What a rank came to before goes on; what is to be shown only is shown without.
    let isNeeded = marketList.isRanked && marketList.selected.isEmpty
    if !isNeeded, marketList.failures.attempts >= MarketList.attemptLimit || !marketList.selected.isEmpty {
      marketList.volumesRead = now
      marketList.failures.reset()
    }
  }

  /// What is asked for of `facts.volumes`.
  private var wantedVolumes: [VolumeListing] {
    let families = wantedFamilies
    return facts.volumes.filter { $0.family.map(families.contains) ?? true }
  }
}
