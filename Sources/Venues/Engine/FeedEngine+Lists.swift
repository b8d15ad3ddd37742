import Bytes
import MarketData

/// Lists of markets: asking for them, by REST or in the stream, and what becomes of what they say.
extension FeedEngine {
  /// Whether `connected` may be called.
  package var isPrepared: Bool {
    facts.streamedList == nil
      ? listRequest.hasList : hasAllVolumes || !marketList.wantsVolumes || facts.volumes.isEmpty
  }

  /// Asks for what is wanted before a connection: the volumes, and then the list.
  package func prepare(now: Timestamp, into batch: inout EventBatch) {
    if facts.streamedList != nil {
      hasAllVolumes = hasVolumes(now: now)
    } else if wantedFamilies.isEmpty {
      // Symbols of no kind that is carried, or none at all: nothing is asked for, and they are refused.
      guard listRequest.isDue(now: now) else { return }
      take([], into: &batch)
      listRequest.finished()
    } else {
      guard listRequest.isDue(now: now), hasVolumes(now: now), let list = facts.list, let path = list.path(listQuery)
      else { return }
      requestID += 1
      listRequest.sent(requestID, now: now)
      actions.append(.get(request: requestID, path: path, bodyLimit: list.bodyLimit))
    }
  }

  var listQuery: ListQuery {
    // A rank needs volumes however long they take; what is to be shown only is shown without.
    let wantsVolumes = marketList.isRanked || listAttempts < MarketList.attemptLimit
    return ListQuery(
      symbols: marketList.named.compactMap(FeedSymbol.init), isWhole: marketList.isWanted, families: wantedFamilies,
      wantsVolumes: marketList.wantsVolumes && wantsVolumes, isOtherWay: isOtherWay, part: pages.count,
      cursor: pages.cursor)
  }

