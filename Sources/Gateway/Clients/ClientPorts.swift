import Bytes
import PubSub
import Transport

/// Where each client's bytes go, by its slot in the hub: the table from which a turn is written out.
struct ClientPorts: ~Copyable {
  /// How a client takes the frames of a turn.
  enum Way: UInt8 {
    /// There is no client, or it has not shown yet that it reads: only its session writes.
    case bySession
    case plain
    case compressed
  }

  struct Port {
    // Unowned: the slot's session holds the connection, and clears this entry when it ends.
    fileprivate var connection: Unmanaged<Connection>?
    private(set) var way = Way.bySession

    init(_ connection: Unmanaged<Connection>? = nil, way: Way = .bySession) {
      self.connection = connection
      self.way = way
    }
  }

  private var ports: UnsafeMutablePointer<Port>
  private var count = 256

  init() {
    ports = .allocate(capacity: count)
    ports.initialize(repeating: Port(), count: count)
  }

  deinit { ports.deallocate() }

  /// Opens direct writes to a client that has shown that it reads.
  mutating func open(_ slot: UInt32, _ connection: Connection, way: Way) {
    while Int(slot) >= count { grow() }
    ports[Int(slot)] = Port(Unmanaged.passUnretained(connection), way: way)
  }

  mutating func close(_ slot: UInt32) { if Int(slot) < count { ports[Int(slot)] = Port() } }

  /// How a client takes a turn; nil: through its session, or its connection is not writable now.
  @inline(__always)
  func writableWay(_ slot: UInt32) -> Way? {
    guard Int(slot) < count, let connection = ports[Int(slot)].connection,
      connection._withUnsafeGuaranteedRef({ $0.isWritable })
    else { return nil }
    return ports[Int(slot)].way
  }

  /// Sends bytes to a client whose connection is writable; returns how many the kernel has taken.
  @inline(__always)
  func send(_ bytes: UnsafeRawBufferPointer, to slot: UInt32) -> Int {
    ports[Int(slot)].connection?._withUnsafeGuaranteedRef { $0.sendDirect(bytes) } ?? 0
  }

  /// Queues the bytes after the first `sent`.
  func write(_ bytes: SharedBytes, from sent: Int = 0, to slot: UInt32) {
    ports[Int(slot)].connection?._withUnsafeGuaranteedRef { $0.write(bytes, from: sent) }
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Port>.allocate(capacity: count * 2)
    larger.moveInitialize(from: ports, count: count)
    (larger + count).initialize(repeating: Port(), count: count)
    ports.deallocate()
    ports = larger
    count *= 2
  }
}
