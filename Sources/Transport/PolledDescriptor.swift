/// A descriptor in the poller of a loop. The loop retains it, in its own slot, until it is released.
package class PolledDescriptor {
  @exclusivity(unchecked) final var descriptor: Int32
  /// The index in the loop's table; -1 if it is not in it.
  @exclusivity(unchecked) final var slot: Int32 = -1
  /// The turn in which it stopped before it had read everything; 0: none. Used by the loop
  /// (`EventLoop.markUnfinished`).
  @exclusivity(unchecked) final var unfinishedTurn: UInt32 = 0

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Handles events of the poller; on the loop.
  func ready(_ readiness: Readiness) { preconditionFailure("a watched descriptor says what it does when it is ready") }

  /// Sends the bytes that were queued in this turn, if any; on the loop.
  func flushIfDirty() {}

  /// Releases the descriptor and the slot, because the loop ends; on the loop.
  func loopEnds() { preconditionFailure("a watched descriptor says how it ends with its loop") }
}

/// The watched descriptors of a loop. A slot has a generation that changes with its release. So a late event of a
/// closed descriptor cannot reach the next owner of the slot, or of the descriptor's number.
struct DescriptorTable: ~Copyable {
  private struct Slot {
    var generation: UInt32
    var occupant: PolledDescriptor?
  }

  private var slots: UnsafeMutablePointer<Slot>
  private var capacity: Int
  private var used = 0
  private var free: ContiguousArray<Int32> = []

  init() {
    capacity = 64
    slots = .allocate(capacity: capacity)
  }

  deinit {
    slots.deinitialize(count: used)
    slots.deallocate()
  }

  /// The number of watched descriptors.
  var count: Int { used - free.count }

  /// Gives `occupant` a slot; its events carry the token. Amortised O(1).
  mutating func insert(_ occupant: PolledDescriptor) -> UInt64 {
    let index: Int
    if let reused = free.popLast() {
      index = Int(reused)
      slots[index].occupant = occupant
    } else {
      if used == capacity { grow() }
      index = used
      (slots + index).initialize(to: Slot(generation: 0, occupant: occupant))
      used += 1
    }
    occupant.slot = Int32(index)
    return UInt64(slots[index].generation) << 32 | UInt64(index)
  }

  /// Puts `occupant` into the slot of `previous`: the same descriptor continues with another owner.
  mutating func replace(_ previous: PolledDescriptor, with occupant: PolledDescriptor) {
    occupant.slot = previous.slot
    previous.slot = -1
    slots[Int(occupant.slot)].occupant = occupant
  }

  mutating func remove(_ occupant: PolledDescriptor) {
    guard occupant.slot >= 0 else { return }
    let index = Int(occupant.slot)
    occupant.slot = -1
    slots[index].generation &+= 1
    slots[index].occupant = nil
    free.append(Int32(index))
  }

  /// The token of no occupant.
  static let nobody = UInt64.max

  /// The token of an occupant's events; nil if it is not in the table.
  func token(of occupant: PolledDescriptor) -> UInt64? {
    guard occupant.slot >= 0 else { return nil }
    return UInt64(slots[Int(occupant.slot)].generation) << 32 | UInt64(occupant.slot)
  }

  /// The occupant of an event; nil if it has been released.
  @inline(__always)
  func occupant(token: UInt64) -> PolledDescriptor? {
    let index = Int(UInt32(truncatingIfNeeded: token))
    guard index < used, slots[index].generation == UInt32(truncatingIfNeeded: token >> 32) else { return nil }
    return slots[index].occupant
  }

  /// The occupant of a slot; nil if the slot is free, or was released before it was noted (-1).
  @inline(__always)
  func occupant(at slot: Int32) -> PolledDescriptor? { slot >= 0 ? slots[Int(slot)].occupant : nil }

  /// All occupants. O(n).
  func all() -> [PolledDescriptor] {
    (0..<used).compactMap { slots[$0].occupant }
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Slot>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: slots, count: used)
    slots.deallocate()
    slots = larger
    capacity *= 2
  }
}

/// Indices of slots that need a flush or another read.
struct SlotList: ~Copyable {
  private var base: UnsafeMutablePointer<Int32>
  private var capacity: Int
  private(set) var count = 0

  init() {
    capacity = 64
    base = .allocate(capacity: capacity)
  }

  deinit { base.deallocate() }

  @inline(__always)
  mutating func append(_ slot: Int32) {
    if count == capacity { grow() }
    base[count] = slot
    count &+= 1
  }

  @inline(__always)
  subscript(index: Int) -> Int32 { base[index] }

  /// Drops the first `count`. O(rest).
  mutating func removeFirst(_ dropped: Int) {
    let rest = count - dropped
    if rest > 0 { base.update(from: base + dropped, count: rest) }
    count = rest
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Int32>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: base, count: count)
    base.deallocate()
    base = larger
    capacity *= 2
  }
}
