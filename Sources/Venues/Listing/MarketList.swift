import Bytes
import MarketData

/// What a handler has to know of its venue's list beyond the symbols that were named: the selections among them, the
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
  var markets: [ListedMarket] = []
  /// What the selections came to, in the order in which it was chosen. It only grows: who follows a market keeps it.
  var selected: [String] = []
  var chosen: Set<String>
  /// Selections that were refused, or of which something was left out.
  var wanting: Set<String> = []
  var volumes = MarketVolumes()
  var volumesRead: Timestamp?
  /// Which of the requests for volumes is next.
  var next = 0
  var request: Int?
  var requests = 0
  var due = Timestamp.distantPast
  var failures = Backoff(first: Microseconds.second, limit: 30 * Microseconds.second)

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

/// The parts of a list that have come by REST.
struct ListPages {
  var markets: [ListedMarket] = []
  var names: Set<String> = []
  var count = 0
  var cursor: String?
}
