import Bytes

/// The subscriptions of a client, which outlive its connections: each connection subscribes to all of them.
///
/// The number on the wire holds an index and a generation, so that a message for an ended subscription, which may still
/// be on its way, is not taken for one of its successor.
package struct NATSSubscriptions {
  private struct Slot {
    var generation: UInt32
    var pattern: NATSSubjectPattern?
    var tag: Int
  }

  /// The most subscriptions at a time.
  package let limit: Int
  package private(set) var count = 0
  private var slots: [Slot] = []
  private var free: [Int] = []

  /// Bits of the index; the generation is above them and wraps around after 2³².
  private static let indexBits: UInt64 = 24

  /// - Parameter limit: at most 2²⁴.
  package init(limit: Int = 100_000) {
    precondition(limit > 0 && limit <= 1 << Int(Self.indexBits))
    self.limit = limit
  }

  /// Adds a subscription and returns its number; nil if there are `limit` already. If a connection is established,
  /// `NATSEncoder.subscribe` must follow.
  /// - Parameter tag: what `tag(of:)` returns for its messages.
  package mutating func add(_ pattern: NATSSubjectPattern, tag: Int) -> UInt64? {
    guard count < limit else { return nil }
    count += 1
    let index: Int
    if let reused = free.popLast() {
      index = reused
    } else {
      index = slots.count
      slots.append(Slot(generation: 0, pattern: nil, tag: 0))
    }
    slots[index].pattern = pattern
    slots[index].tag = tag
    return number(index)
  }

  /// Ends a subscription; false if there is none of that number.
  package mutating func remove(_ number: UInt64) -> Bool {
    guard let index = index(number) else { return false }
    slots[index].pattern = nil
    slots[index].generation &+= 1
    free.append(index)
    count -= 1
    return true
  }

  /// The tag of the subscription of that number; nil if it has ended. O(1).
  package func tag(of number: UInt64) -> Int? { index(number).map { slots[$0].tag } }

  /// Appends a `SUB` for each, after a connection has been established.
  package func appendAll(to output: inout ByteBuffer) {
    for index in slots.indices {
      if let pattern = slots[index].pattern {
        NATSEncoder.subscribe(pattern, number: number(index), to: &output)
      }
    }
  }

  private func number(_ index: Int) -> UInt64 { UInt64(slots[index].generation) << Self.indexBits | UInt64(index) }

  private func index(_ number: UInt64) -> Int? {
    let index = Int(number & (1 << Self.indexBits - 1))
    guard index < slots.count, slots[index].pattern != nil, UInt64(slots[index].generation) == number >> Self.indexBits
    else { return nil }
    return index
  }
}
