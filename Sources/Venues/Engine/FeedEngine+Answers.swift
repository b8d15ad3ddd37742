import Bytes
import MarketData

/// What the venue answers by REST: lists, snapshots of books, missing trades, figures.
extension FeedEngine {
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
      tally.counts.rejected += 1
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
      try lists.market.takeVolumes(request, status, body, wantedVolumes, now: now)
    } else if request >= DerivativeRequests.first {
      guard let report = try figures.derivatives.answered(request, status, body, known, now: now) else { return }
      batch.append(derivative: report)
    } else if request >= FigureRequests.first {
      guard let ticker = try figures.answered(request, status, body, &known, now: now) else { return }
      batch.events.append(.witness(ticker))
    } else if request > TradeRequests.firstRequest {
      try takeTrades(request, status, body, now: now, into: &batch)
    } else if lists.request.isAnswered(by: request) {
      try takeList(status, body, readAhead, now: now, into: &batch)
    } else if let subject = lists.details?.answered(request) {
      defer { pumpMarkets(now) }
      try takeMarket(subject, status, body, now: now, into: &batch)
    } else if let index = books.pacer.answered(request) {
      defer { pump(now) }
      try takeSnapshot(index, status, body, now: now, into: &batch)
    }
  }

  // MARK: Snapshots of books

  /// Requests the wanted snapshots, within the limits at `now`.
  func pump(_ now: Timestamp) {
    guard life.isConnected, let bridge = facts.bridge else { return }
    while let (index, request) = books.nextSnapshot(now: now) {
      actions.append(
        .get(
          request: request, path: bridge.path(known[index], books.snapshotLevels), bodyLimit: bridge.bodyLimit))
    }
  }

  private func takeSnapshot(
    _ index: Int, _ status: AnswerStatus, _ body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    // The symbol may have been refused since.
    guard books.lines[index].isFollowed else { return }
    let isRenewal = books.isLive(index)
    guard books.lines[index].book.isBridged, !isRenewal || books.isRenewing(index) else {
      return books.pacer.succeeded(index)
    }
    if let missing = facts.bridge?.missing, status.code == missing, !isRenewal {
      refuse(index, "\(venue.title) has no order book of it (\(missing))")
      return books.pacer.succeeded(index)
    }
    guard status.isOK else { return books.snapshotFailed(index, status, now: now) }
    var mark = BatchMark(batch)
    let id: Int64
    do throws(FeedError) {
      id = try snapshot(body, index, from: &mark, into: &batch)
    } catch {
      books.snapshotFailed(index, status, now: now)
      throw error
    }
    guard !books.isStale(id, index, isRenewal: isRenewal, now: now) else {
      // Older than the first update that was kept: another one, and what is kept stays.
      mark.rewind(&batch)
      return books.snapshotFailed(index, status, now: now)
    }
    if isRenewal { return renew(index, at: id, from: mark, now, into: &batch) }
    let time = books.time(ofSnapshot: id, now: now)
    if join(
      &books.lines[index].book.bridge, index, at: id, from: mark, time: time, isLinked: books.provesLinks, into: &batch)
    {
      books.joined(index, now: now)
    } else {
      books.pacer.failed(index, status: status.code, retryAfter: status.retryAfter, now: now)
    }
  }

  /// Reads the snapshot of a book by REST, at scales that are widened as it wants them.
  /// - Parameter mark: behind it the snapshot's levels stand.
  /// - Returns: the number or time that the snapshot stands at.
  func snapshot(
    _ body: RawSpan, _ index: Int, from mark: inout BatchMark, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    guard let bridge = facts.bridge else { preconditionFailure("a snapshot of a book that is not bridged") }
    // Price and size may each widen several times.
    for _ in 0..<32 {
      do throws(FeedError) {
        known.begin()
        var reader = FieldReader(body)
        return try bridge.read(&reader, index, &known, &batch)
      } catch {
        mark.rewind(&batch)
        guard widenIfNeeded(into: &batch) else { throw error }
        mark = BatchMark(batch)
      }
    }
    throw FeedError(.decimal, "snapshot of a book: no scale fits its values")
  }

  /// Joins what `bridge` has kept to a snapshot at `id` that is not stale and whose levels stand in `batch` from
  /// `mark` on. Appends and counts the snapshot and every kept update that follows it. False if the kept
  /// updates have a hole: the book has been reset and needs another snapshot. O(kept).
  ///
  /// - Parameter isLinked: whether an update that follows vouches for the one before it, and is counted for that.
  func join(
    _ bridge: inout SnapshotBridge, _ index: Int, at id: Int64, from mark: BatchMark, time: Timestamp,
    isLinked: Bool = true, into batch: inout EventBatch
  ) -> Bool {
    let instrument = InstrumentID(index)
    known.note(index, batch.bids[mark.bids...])
    known.note(index, batch.asks[mark.asks...])
    batch.appendBook(.snapshot, index, since: mark, time: time)
    var counts = tally.symbols[index]
    counts.snapshots += 1
    let whole = bridge.bridge(id) { verdict, update, updateBids, updateAsks in
      switch verdict {
      case .old:
        counts.dropped += 1
        return
      case .joined: counts.bridged += 1
      case .followed: counts.sequenceOK += isLinked ? 1 : 0
      default: return
      }
      let bidStart = batch.bids.count
      let askStart = batch.asks.count
      batch.bids.append(contentsOf: updateBids)
      batch.asks.append(contentsOf: updateAsks)
      batch.events.append(
        .book(
          BookEvent(
            instrument: instrument, kind: .delta, bidRange: bidStart..<batch.bids.count,
            askRange: askStart..<batch.asks.count, time: update.time)))
    }
    if !whole {
      counts.gaps += 1
      batch.events.append(.bookReset(instrument, .gap))
    }
    tally.symbols[index] = counts
    return whole
  }

  /// Puts the snapshot that stands in the batch from `mark` on, and what came after it, in the place of a live book.
  private func renew(
    _ index: Int, at id: Int64, from mark: BatchMark, _ now: Timestamp, into batch: inout EventBatch
  ) {
    guard var renewed = books.takeRenewal(now: now) else { return }
    // Later updates come from the book's own bridge, which has seen and counted the same ones.
    var counted = tally.symbols[index]
    counted.snapshots += 1
    _ = join(
      &renewed.bridge, index, at: id, from: mark, time: Timestamp(microseconds: id), isLinked: false, into: &batch)
    tally.symbols[index] = counted
  }

  // MARK: Missing trades

  /// Requests missing trades, within the limits at `now`, and publishes those that were found.
  func searchTrades(now: Timestamp, into batch: inout EventBatch) {
    guard !trades.isIdle else { return }
    trades.expire(now: now)
    while let (path, request) = trades.next(now: now, known) {
      actions.append(.get(request: request, path: path, bodyLimit: TradePages.bodyLimit))
    }
    for event in trades.takeReady() {
      switch event {
      case .trade(let trade):
        guard trade.price > 0, trade.size > 0 else { continue }
        known.note(trade.instrument.index, price: trade.price, size: trade.size)
        tally.symbols[trade.instrument.index].foundTrades += 1
        batch.events.append(.trade(trade))
      case .searched(let instrument, let hole): batch.events.append(.tradesSearched(instrument, hole))
      }
    }
  }

  /// Takes an answer about missing trades.
  func takeTrades(
    _ request: Int, _ status: AnswerStatus, _ body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let index = trades.index(of: request), let pages = trades.pages else { return }
    guard status.isOK else {
      return trades.failed(request, status: status.code, retryAfter: status.retryAfter, now: now)
    }
    do throws(FeedError) {
      trades.answered(request, try read(pages, body, index, now: now, into: &batch), now: now)
    } catch {
      trades.failed(request, status: status.code, retryAfter: status.retryAfter, now: now)
      throw error
    }
    searchTrades(now: now, into: &batch)
  }

  /// Reads the rows of an answer, at scales that are widened as they want them.
  private func read(
    _ pages: TradePages, _ body: RawSpan, _ index: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) -> [Trade] {
    // Price and size may each widen several times.
    for _ in 0..<32 {
      do throws(FeedError) {
        known.begin()
        return try pages.read(body, index, &known, now: now)
      } catch {
        guard widenIfNeeded(into: &batch) else { throw error }
      }
    }
    throw FeedError(.decimal, "missing trades: no scale fits their values")
  }

  // MARK: Figures

  /// Asks for the venue's figures of a market, whose trades are in doubt.
  func askForFigures(of instrument: InstrumentID, now: Timestamp) {
    let index = instrument.index
    guard life.isConnected, books.indices.contains(index), books.lines[index].isFollowed,
      let (path, request) = figures.ask(known[index], now: now)
    else { return }
    actions.append(.get(request: request, path: path, bodyLimit: FigureRequests.bodyLimit))
  }

  // MARK: Derivatives

  /// Somebody wants what the venue says of a derivative only on demand, or nobody any more. What is wanted stays so on
  /// the next connection.
  package func want(_ instrument: InstrumentID, _ wishes: MarketWishes, now: Timestamp) {
    let index = instrument.index
    guard books.indices.contains(index), known[index].kind != .spot else { return }
    let line = books.lines[index]
    for (channel, fact) in facts.channels.enumerated() where fact.isOnDemand {
      let isWanted = wishes.contains(fact.content == .liquidations ? .liquidations : .derivative)
      requests.desk.want(
        Topic(index: index, channel: channel), isWanted, isAsked: line.isAsked && line.isFollowed && life.isConnected)
    }
    figures.derivatives.want(index, wishes)
    flush(now)
    pollDerivatives(now)
  }

  /// Requests what is due of the derivatives that somebody wants, within the limits at `now`.
  func pollDerivatives(_ now: Timestamp) {
    guard life.isConnected else { return }
    while let (request, path, bodyLimit) = figures.derivatives.next(
      now: now, instruments: known, isFollowed: { books.lines[$0].isFollowed })
    {
      actions.append(.get(request: request, path: path, bodyLimit: bodyLimit))
    }
  }

  // MARK: Restored books

  /// Messages are left out here on purpose. Channels that have been acknowledged count as open.
  func skip(now: Timestamp) {
    dialect.skip()
    life.heard = now
    life.marketHeard = now
    requests.desk.heard()
    for index in books.indices {
      books.lines[index].hasTraded = true
      for channel in facts.channels.indices { requests.desk.flows(Topic(index: index, channel: channel)) }
    }
  }

  /// A book is out of sync, as it was in another run.
  func restore(_ lost: LostBook, into batch: inout EventBatch) -> Bool {
    guard let index = known.index(named: lost.venueSymbol) else { return false }
    batch.events.append(.bookReset(InstrumentID(index), lost.reason))
    return true
  }

  func restore(_ checkpoint: BookCheckpoint, now: Timestamp, into batch: inout EventBatch) -> Bool {
    guard let index = known.index(named: checkpoint.venueSymbol), books.indices.contains(index),
      books.lines[index].isFollowed,
      widen(
        InstrumentID(index), priceScale: checkpoint.priceScale, sizeScale: checkpoint.sizeScale, into: &batch),
      known[index].priceScale == checkpoint.priceScale, known[index].sizeScale == checkpoint.sizeScale,
      books.lines[index].book.restore(checkpoint.link, canBridge: facts.bridge != nil, now: now)
    else { return false }
    books.lines[index].isAsked = true
    books.lines[index].wasLive = true
    books.lines[index].isHeard = true
    books.lines[index].acknowledged = books.lines[index].acknowledged ?? now
    life.watches.heardBook(of: index, now: now)
    if checkpoint.link.isBridged { books.joined(index, now: now) }
    let (bids, asks) = (batch.bids.count, batch.asks.count)
    batch.bids += checkpoint.bids
    batch.asks += checkpoint.asks
    let event = BookEvent(
      instrument: InstrumentID(index), kind: .snapshot, bidRange: bids..<batch.bids.count,
      askRange: asks..<batch.asks.count, time: checkpoint.time)
    // The venue's own limit is not an event's.
    if let depth = checkpoint.depthLimit, depth != venue.market.bookDepthLimit ?? Market.defaultDepthLimit {
      batch.events.append(.bookDepth(InstrumentID(index), levels: depth))
    }
    batch.events.append(.book(event))
    note(event, batch)
    return true
  }
}
