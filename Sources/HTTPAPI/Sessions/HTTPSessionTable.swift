import Transport

/// The HTTP sessions of one loop. Each has an slot, so that they can be checked in rotation, a few at a time: checking
/// ten thousand in one turn keeps all other clients waiting for 10 ms.
package struct HTTPSessionTable {
  private struct Slot {
    var session: HTTPSession?
    /// The session's part of `queuedBytes`.
    var queuedBytes = 0
  }

  private var slots: [Slot] = []
  private var vacant: [Int] = []
  private var slotOf: [ObjectIdentifier: Int] = [:]
  private var cursor = 0

  /// Bytes of answers that the clients have not taken, each as of its last check.
  package private(set) var queuedBytes = 0

  package init() {}

  /// Places, vacant ones included: the number of checks in a round.
  package var slotCount: Int { slots.count }
  package var sessions: some Sequence<HTTPSession> { slots.lazy.compactMap(\.session) }

  /// O(1) amortised.
  package mutating func add(_ session: HTTPSession, for connection: Connection) {
    let slot = vacant.popLast() ?? slots.count
    if slot == slots.count { slots.append(Slot()) }
    slots[slot].session = session
    let replaced = slotOf.updateValue(slot, forKey: ObjectIdentifier(connection))
    precondition(replaced == nil, "a connection has one HTTP session")
  }

  /// Forgets the session of a connection, if it has one. O(1) amortised.
  package mutating func remove(for connection: Connection) {
    guard let slot = slotOf.removeValue(forKey: ObjectIdentifier(connection)) else { return }
    queuedBytes -= slots[slot].queuedBytes
    slots[slot] = Slot()
    vacant.append(slot)
    guard slotOf.isEmpty else { return }
    // After a flood, give the memory back.
    slots = []
    vacant = []
    cursor = 0
  }

  /// The session whose turn it is, nil at a vacant slot; counts what it has queued. O(1).
  package mutating func next() -> HTTPSession? {
    guard !slots.isEmpty else { return nil }
    cursor = cursor + 1 < slots.count ? cursor + 1 : 0
    guard let session = slots[cursor].session else { return nil }
    queuedBytes += session.queuedBytes - slots[cursor].queuedBytes
    slots[cursor].queuedBytes = session.queuedBytes
    return session
  }

  /// Counts again what all have queued. O(slots).
  package mutating func recount() { for _ in slots.indices { _ = next() } }
}
