import MarketData

/// Which names are asked for apart from others, by what a bad one costs at a venue (`DialectFacts.BadName`).
///
/// Where it costs its request, those that were refused before, or came after the others, are asked for by themselves.
/// Where the venue ends the connection, without a word: after an end that came right behind subscriptions, those of
/// names that it has not acknowledged are asked for one by one, and the one that it ends behind again and again is left
/// alone for a while.
///
/// By index; it outlives the connection. A value; time is a parameter.
struct SuspectSymbols {
  private struct Entry {
    /// Whether the venue has shown on this connection that it knows the name.
    var isKnown = false
    /// Ends of a connection that came right behind this symbol alone.
    var strikes = 0
    /// Asked for alone, because a connection ended behind it and others.
    var isSuspect = false
    /// Not asked for before this time, on any connection; nil for what may be.
    var shunnedUntil: Timestamp?
  }

  /// Whether a bad name has the whole request refused that it is in.
  let spoilRequests: Bool
  /// Where a bad name costs the connection.
  let limits: DialectFacts.FatalNames?
  /// Empty elsewhere.
  private var entries: [Entry] = []

  init(_ badName: DialectFacts.BadName) {
    switch badName {
    case .itself: (spoilRequests, limits) = (false, nil)
    case .itsRequest: (spoilRequests, limits) = (true, nil)
    case .itsConnection(let names): (spoilRequests, limits) = (false, names)
    }
  }

  /// Makes room for so many symbols.
  mutating func grow(to symbols: Int) {
    guard limits != nil else { return }
    while entries.count < symbols { entries.append(Entry()) }
  }

  func isSuspect(_ index: Int) -> Bool { limits != nil && entries[index].isSuspect }
  func isShunned(_ index: Int) -> Bool { limits != nil && entries[index].shunnedUntil != nil }

  /// The venue knows the name. True if it was a suspect until now.
  @inline(__always)
  mutating func prove(_ index: Int) -> Bool {
    guard limits != nil, !entries[index].isKnown else { return false }
    entries[index].isKnown = true
    entries[index].strikes = 0
    defer { entries[index].isSuspect = false }
    return entries[index].isSuspect
  }

  /// The connection is gone, right behind subscriptions of these symbols that were not answered. Returns the one that
  /// is to be left alone from now on.
  mutating func disconnected(behind indices: [Int], now: Timestamp) -> Int? {
    guard let limits else { return nil }
    let blamed = indices.filter { !entries[$0].isKnown }
    for index in blamed { entries[index].isSuspect = true }
    for index in entries.indices { entries[index].isKnown = false }
    guard blamed.count == 1, let index = blamed.first else { return nil }
    entries[index].strikes += 1
    guard entries[index].strikes >= limits.strikes else { return nil }
    entries[index].shunnedUntil = now + limits.rest
    return index
  }

  /// Who of these is asked for next: the one that has ended the fewest connections.
  func next(among indices: [Int]) -> Int? {
    indices.filter(isSuspect).min { entries[$0].strikes < entries[$1].strikes }
  }

  /// Somebody asks for it again: after its rest it is, alone, and one end is enough.
  mutating func release(_ index: Int, now: Timestamp) {
    guard let limits, let until = entries[index].shunnedUntil, now >= until else { return }
    entries[index] = Entry(strikes: limits.strikes - 1, isSuspect: true)
  }

  /// Why a name is left alone, for people.
  func reason(_ name: String, venue: String) -> String {
    guard let limits else { return "" }
    return
      "\(venue) closed the connection \(limits.strikes) times right after the subscription to \(name), which is not subscribed again for \(limits.rest / Microseconds.hour) h"
  }
}
