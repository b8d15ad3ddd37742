/// Which items a client asks for as groups, and which the gateway refused as such.
///
/// A group is one stream of several symbols with one message a tick, so that a watchlist wakes an app ten times a
/// second and not for each of its symbols. A gateway that has no groups, or no room for one more, is asked for each
/// symbol.
struct GroupChoice: Sendable {
  private let isOn: Bool
  /// The version of the gateway, and of one that has no groups.
  private var version: String?
  private var versionWithout: String?
  /// The items that were refused as members of a group on this connection.
  private var alone: Set<StreamItem> = []

  init(isOn: Bool) { self.isOn = isOn }

  /// The gateway has said its version.
  mutating func meet(_ version: String) {
    self.version = version
    if version != versionWithout { versionWithout = nil }
  }

  /// Forgets the connection.
  mutating func reset() { alone.removeAll() }

  /// The items of a request that are asked for as groups.
  /// - Parameter cadence: replaces the items' own, ms.
  func choose(_ items: [StreamItem], cadence: Int?) -> Set<StreamItem> {
    guard isOn, versionWithout == nil else { return [] }
    var sets: [StreamItem: [StreamItem]] = [:]
    for item in items where Self.isPossible(item, cadence: cadence) && !alone.contains(item) {
      sets[item.of(""), default: []].append(item)
    }
    return Set(sets.values.filter { $0.count > 1 || $0[0].symbol.contains("*") }.flatMap(\.self))
  }

  /// Whether the channel has groups, at a rate at which several members share a message. A composite market cannot be a
  /// member.
  private static func isPossible(_ item: StreamItem, cadence: Int?) -> Bool {
    guard !item.symbol.hasPrefix("composite:") else { return false }
    let cadence = cadence ?? item.cadence
    return switch item.channel {
    case .pulse: true
    case .ticker, .sparkline: cadence != 0
    case .quote: cadence ?? 0 > 0
    case .book: cadence ?? 0 > 0 && item.depth != .full && item.depth != .levels100
    default: false
    }
  }

  /// The items that have to be asked for alone, because the answer has no group with them.
  mutating func refused(
    _ grouped: Set<StreamItem>, ok: [ServerMessage.Accepted], failed: [ServerMessage.Failure]
  ) -> [StreamItem] {
    guard !grouped.isEmpty else { return [] }
    let names = AskedItems(Array(grouped))
    // Of what is granted, or will be later, nothing is asked for again.
    var answered: Set<StreamItem> = []
    var channels: Set<String> = []
    for accepted in ok {
      channels.insert(accepted.channel)
      for symbol in accepted.symbols.isEmpty ? [accepted.symbol] : accepted.symbols {
        answered.formUnion(names.matching(accepted.channel, symbol))
      }
    }
    for failure in failed {
      let isRefusalOfSymbol = channels.contains(failure.channel) || failure.retryAfterMilliseconds != nil
      if isRefusalOfSymbol { answered.formUnion(names.matching(failure.channel, failure.symbol)) }
      // An older gateway does not know the field.
      if channels.isEmpty, failure.code == "bad_request" { versionWithout = version ?? "" }
    }
    let alone = grouped.subtracting(answered)
    self.alone.formUnion(alone)
    return alone.sorted { ($0.channel.rawValue, $0.symbol) < ($1.channel.rawValue, $1.symbol) }
  }
}

/// A group of this connection.
struct ClientGroup: Sendable {
  /// The members, in order.
  var symbols: [String]
  var seq: UInt64?
  /// The streams of each member.
  var keys: [String: [StreamItem]] = [:]

  init(symbols: [String], seq: UInt64?) { (self.symbols, self.seq) = (symbols, seq) }

  mutating func add(_ key: StreamItem) { keys[key.symbol, default: []].append(key) }
}
