import Transport

/// The HTTP sessions of one loop. Each has an index, so that they can be checked in rotation, a few at a time: checking
/// ten thousand in one turn keeps all other clients waiting for 10 ms.
package struct HTTPSessionTable {
  private struct Place {
    var session: HTTPSession?
    /// The session's part of `queuedBytes`.
    var queuedBytes = 0
  }

  private var places: [Place] = []
  private var vacant: [Int] = []
  private var placeOf: [ObjectIdentifier: Int] = [:]
  private var cursor = 0

  /// Bytes of answers that the clients have not taken, each as of its last check.
  package private(set) var queuedBytes = 0

  package init() {}

  /// Places, vacant ones included: the number of checks in a round.
  package var placeCount: Int { places.count }
  package var sessions: some Sequence<HTTPSession> { places.lazy.compactMap(\.session) }

  /// O(1) amortised.
  package mutating func add(_ session: HTTPSession, for connection: Connection) {
    let place = vacant.popLast() ?? places.count
    if place == places.count { places.append(Place()) }
    places[place].session = session
    let replaced = placeOf.updateValue(place, forKey: ObjectIdentifier(connection))
    precondition(replaced == nil, "a connection has one HTTP session")
  }

  /// Forgets the session of a connection, if it has one. O(1) amortised.
  package mutating func remove(for connection: Connection) {
    guard let place = placeOf.removeValue(forKey: ObjectIdentifier(connection)) else { return }
    queuedBytes -= places[place].queuedBytes
    places[place] = Place()
    vacant.append(place)
    guard placeOf.isEmpty else { return }
    // After a flood, give the memory back.
    places = []
    vacant = []
    cursor = 0
  }

  /// The session whose turn it is, nil at a vacant place; counts what it has queued. O(1).
  package mutating func next() -> HTTPSession? {
    guard !places.isEmpty else { return nil }
    cursor = cursor + 1 < places.count ? cursor + 1 : 0
    guard let session = places[cursor].session else { return nil }
    queuedBytes += session.queuedBytes - places[cursor].queuedBytes
    places[cursor].queuedBytes = session.queuedBytes
    return session
  }

  /// Counts again what all have queued. O(places).
  package mutating func recount() { for _ in places.indices { _ = next() } }
}
