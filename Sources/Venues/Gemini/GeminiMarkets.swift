import Bytes
import MarketData

/// Gemini's markets by REST: the list of names, the details of each, its 24 h figures in turn.
extension GeminiHandler {
  func ask(_ now: Timestamp) {
    pacer.expire(now: now)
    while let (subject, request) = pacer.next(now: now) {
      switch Subject(subject) {
      case .list: actions.append(.get(request: request, path: "/v1/symbols", bodyLimit: Self.listLimit))
      case .details(let market): get(request, "/v1/symbols/details/\(entries[market].name)")
      case .ticker(let market): get(request, "/v2/ticker/\(entries[market].name)")
      case .volume(let market): get(request, "/v1/pubticker/\(entries[market].name)")
      }
    }
  }

  private func get(_ request: Int, _ path: String) {
    actions.append(.get(request: request, path: path, bodyLimit: Self.detailsLimit))
  }

  func take(_ names: [String], now: Timestamp, into batch: inout EventBatch) {
    list(names.compactMap { name in GeminiName.symbol(name).map { ListedMarket(venueSymbol: name, symbol: $0) } })
    let known = Set(names)
    for index in entries.indices {
      entries[index].isListed = entries[index].place.map { feeds[$0].book.isLive } ?? false
    }
    for symbol in symbols {
      guard let wanted = wanted(symbol) else { continue }
      // What is live goes on, whatever a list that is asked for meanwhile says of it.
      if isConnected, let place = place(of: wanted), feeds[place].book.isLive { continue }
      let name = GeminiName.text(of: wanted)
      guard known.contains(name) else {
        refuse(symbol, "Gemini has no market \(name)\(NearNames.question(name, among: names))")
        continue
      }
      let market = entries.firstIndex { $0.symbol == symbol } ?? entries.count
      if market == entries.count { entries.append(Entry(symbol: symbol, wanted: wanted, name: name)) }
      entries[market].isListed = true
      if wanted.kind == .spot, entries[market].place == nil { add(market, now: now, into: &batch) }
      if entries[market].fetched.map({ now - $0 >= Self.detailsAge }) ?? true {
        pacer.want(Subject.details(market).number)
      }
    }
    isListed = true
    hasList = true
    guard isConnected else { return }
    subscribeMissing(now)
    flush(now)
  }

  func take(_ details: GeminiDetails, of index: Int, now: Timestamp, into batch: inout EventBatch) {
    let market = entries[index]
    entries[index].fetched = now
    guard details.base.uppercased() == market.wanted.base, details.quote.uppercased() == market.wanted.quote else {
      return end(
        index, "Gemini's \(market.name) is \(details.base)-\(details.quote), not \(market.symbol)", into: &batch)
    }
    guard details.contract != "inverse" else {
      return end(
        index, "\(market.name) is an inverse contract: its sizes have no exact value in \(market.wanted.base)",
        into: &batch)
    }
    guard details.status != "closed" else { return end(index, "\(market.name) is closed at Gemini", into: &batch) }
    entries[index].details = details
    entries[index].isEnded = false
    add(index, now: now, into: &batch)
    guard market.isEnded, isConnected, let place = market.place else { return }
    feeds[place].isRefused = false
    subscribeMissing(now)
  }

  /// The market is not to be carried, now or later.
  func end(_ index: Int, _ reason: String, into batch: inout EventBatch) {
    entries[index].isEnded = true
    if let place = entries[index].place, !feeds[place].isRefused {
      if feeds[place].book.isLive { batch.events.append(.bookReset(InstrumentID(place), .venueReset)) }
      stop(place)
      if isConnected { outbox.append(Request(place: place, streams: streams(of: place), isEnd: true)) }
    }
    refuse(entries[index].symbol, reason)
  }

  /// The market is not to be carried on this connection.
  func stop(_ place: Int) {
    feeds[place].isRefused = true
    feeds[place].book.disconnected()
    feeds[place].tickerDue = .distantFuture
  }

  /// Adds a market, or brings it up to date with its details.
  private func add(_ index: Int, now: Timestamp, into batch: inout EventBatch) {
    let market = entries[index]
    let listed = ListedMarket(
      venueSymbol: market.name, symbol: market.wanted, priceIncrement: market.details?.priceIncrement,
      sizeIncrement: market.details?.sizeIncrement)
    let added = add(listed, for: market.symbol, into: &batch)
    guard let place = added, market.place == nil else { return }
    guard place == feeds.count else {
      let other = entries[feeds[place].entry].symbol
      return refuse(market.symbol, "Gemini's \(market.name) is carried as \(other): leave one of them out")
    }
    entries[index].place = place
    feeds.append(Feed(entry: index))
    guard isConnected else { return }
    subscribeMissing(now)
    flush(now)
  }
}
