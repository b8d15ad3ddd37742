import Bytes
import MarketData

/// What an engine has to know of its venue's list beyond the symbols that were named: the selections among them, the
/// 24 h volumes that ranks and listings want, and the list itself where it is asked for.
struct MarketList {
  /// Volumes are this old at most when a connection is prepared.
  static let volumeAge = 5 * Microseconds.minute
  /// Attempts after which a listing does without volumes. A rank cannot: it is asked for until it comes.
  static let attemptLimit = 3
  /// Bytes that the 24 h volumes of all markets have at most: some 3,000 of 600 bytes at the largest venue.
  static let volumesLimit = 16 << 20
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
  private(set) var markets: [ListedMarket] = []
  /// What the selections came to, in the order in which it was chosen. It only grows: who follows a market keeps it.
  private(set) var selected: [String] = []
  private var chosen: Set<String>
  /// Selections that were refused, or of which something was left out.
  private var wanting: Set<String> = []
  private var volumes = MarketVolumes()
  private var volumesRead: Timestamp?
  /// Which of the requests for volumes is next.
  private var next = 0
  private var request: Int?
  private var requests = 0
  private var due = Timestamp.distantPast
  private var failures = Backoff(first: Microseconds.second, limit: 30 * Microseconds.second)

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
    // What another connection of the feed carries is not followed twice.
    chosen = Set(named).union(configuration.elsewhere)
  }

  var isRanked: Bool { selections.contains { $0.rank != nil } }
  var isWanted: Bool { detail != .none || !selections.isEmpty }
  var wantsVolumes: Bool { detail == .volumes || isRanked }

  /// The symbols to carry: those that were named, and behind them what the selections came to. Complete once `take`
  /// was called.
  var symbols: [String] { named + selected }

  // MARK: Selections

  /// What became of a selection.
  enum SelectionResult {
    case accepted(String)
    case refused(String, reason: String)
  }

  /// Takes the venue's whole list, once it is there and before `symbols` is looked at: what the selections come to.
  mutating func take(_ listed: [ListedMarket], of venue: Venue) -> [SelectionResult] {
    var markets = listed
    let volumes = volumes.byName
    if !volumes.isEmpty {
      for index in markets.indices { markets[index].quoteVolume = volumes[markets[index].venueSymbol] }
    }
    let results = selections.compactMap { select($0, among: markets, of: venue) }
    self.markets = detail == .none ? [] : markets
    self.volumes = MarketVolumes()
    return results
  }

  private mutating func select(
    _ selection: MarketSelection, among markets: [ListedMarket], of venue: Venue
  ) -> SelectionResult? {
    let text = selection.text
    guard selection.rank == nil || markets.isEmpty || markets.contains(where: { $0.quoteVolume != nil }) else {
      return .refused(
        text,
        reason:
          "\(venue.title) publishes no 24 h volumes, so its markets cannot be ranked: leave :top out, or name the markets"
      )
    }
    let found = selection.choose(from: markets)
    guard !found.isEmpty else {
      guard !selected.contains(where: { FeedSymbol($0).map(selection.matches) ?? false }) else { return nil }
      wanting.insert(text)
      return .refused(text, reason: "\(venue.title) has no market for \(text)")
    }
    let new = found.map(\.symbol.text).filter { !chosen.contains($0) }
    let room = max(0, limit - named.count - selected.count)
    let taken = Array(new.prefix(room))
    let left = new.count - taken.count
    selected += taken
    chosen.formUnion(taken)
    guard left > 0 else { return wanting.remove(text) != nil ? .accepted(text) : nil }
    wanting.insert(text)
    return .refused(
      text,
      reason:
        "\(text) selects \(found.count) markets, and a connection to \(venue.title) holds \(limit): \(left) are left out; write \(selection.narrowed(to: limit))"
    )
  }

  // MARK: Volumes

  /// What the 24 h volumes hold up.
  enum VolumeStep {
    /// They are there, or nobody wants them.
    case none
    /// An answer is awaited, or the time of the next request.
    case waits
    case asks(path: String, request: Int)
  }

  /// The next step towards the volumes, which precede the request for the list.
  /// - Parameter listings: every list of volumes to request.
  mutating func volumeStep(_ listings: [VolumeListing], now: Timestamp) -> VolumeStep {
    guard wantsVolumes, !listings.isEmpty else { return .none }
    if let read = volumesRead, now - read < Self.volumeAge { return .none }
    if request != nil, now >= due {
      request = nil
      volumesFailed(.none, now: now)
      return volumeStep(listings, now: now)
    }
    guard request == nil, now >= due else { return .waits }
    requests += 1
    // Below zero, where no other requests are.
    request = -requests
    due = now + RequestPacer.answerTimeout
    return .asks(path: listings[min(next, listings.count - 1)].path, request: -requests)
  }

  /// Takes an answer to one of those requests.
  mutating func takeVolumes(
    _ request: Int, _ status: AnswerStatus, _ body: RawSpan, _ listings: [VolumeListing], now: Timestamp
  ) throws(FeedError) {
    guard request == self.request else { return }
    self.request = nil
    do throws(FeedError) {
      try status.check()
      if next == 0 { volumes = MarketVolumes() }
      try listings[next].read(body, &volumes)
      next += 1
      due = now
      if next >= listings.count {
        next = 0
        volumesRead = now
        failures.reset()
      }
    } catch {
      volumesFailed(status, now: now)
      throw error
    }
  }

  private mutating func volumesFailed(_ status: AnswerStatus, now: Timestamp) {
    next = 0
    due = now + ListRequest.wait(status: status.code, retryAfter: status.retryAfter, failures.next())
    // Markets that a rank selected before stay followed; a listing for people goes on without volumes.
    let isNeeded = isRanked && selected.isEmpty
    if !isNeeded, failures.attempts >= Self.attemptLimit || !selected.isEmpty {
      volumesRead = now
      failures.reset()
    }
  }
}
