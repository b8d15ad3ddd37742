import Bytes

/// Why a connection ended.
package enum CloseReason: Sendable {
  /// The peer ended its stream.
  case closedByPeer
  /// This side closed it.
  case closedLocally
  case failed(TransportError)
}

/// Who reads from a connection. Called on the connection's loop only.
package protocol ConnectionHandler: AnyObject {
  /// Bytes arrived. They stand in a buffer of the loop that may be changed in place and is gone after the call.
  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer)
  /// All that was unsent after a full socket buffer has now been taken by the kernel.
  func connectionDidDrain(_ connection: Connection)
  /// The connection is gone; the last call.
  func connectionDidClose(_ connection: Connection, reason: CloseReason)
}

/// A TCP connection, in the clear or under TLS. Owned by one loop and used only there.
///
/// Writes are queued and go out at the end of the turn in one gathered send. What the kernel does not take stays queued, up to
/// `Limits.queuedBytes`; the owner of the data sees `isWritable` fall and keeps what can still be merged on its own side.
package final class Connection {
  package struct Limits: Sendable {
    /// Unsent bytes this connection may hold. A write beyond it closes the connection (`.writeQueueFull`).
    package var queuedBytes: Int
    /// `TCP_NOTSENT_LOWAT`: unsent bytes the kernel holds before the socket counts as full.
    package var kernelUnsentBytes: Int
    package init(queuedBytes: Int = 1 << 20, kernelUnsentBytes: Int = 64 << 10) {
      self.queuedBytes = queuedBytes
      self.kernelUnsentBytes = kernelUnsentBytes
    }
  }

  package let loop: EventLoop
  /// The peer's address for logs and limits: `127.0.0.1:50432`.
  package let peer: SocketAddress
  package weak var handler: (any ConnectionHandler)?

  init(loop: EventLoop, peer: SocketAddress) { self.loop = loop; self.peer = peer }

  /// Whether nothing is waiting for the kernel: what is written now goes out this turn, if the socket takes it.
  package var isWritable: Bool { fatalError("being written") }
  /// Bytes handed over and not yet taken by the kernel.
  package var queuedBytes: Int { fatalError("being written") }
  package var isOpen: Bool { fatalError("being written") }
  /// Bytes read and written so far.
  package var bytesRead: UInt64 { fatalError("being written") }
  package var bytesWritten: UInt64 { fatalError("being written") }
  /// `TLSv1.3`, or nil in the clear.
  package var tlsVersion: String? { fatalError("being written") }

  /// Queues bytes that are shared with other connections; they are retained, not copied (in the clear).
  package func write(_ bytes: SharedBytes) { fatalError("being written") }
  /// Queues a copy of `bytes`.
  package func write(_ bytes: RawSpan) { fatalError("being written") }
  /// Sends now what is queued rather than at the end of the turn.
  package func flush() { fatalError("being written") }

  /// Stops or resumes taking bytes from the kernel, so that a peer that sends too much waits there.
  package func pauseReading() { fatalError("being written") }
  package func resumeReading() { fatalError("being written") }

  /// Closes after everything queued is sent, or after `timeout` ns; `close_notify` is sent under TLS.
  package func close(timeout: UInt64 = 5_000_000_000) { fatalError("being written") }
  /// Closes at once; what is queued is dropped.
  package func abort() { fatalError("being written") }
}
