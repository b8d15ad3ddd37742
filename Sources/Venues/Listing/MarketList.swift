import Bytes
import MarketData

/// What a handler has to know of its venue's list beyond the symbols that were named: the selections among them, the
/// 24 h volumes that ranks and listings want, and the list itself where it is asked for.
struct MarketList {
  /// Volumes are this old at most when a connection is prepared.
  static let volumeAge = 5 * Microseconds.minute
  /// Attempts after which a listing does without volumes. A rank cannot: it is asked for until it comes.
  static let attemptLimit = 3
  /// Markets that a list may have; the longest ones have some thousands.
  static let longest = 100_000

  /// The configured symbols that are no selections, in their order.
  let named: [String]
  let selections: [MarketSelection]
  /// Selections that are none, with the reason.
  let malformed: [(text: String, reason: String)]
  let detail: ListingDetail
  /// Markets that one connection may carry.
  let limit: Int

  /// The whole list, where `detail` asks for it.
  fileprivate(set) var markets: [ListedMarket] = []
  /// What the selections came to, in the order in which it was chosen. It only grows: who follows a market keeps it.
  fileprivate(set) var selected: [String] = []
  fileprivate var chosen: Set<String>
  /// Selections that were refused, or of which something was left out.
  fileprivate var wanting: Set<String> = []
  fileprivate var volumes: [String: Decimal64] = [:]
  fileprivate var volumesRead: Timestamp?
  /// Which of the requests for volumes is next.
  fileprivate var next = 0
  fileprivate var request: Int?
  fileprivate var requests = 0
  fileprivate var due = Timestamp.distantPast
  fileprivate var failures = Backoff(first: Microseconds.second, limit: 30 * Microseconds.second)

  init(_ configuration: FeedConfiguration, limit: Int) {
    var selections: [MarketSelection] = []
    var malformed: [(String, String)] = []
    var named: [String] = []
    for text in configuration.symbols {
      guard MarketSelection.isMeant(by: text) else {
        named.append(text)
        continue
      }
      do throws(MarketSelectionError) {
        selections.append(try MarketSelection(text))
      } catch {
        malformed.append((text, error.description))
      }
    }
    self.named = named
    self.selections = selections
    self.malformed = malformed
    self.detail = configuration.listing
    self.limit = limit
    // What another connection of the feed carries is not carried twice.
    chosen = Set(named).union(configuration.elsewhere)
  }

  var isRanked: Bool { selections.contains { $0.rank != nil } }
  var isWanted: Bool { detail != .none || !selections.isEmpty }
  var wantsVolumes: Bool { detail == .volumes || isRanked }
}

extension SymbolHandler {
  /// Whether the venue's whole list is wanted: by a selection or a listing. Where single markets can be asked for by
  /// name, the whole list is asked for instead.
  final var wantsWholeList: Bool { marketList.isWanted }

  /// The kinds of market that are asked for: those of the named symbols and of the selections, and all where the list
  /// is kept.
  final var wantedFamilies: Set<Instrument.Kind.Family> {
    if marketList.detail != .none { return venue.kinds }
    return venue.kinds.filter { family in
      marketList.selections.contains { $0.mayHold(family) }
        || marketList.named.contains { FeedSymbol($0)?.kind.family == family }
    }
  }

  /// The symbols to carry: those that were named, and behind them what the selections came to. Complete once `list`
  /// was called.
  final var symbols: [String] { marketList.named + marketList.selected }