  /// The answer to a `.get`: its status and body; status 0 if there is none, then `body` is the reason as text.
  /// - Parameters:
  ///   - retryAfter: how long the venue asks to wait before the next request, µs.
  ///   - readAhead: what a `ListReader` has made of the body.
  /// - Returns: why the answer could not be read; nil if it was.
  @discardableResult
  package func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, retryAfter: Int64? = nil,
    readAhead: Result<ListPage, FeedError>? = nil, into batch: inout EventBatch
  ) -> FeedError? {
    let status = AnswerStatus(code: status, retryAfter: retryAfter)
    do throws(FeedError) {
      try takeAnswer(to: request, status, body, readAhead, now: now, into: &batch)
      return nil
    } catch {
      counts.rejected += 1
      return error
    }
  }

  /// Takes an answer by whose request it is to, which the ranges of the requests' numbers tell.
  private func takeAnswer(
    to request: Int, _ status: AnswerStatus, _ body: RawSpan, _ readAhead: Result<ListPage, FeedError>?,
    now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    if request < 0 {
      defer { prepare(now: now, into: &batch) }
      try takeVolumes(request, status, body, now: now)
    } else if request >= Self.firstWitness {
      try takeFigures(request, status, body, now: now, into: &batch)
    } else if request > TradeDesk.firstRequest {
      try takeTrades(request, status, body, now: now, into: &batch)
    } else if listRequest.isAnswered(by: request) {
      try takeList(status, body, readAhead, now: now, into: &batch)
    } else if let subject = markets?.answered(request) {
      defer { pumpMarkets(now) }
      try takeMarket(subject, status, body, now: now, into: &batch)
    } else if let place = pacer.answered(request) {
      defer { pump(now) }
      try takeSnapshot(place, status, body, now: now, into: &batch)
    }
  }

  /// Takes the answer to the list's request: what cannot be read is asked for again later, what it says is
  /// not all is gone on with.
  private func takeList(
    _ status: AnswerStatus, _ body: RawSpan, _ readAhead: Result<ListPage, FeedError>?, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    do throws(FeedError) {
      try status.check()
      guard try readList(body, readAhead, into: &batch) else {
        listRequest.goesOn()
        return prepare(now: now, into: &batch)
      }
      listRequest.finished()
      hasListed(now: now)
    } catch {
      listRequest.failed(status: status.code, retryAfter: status.retryAfter, now: now)
      pages = ListPages()
      if facts.list?.otherWayAfter.contains(status.code) ?? false { isOtherWay.toggle() }
      throw error
    }
  }

  /// What reads the answer to a request away from the loop; nil where the engine has to do that.
  package func listReader(for request: Int) -> ListReader? {
    listRequest.awaits(request) ? facts.list.map(ListReader.init) : nil
  }

  /// Reads an answer to `listRequest` and takes the markets that it lists; false if that is not all.
  private func readList(
    _ body: RawSpan, _ readAhead: Result<ListPage, FeedError>?, into batch: inout EventBatch
  ) throws(FeedError) -> Bool {
    guard let list = facts.list else { preconditionFailure("an answer to a list that is not asked for") }
    let page = if let readAhead { try readAhead.get() } else { try list.read(body) }
    if let weight = page.weightPerMinute, let bridge = facts.bridge {
      pacer.weightPerMinute = max(weight / configuration.connections, bridge.snapshots[0].weight)
    }
    pages.markets += page.markets
    pages.names.formUnion(page.names)
    pages.count += 1
    // A cursor that stays where it is would be followed for ever.
    let isSame = page.cursor != nil && page.cursor == pages.cursor
    pages.cursor = page.cursor
    guard !page.goesOn || isSame || pages.count >= list.partLimit || list.path(listQuery) == nil else { return false }
    take(pages.markets, pages.names, into: &batch)
    pages = ListPages()
    return true
  }

  /// The list is there: what it brought is subscribed, if there is a connection.
  private func hasListed(now: Timestamp) {
    markets?.wantDetails(now: now)
    if isConnected {
      subscribeMissing(now)
      subscribeSuspect(now)
      flush(now)
    }
    pumpMarkets(now)
  }

  func take(_ listed: [ListedMarket], _ names: Set<String> = [], into batch: inout EventBatch) {
    markets?.newList()
    let others = configuredMarkets(among: listed, names)
    let symbols = Set(others.map(\.symbol))
    let isShown = facts.isShown ?? { _ in true }
    let carried = carry(listed + others, listing: { !symbols.contains($0.symbol) && isShown($0) }, into: &batch)
    makeLines()
    for place in lines.indices {
      lines[place].isListed = carried.contains(place)
      guard lines[place].isCarried, !isLive(place), suspects?.isShunned(place) ?? false else { continue }
      lines[place].isRefused = true
      refuse(configuredName(place), reasonToShun(place))
    }
    placeMarkets()
  }

  /// Makes room for the instruments that are new.
  func makeLines() {
    while lines.count < known.count { lines.append(Line(book: BookKeeper(facts), isSuspect: isConnected)) }
    desk.grow(to: lines.count)
    suspects?.grow(to: lines.count)
    // A book that is whole in each message is looked after by itself (`WholeBook`).
    let isWhole = if case .whole = facts.book { true } else { false }
    let watched = facts.channels.indices.map { isWhole && $0 == 0 ? nil : facts.channels[$0].every }
    if watched.contains(where: { $0 != nil }) {
      while watches.count < desk.states.count {
        watches.append(watched[desk.topic(watches.count).channel].map { SilenceWatch(every: $0) })
      }
    }
    chooseDepth()
  }

  // MARK: Lists in the stream

  /// Asks for what has not come of a list in the stream; of one that has, for all of it anew.
  func askForStreamList(_ now: Timestamp, into batch: inout EventBatch) {
    guard let list = facts.streamedList else { return }
    if streamedParts.isEmpty {
      hasStreamList = false
      streamedParts = Array(repeating: nil, count: list.parts)
    }
    listDue = now + list.within
    var query = listQuery
    for part in streamedParts.indices where streamedParts[part] == nil {
      query.part = part
      if let text = spell(.list(query, .subscribe), now) { send(text, now) } else { streamedParts[part] = [] }
    }
    takeStreamList(now, into: &batch)
  }

  /// A part of the list has come in the stream.
  func listed(_ markets: [ListedMarket], part: Int, now: Timestamp, into batch: inout EventBatch) {
    guard streamedParts.indices.contains(part) else { return }
    streamedParts[part] = markets
    takeStreamList(now, into: &batch)
  }

  /// When all parts are there: what is configured and not subscribed is subscribed.
  private func takeStreamList(_ now: Timestamp, into batch: inout EventBatch) {
    let parts = streamedParts.compactMap(\.self)
    guard parts.count == streamedParts.count else { return }
    streamedParts = []
    hasStreamList = true
    listDue = nil
    listAttempts = 0
    take(Array(parts.joined()), into: &batch)
    hasListed(now: now)
  }

  // MARK: Symbols that were refused

  /// Whether `retry` asks the venue for a symbol that was refused: not for what cannot be a symbol of it, and not where
  /// nothing can be carried on a connection, however often it is asked for.
  package func isAskedAgain(_ symbol: String) -> Bool {
    facts.refusesURL?(url) == nil && !hopelessSymbols.contains(symbol)
  }

  /// Asks again for symbols that the venue refused, while connected. At most once a minute.
  /// What stayed silent is subscribed again, too: a name that is none may be acknowledged, and whether one that has
  /// become one is heard of by itself is not known.
  package func retry(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    guard facts.refusesURL?(url) == nil else { return }
    for symbol in symbols { refusedSymbols.remove(symbol) }
    if facts.streamedList != nil {
      guard isConnected, hasStreamList, !desk.outbox.isPaused(at: now) else { return }
    }
    // What was closed may have been opened, which its details say.
    markets?.forgetDetails(of: symbols)
    for place in lines.indices where symbols.contains(configuredName(place)) && !lines[place].book.isLive {
      suspects?.release(place, now: now)
      guard lines[place].isRefused || lines[place].isToldSilent else { continue }
      var book = lines[place].book
      book.stop()
      lines[place] = Line(book: book, isSuspect: true, isEnded: lines[place].isEnded)
      desk.forget(place)
    }
    guard facts.streamedList != nil else {
      listRequest.again()
      return prepare(now: now, into: &batch)
    }
    if let text = spell(.list(listQuery, .unsubscribe), now) { send(text, now) }
    askForStreamList(now, into: &batch)
  }
}
