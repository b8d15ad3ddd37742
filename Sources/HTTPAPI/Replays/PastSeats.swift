import Synchronization

/// How many clients may follow recorded time at once, of one owner and together. Each holds a replayer, with the books
/// of a whole recording, and takes turns on one thread.
package final class PastSeats: Sendable {
  /// The most at once. More would share one processor in too small parts.
  package static let limit = 16
  /// The most of one key, or of one address where there are no keys.
  package static let ownerLimit = 4

  /// Why there is no seat.
  package enum Refusal: Error { case all, owner }

  /// A client's place. It is free again when the last reference is gone.
  package final class Seat: Sendable {
    private let seats: PastSeats
    private let owner: String

    fileprivate init(_ seats: PastSeats, _ owner: String) { (self.seats, self.owner) = (seats, owner) }

    deinit { seats.leave(owner) }
  }

  /// Seats taken, by owner.
  private let taken = Mutex<[String: Int]>([:])

  package init() {}

  /// Seats that are taken.
  package var count: Int { taken.withLock { $0.values.reduce(0, +) } }

  package func take(_ owner: String) throws(Refusal) -> Seat {
    let refusal = taken.withLock { taken -> Refusal? in
      if taken[owner, default: 0] >= Self.ownerLimit { return .owner }
      if taken.values.reduce(0, +) >= Self.limit { return .all }
      taken[owner, default: 0] += 1
      return nil
    }
    if let refusal { throw refusal }
    return Seat(self, owner)
  }

  private func leave(_ owner: String) {
    taken.withLock { taken in
      let left = taken[owner, default: 1] - 1
      taken[owner] = left > 0 ? left : nil
    }
  }
}
