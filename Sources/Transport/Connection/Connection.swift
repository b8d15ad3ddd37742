/// Why a connection ended.
package enum CloseReason: Sendable {
  /// The peer ended its stream.
  case closedByPeer
  /// This side closed it.
  case closedLocally
  case failed(TransportError)
}

/// The reader of a connection. Called on the connection's loop only, never from inside one of the connection's own
/// methods.
package protocol ConnectionHandler: AnyObject {
  /// Bytes arrived. They are in a buffer of the loop, which the handler may change in place, and which is not valid
  /// after the call.
  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer)
  /// After a full socket buffer, the kernel has now taken all unsent bytes.
  func connectionDidDrain(_ connection: Connection)
  /// The connection has ended; the last call.
  func connectionDidClose(_ connection: Connection, reason: CloseReason)
}

/// Retained by an accepted connection. Its release means that the connection's descriptor is closed.
package protocol ConnectionPermit: AnyObject, Sendable {}

/// A TCP connection, with or without TLS. Owned by one loop and used only there.
///
/// Writes are queued and sent at the end of the turn in one gathered send. Bytes that the kernel does not take stay
/// queued, up to `Limits.queuedBytes`. The owner of the data then sees `isWritable` become false, and keeps data that
/// it can still merge.
///
/// The loop retains an open connection, and the connection retains its handler until `connectionDidClose` has been
/// called. No other code needs to retain either.
package final class Connection: PolledDescriptor {
  package struct Limits: Sendable {
    /// The most unsent bytes of this connection. A write beyond it closes the connection (`.writeQueueFull`).
    package var queuedBytes: Int
    /// `TCP_NOTSENT_LOWAT`: unsent bytes the kernel holds before the socket counts as full; it is writable again below
    /// half of it (tcp(7)). One send may exceed it, so the kernel holds at most this and one portion of the writer.
    package var kernelUnsentBytes: Int
    /// `SO_SNDBUF`: bytes the kernel holds for the peer, sent and unacknowledged included. It doubles the value for its
    /// own overhead (socket(7)).
    package var kernelBytes: Int
    /// Bytes read from the peer in one turn of the loop, and passed to the handler at a time; at most the loop's
    /// buffer, 256 KiB. The handler must keep the bytes that it cannot process at once, so a port for unknown peers
    /// reads little.
    package var readBytes: Int
    /// `SO_RCVBUF`: bytes the kernel takes from the peer before they are read; it doubles the value for its own
    /// overhead. Nil: the kernel chooses, and goes up to 6 MB (tcp_rmem in tcp(7)). An unknown peer that sends all the
    /// time can cost this memory for each connection, and the time to copy it.
    package var kernelReceivedBytes: Int?
    /// The defaults allow 128 KiB in transit, which is 10 Mbit/s at 100 ms, and 16 KiB more in the kernel.
    package init(
      queuedBytes: Int = 1 << 20, kernelUnsentBytes: Int = 16 << 10, kernelBytes: Int = 128 << 10,
      readBytes: Int = 256 << 10, kernelReceivedBytes: Int? = nil
    ) {
      precondition(readBytes > 0, "a connection that reads nothing never ends")
      self.queuedBytes = queuedBytes
      self.readBytes = readBytes
      self.kernelUnsentBytes = kernelUnsentBytes
      self.kernelBytes = kernelBytes
      self.kernelReceivedBytes = kernelReceivedBytes
    }
  }

  enum State: UInt8 {
    /// Under TLS, before the first byte of the application.
    case handshaking
    case open
    /// `close` was called, or the peer has ended its stream; what is queued is still being sent.
    case closing
    /// Everything is sent, and the handler has been notified. The descriptor waits for the peer's end, because closing
    /// one with unread bytes resets the connection, and the reset would destroy what the peer has not read yet (RFC
    /// 9112 §9.6).
    case lingering
    case closed
  }

  // In an order without gaps, because a gateway has ten thousand of them. `@exclusivity(unchecked)`: confined to the
  // loop; every delivery uses it.

  @exclusivity(unchecked) var state: State
  /// The socket buffer was full; `.writable` ends it.
  @exclusivity(unchecked) var isBlocked = false
  @exclusivity(unchecked) var isDirty = false
  @exclusivity(unchecked) var isPaused = false
  package let loop: EventLoop
  /// Retained until `connectionDidClose` has been called.
  package var handler: (any ConnectionHandler)?
  /// For an accepted connection: the permit of the listener's gate. Released when the descriptor is closed.
  package var permit: (any ConnectionPermit)?
  /// The timer of the handshake, or of the lingering.
  var timer: LoopTimer?

  @exclusivity(unchecked) var tls: TLSSession?
  @exclusivity(unchecked) var unsent = UnsentBytes()
  /// Bytes written so far, before encryption.
  @exclusivity(unchecked) package internal(set) var bytesWritten: UInt64 = 0

  /// `Limits.queuedBytes` and `readBytes`.
  let queueLimit: UInt32
  let readLimit: UInt32
  /// The peer's address for logs and limits: `127.0.0.1:50432`.
  package let peer: SocketAddress
  /// Whether the kernel may have bytes that no further event will announce.
  @exclusivity(unchecked) var hasUnread = false
  @exclusivity(unchecked) var peerHasEnded = false
  /// The bytes that were read and dropped since the end of this direction.
  @exclusivity(unchecked) var discarded: Int32 = 0

  init(loop: EventLoop, peer: SocketAddress, descriptor: Int32, limits: Limits, tls: TLSSession? = nil) {
    self.loop = loop
    self.peer = peer
    self.queueLimit = UInt32(clamping: limits.queuedBytes)
    self.readLimit = UInt32(min(limits.readBytes, loop.memory.read.count))
    self.tls = tls
    self.state = tls == nil ? .open : .handshaking
    super.init(descriptor: descriptor)
  }

  deinit {
    if descriptor >= 0 { loop.kernel.close(descriptor) }
  }

  /// Whether the connection still accepts writes.
  package var isOpen: Bool { state == .open }
  /// `TLSv1.3`, or nil without TLS.
  package var isTLS: Bool { tls != nil }
  package var tlsVersion: String? { tls?.version }
  /// Whether TLS continued from an earlier session.
  package var tlsIsResumed: Bool { tls?.isResumed ?? false }
  /// The name on the peer's verified certificate; nil if it sent none.
  package var tlsPeerSubject: String? { tls?.peerSubject }

  // MARK: - Events from the loop

  override func ready(_ readiness: Readiness) {
    switch state {
    case .handshaking: continueHandshake()
    case .open, .closing:
      if readiness.contains(.writable) || (tls?.writeWaitsForRead ?? false) { becameWritable() }
      if !readiness.isDisjoint(with: [.readable, .peerEnded, .hangUp, .error]) || (tls?.readWaitsForWrite ?? false) {
        if readiness.contains(.error), isPaused { failFromSocket() }
        read(toEnd: !readiness.isDisjoint(with: [.peerEnded, .hangUp, .error]))
      }
    case .lingering: discard()
    case .closed: break
    }
  }

  override func flushIfDirty() {
    guard isDirty else { return }
    isDirty = false
    sendQueued()
  }

  override func loopEnds() { abort() }
}
