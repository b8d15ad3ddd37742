import MarketData

/// Clients that reconnected soon after a restart, before their streams existed again. They join their streams when
/// these exist, at `end` at the latest.
struct ResumeWaits {
  /// How long after the start clients wait at most, µs.
  static let time = 5 * Microseconds.second

  struct Entry {
    var client: ClientID
    /// The client's request.
    var request: UInt32
    /// The missing symbols, and missing venues with a colon.
    var wanted: Set<String>
  }

  /// When the waiting ends for all clients, in steady time.
  var end = Timestamp.distantPast
  /// Symbols whose streams continue when the symbols are listed.
  var expected: Set<String> = []
  var entries: [Entry] = []
}

extension SubscriberHub {
  /// For a few seconds from now on, resuming clients get their answer only when these symbols, and the venues of
  /// others, are listed. So a restart is a delay for them, not an error.
  package func expect(_ symbols: Set<String>, now: Timestamp) {
    departures.waits.end = steady(now) + ResumeWaits.time
    departures.waits.expected = symbols
  }

  /// Joins the streams that a client resumes, now or when they exist.
  func joinWhenThere(
    _ pending: PendingRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    let wanted = steady(now) < departures.waits.end ? missing(in: pending.resume.positions) : []
    guard wanted.isEmpty else {
      return departures.waits.entries.append(.init(client: client, request: pending.number, wanted: wanted))
    }
    join(pending.resume.positions, pending, client, state, now: now, into: &actions)
  }

  /// The missing symbols and venues of these items. O(items).
  private func missing(in items: [ClientRequest.Item]) -> Set<String> {
    var wanted: Set<String> = []
    for symbol in items.lazy.flatMap(\.symbols) where directory.entries[symbol] == nil {
      if departures.waits.expected.contains(symbol) {
        wanted.insert(symbol)
      } else if resolver.notReady(symbol) != nil {
        wanted.insert(symbol.prefix { $0 != ":" } + ":")
      }
    }
    return wanted
  }

  /// Joins for clients whose streams exist now, or that have waited long enough. O(waiting).
  func joinWaiting(now: Timestamp, into actions: inout [HubAction]) {
    guard !departures.waits.entries.isEmpty else { return }
    let isOver = steady(now) >= departures.waits.end
    let entries = departures.waits.entries
    departures.waits.entries = []
    for var entry in entries {
      guard let state = state(of: entry.client), let pending = state.requests.pending, pending.number == entry.request
      else { continue }
      entry.wanted = entry.wanted.filter { name in
        name.hasSuffix(":")
          ? resolver.notReady(name) != nil
          : directory.entries[name] == nil
      }
      if isOver || entry.wanted.isEmpty {
        join(pending.resume.positions, pending, entry.client, state, now: now, into: &actions)
      } else {
        departures.waits.entries.append(entry)
      }
    }
  }
}