  /// Takes the venue's whole list: finds what is configured in it, adds that, and refuses what is not there or cannot
  /// be carried.
  ///
  /// - Parameters:
  ///   - markets: where two have one symbol, the one that was meant before is, else the first.
  ///   - isListed: whether a market is to be chosen by a selection and shown.
  /// - Returns: the places of what is configured and carried, what was live and goes on among them. O(markets +
  ///   symbols × instruments).
  @discardableResult
  final func carry(
    _ markets: [ListedMarket], listing isListed: (ListedMarket) -> Bool = { _ in true }, into batch: inout EventBatch
  ) -> Set<Int> {
    list(markets.filter(isListed))
    let bySymbol = Dictionary(markets.lazy.map { ($0.symbol, $0) }, uniquingKeysWith: { first, _ in first })
    let known = instruments.count
    var places: Set<Int> = []
    for symbol in symbols {
      guard let wanted = wanted(symbol) else { continue }
      let present = place(of: wanted)
      if let place = present, place < known, isLive(place) {
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
      guard market.state == .trading || carriesHalted else {
        refuse(symbol, "\(symbol) is listed at \(venue.title) but not traded")
        continue
      }
      if let reason = refusal(of: market, for: symbol) {
        refuse(symbol, reason)
        continue
      }
      guard let market = carried(market) else { continue }
      if let place = add(market, for: symbol, into: &batch) {
        places.insert(place)
      }
    }
    return places
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

  /// Takes the venue's whole list, once it is there and before `symbols` is looked at. `markets` is made only if it
  /// is wanted.
  final func list(_ markets: @autoclosure () -> [ListedMarket]) {
    for (text, reason) in marketList.malformed { refuseForGood(text, "\(text) is not a selection: \(reason)") }
    guard wantsWholeList else { return }
    var markets = markets()
    if !marketList.volumes.isEmpty {
      for index in markets.indices { markets[index].quoteVolume = marketList.volumes[markets[index].venueSymbol] }
    }
    for selection in marketList.selections { select(selection, among: markets) }
    marketList.markets = marketList.detail == .none ? [] : markets
    marketList.volumes = [:]
  }

  private func select(_ selection: MarketSelection, among markets: [ListedMarket]) {
    guard selection.rank == nil || markets.isEmpty || markets.contains(where: { $0.quoteVolume != nil }) else {
      return refuse(
        selection.text,
        "\(venue.title) does not list what its markets trade in a day, so none is above the others: leave :top out, or name the markets"
      )
    }
    let found = selection.choose(from: markets)
    guard !found.isEmpty else {
      if !marketList.selected.contains(where: { FeedSymbol($0).map(selection.matches) ?? false }) {
        marketList.wanting.insert(selection.text)
        refuse(selection.text, "\(venue.title) lists no market that is \(selection.text)")
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
      "\(selection.text) is \(found.count) markets, and a connection to \(venue.title) carries \(marketList.limit): \(left) are left out; write \(selection.narrowed(to: marketList.limit))"
    )
  }

  // MARK: Volumes

  /// Whether `prepare` may go on to the list: the 24 h volumes are there, or nobody wants them. Asks for them if not.
  final func hasVolumes(now: Timestamp) -> Bool {
    let requests = volumeRequests
    guard marketList.wantsVolumes, !requests.isEmpty else { return true }
    if let read = marketList.volumesRead, now - read < MarketList.volumeAge { return true }
    if marketList.request != nil, now >= marketList.due {
      marketList.request = nil
      volumesFailed(now)
      return hasVolumes(now: now)
    }
    guard marketList.request == nil, now >= marketList.due else { return false }
    marketList.requests += 1
    // Below zero, where no handler's own requests are.
    marketList.request = -marketList.requests
    marketList.due = now + RequestPacer.answerTimeout
    let next = requests[min(marketList.next, requests.count - 1)]
    actions.append(.get(request: -marketList.requests, path: next, bodyLimit: Self.volumesLimit))
    return false
  }

  /// Takes an answer that is one of the volumes'; false if it is none. The caller goes on with `prepare`.
  final func takeVolumes(_ request: Int, status: Int, body: RawSpan, now: Timestamp) -> Bool {
    guard request < 0 else { return false }
    guard request == marketList.request else { return true }
    marketList.request = nil
    do throws(FeedError) {
      guard status == 200 else { throw FeedError(.refused, "status \(status)") }
      if marketList.next == 0 { marketList.volumes = [:] }
      try readVolumes(body, of: marketList.next, into: &marketList.volumes)
      marketList.next += 1
      marketList.due = now
      if marketList.next >= volumeRequests.count {
        marketList.next = 0
        marketList.volumesRead = now
        marketList.failures.reset()
      }
    } catch {
      rejectAnswer(error)
      volumesFailed(now, status: status)
    }
    return true
  }

  final func readVolumes(
    _ reader: inout FieldReader, of nameField: StaticString, _ volumeField: StaticString,
    into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try reader.volumes(of: nameField, volumeField, into: &volumes)
  }

  final func note(
    _ volume: Decimal64?, of name: String, in volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try MarketList.note(volume, of: name, in: &volumes)
  }

  private func volumesFailed(_ now: Timestamp, status: Int = 0) {
    marketList.next = 0
    let wait = marketList.failures.next()
    marketList.due = now + ListRequest.wait(status: status, retryAfter: retryAfter, wait)
    // What a rank came to before goes on; what is to be shown only is shown without.
    let isNeeded = marketList.isRanked && marketList.selected.isEmpty
    if !isNeeded, marketList.failures.failures >= MarketList.attemptLimit || !marketList.selected.isEmpty {
      marketList.volumesRead = now
      marketList.failures.reset()
    }
  }
}

extension MarketList {
  /// What a market's 24 h volume is, by the venue's own name of it.
  static func note(
    _ volume: Decimal64?, of name: String, in volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    guard let volume, !name.isEmpty else { return }
    volumes[name] = volume
    guard volumes.count <= longest else {
      throw FeedError(.shape, "24 h volumes of more than \(longest) markets")
    }
  }
}

extension FieldReader {
  /// Reads an array of objects, each with a market's name in one field and its volume of 24 h, in the quote currency,
  /// in another.
  mutating func volumes(
    of nameField: StaticString, _ volumeField: StaticString, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try arrayStart()
    while try nextElement() {
      var name = ""
      var volume: Decimal64?
      try objectStart()
      while let key = try nextKey() {
        if equals(key, nameField) {
          name = try decodedString(nameField)
        } else if equals(key, volumeField) {
          volume = try statistic(volumeField)
        } else {
          try skipValue()
        }
      }
      try MarketList.note(volume, of: name, in: &volumes)
    }
  }
}
