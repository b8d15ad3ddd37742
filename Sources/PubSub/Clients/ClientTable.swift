import Bytes
import MarketData

/// The part of a client that every frame looks at; all else is in `ClientState`.
struct ClientSlot {
  struct Flags: OptionSet {
    let rawValue: UInt8
    /// The connection did not take all: state messages are merged with what waits.
    static let blocked = Flags(rawValue: 1)
    static let paused = Flags(rawValue: 2)
    /// Some subscription has a mark.
    static let marked = Flags(rawValue: 4)
    /// Something waits in `ClientState.queue`, or in the backlog of a stream.
    static let queued = Flags(rawValue: 8)
    /// No client, or one that is being closed.
    static let closed = Flags(rawValue: 16)
    /// In the `WatchList`: its progress is noted.
    static let watched = Flags(rawValue: 32)
  }
  var state: ClientState?
  /// Data frames handed over.
  var sent: UInt64 = 0
  /// What this turn has brought the client (`TurnBundles`); 0: nothing.
  var bundle: UInt32 = 0
  var generation: UInt32 = 0
  var flags = Flags.closed
  var isDirty = false
  var isHeartbeatDue = false

  mutating func set(_ flag: Flags, _ isSet: Bool) {
    if isSet { flags.insert(flag) } else { flags.remove(flag) }
  }
}

/// The clients of one loop by slot. Slots are reused; the generation tells an old client of a slot from a new one.
struct ClientTable: ~Copyable {
  private var slots: UnsafeMutablePointer<ClientSlot>
  private var capacity = 64
  /// Slots ever used.
  private(set) var used = 0
  private var free: [UInt32] = []
  /// Clients connected.
  private(set) var count = 0

  init() { slots = .allocate(capacity: capacity) }

  deinit {
    slots.deinitialize(count: used)
    slots.deallocate()
  }

  /// Gives a new client a slot. Amortised O(1).
  mutating func open() -> ClientID {
    let slot: UInt32
    if let last = free.popLast() {
      slot = last
    } else {
      if used == capacity { grow() }
      slot = UInt32(used)
      (slots + used).initialize(to: ClientSlot())
      used += 1
    }
    let generation = self[slot].pointee.generation &+ 1
    self[slot].pointee = ClientSlot(generation: generation, flags: [])
    count += 1
    return ClientID(slot: slot, generation: generation)
  }

  /// Gives a client's slot up. The generation shows which entries of lists still name it.
  mutating func close(_ client: ClientID) {
    let generation = self[client.slot].pointee.generation &+ 1
    self[client.slot].pointee = ClientSlot(generation: generation)
    free.append(client.slot)
    count -= 1
  }

  /// The slot's place in memory; valid until the next `open`.
  @inline(__always)
  subscript(slot: UInt32) -> UnsafeMutablePointer<ClientSlot> { slots + Int(slot) }

  @inline(__always)
  func isCurrent(_ client: ClientID) -> Bool {
    Int(client.slot) < used && self[client.slot].pointee.generation == client.generation
  }

  /// The state of a client that is there; nil if it has gone.
  func anyState(of client: ClientID) -> ClientState? { isCurrent(client) ? self[client.slot].pointee.state : nil }

  /// The state of a client that is there and not being closed.
  func state(of client: ClientID) -> ClientState? {
    isCurrent(client) && !self[client.slot].pointee.flags.contains(.closed) ? self[client.slot].pointee.state : nil
  }

  func id(of slot: UInt32) -> ClientID { ClientID(slot: slot, generation: self[slot].pointee.generation) }

  private mutating func grow() {
    let new = UnsafeMutablePointer<ClientSlot>.allocate(capacity: capacity * 2)
    new.moveInitialize(from: slots, count: used)
    slots.deallocate()
    slots = new
    capacity *= 2
  }
}
