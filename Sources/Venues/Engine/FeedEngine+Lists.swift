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

  /// The answer to a `.get`: its status and body; status 0 if it could not be had, then `body` is the reason as text.
  package func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    if takeVolumes(request, status: status, body: body, now: now) { return prepare(now: now, into: &batch) }
    if takeFigures(request, status: status, body: body, now: now, into: &batch) { return }
    if takeTrades(request, status: status, body: body, now: now, into: &batch) { return }
    guard listRequest.isAnswered(by: request) else {
      if takeMarket(request, status: status, body: body, now: now, into: &batch) { return }
      guard let place = pacer.answered(request) else { return }
      takeSnapshot(place, status: status, body: body, now: now, into: &batch)
      return pump(now)
    }
    takeList(status: status, body: body, now: now, into: &batch)
  }

  /// Takes the answer to the list's request: what cannot be read is asked for again later, what it says is
  /// not all is gone on with.
  private func takeList(status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    do throws(FeedError) {
      guard status == 200 else { throw FeedError(.refused, "status \(status)") }
      guard try readList(body, into: &batch) else {
        listRequest.goesOn()
        return prepare(now: now, into: &batch)
      }
      listRequest.finished()
      hasListed(now: now)
    } catch {
      rejectAnswer(error)
      listRequest.failed(status: status, retryAfter: retryAfter, now: now)
      pages = ListPages()
      if facts.list?.otherWayAfter.contains(status) ?? false { isOtherWay.toggle() }
    }
  }

  /// What reads the answer to a request away from the loop; nil where the engine has to do that.
  package func listReader(for request: Int) -> ListReader? {
    listRequest.awaits(request) ? facts.list.map(ListReader.init) : nil
  }

  /// Reads an answer to `listRequest` and takes the markets that it lists; false if that is not all.
  private func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    guard let list = facts.list else { preconditionFailure("an answer to a list that is not asked for") }
    let page: ListPage
    defer { readAhead = nil }
    switch readAhead {
    case .success(let read): page = read
    case .failure(let error): throw error
    case nil: page = try list.read(body)
    }
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
