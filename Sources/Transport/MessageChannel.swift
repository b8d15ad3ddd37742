import Dispatch
import Glibc
import Synchronization

/// One end of a pair of sockets between two processes, which preserves message boundaries (`SOCK_SEQPACKET`, unix(7)).
/// It has no name, so only processes that were given an end can use it.
///
/// Each message is one short packet; a message longer than `limit` arrives truncated. No call waits.
package final class MessageChannel: Sendable {
  /// Bytes of a message.
  package static let limit = 1_024

  /// Nil once it is closed.
  private let descriptor: Mutex<Int32?>
  private let reading = Mutex<Reading?>(nil)

  private struct Reading: @unchecked Sendable {
    // `@unchecked`: a dispatch source may be cancelled from any thread (dispatch_source_create(3)).
    let source: any DispatchSourceRead
  }

  /// `SOCK_SEQPACKET` and, in its values, `SOCK_CLOEXEC` and `SOCK_NONBLOCK` (socket(2)).
  private static let packetSocket: Int32 = 5

  private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

  deinit { close() }

  /// A pair: one end, and the descriptor of the other, which the caller closes.
  package static func pair() throws(TransportError) -> (MessageChannel, Int32) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, packetSocket | O_CLOEXEC | O_NONBLOCK, 0, &ends) == 0 else {
      throw .system(call: "socketpair", errno: errno)
    }
    return (MessageChannel(ends[0]), ends[1])
  }

  /// The end that this process was started with; nil if the descriptor is not such a socket.
  package convenience init?(inherited descriptor: Int32) {
    var (domain, type) = (Int32(0), Int32(0))
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0, domain == AF_UNIX,
      getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0, type == Self.packetSocket,
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    else { return nil }
    self.init(descriptor)
  }

  /// Calls `message` on `queue` for each message, and `ended` once after the last, when the other end is closed. Call
  /// this function once, with a serial queue.
  package func start(
    on queue: DispatchQueue, message: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) {
    guard let descriptor = descriptor.withLock({ $0 }) else { return }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { @Sendable [weak self] in self?.drain(on: queue, message, ended) }
    // A descriptor may be closed only after its source has released it (dispatch_source_create(3)).
    source.setCancelHandler { @Sendable in Glibc.close(descriptor) }
    let own = Reading(source: source)
    reading.withLock { $0 = own }
    source.activate()
  }

  /// The most messages that are read before other work of the queue.
  private static let portion = 64

  /// Reads everything: when the other end is closed, libdispatch reports it only once, even if data is left to read.
  private func drain(
    on queue: DispatchQueue, _ message: @escaping @Sendable ([UInt8]) -> Void, _ ended: @escaping @Sendable () -> Void
  ) {
    for _ in 0..<Self.portion {
      guard let bytes = receive() else { return }
      guard !bytes.isEmpty else {
        close()
        return ended()
      }
      message(bytes)
    }
    queue.async { @Sendable [weak self] in self?.drain(on: queue, message, ended) }
  }

  /// The next message; empty: the other end is closed; nil: no message has arrived.
  private func receive() -> [UInt8]? {
    descriptor.withLock { descriptor in
      guard let descriptor else { return nil }
      var buffer = [UInt8](repeating: 0, count: Self.limit + 1)
      var count = -1
      repeat {
        count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      } while count < 0 && errno == EINTR
      if count < 0 { return errno == EAGAIN ? nil : [] }
      return Array(buffer[..<count])
    }
  }

  /// Sends a message; false if the other end is closed, or has not read for too long.
  @discardableResult
  package func send(_ message: [UInt8]) -> Bool {
    precondition((1...Self.limit).contains(message.count), "a message has 1 to \(Self.limit) bytes")
    return descriptor.withLock { descriptor in
      guard let descriptor else { return false }
      return Glibc.send(descriptor, message, message.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) == message.count
    }
  }

  /// Closes this end; only calls that are in progress continue.
  package func close() {
    guard
      let old = descriptor.withLock({ descriptor in
        defer { descriptor = nil }
        return descriptor
      })
    else { return }
    let ended = reading.withLock { reading in
      defer { reading = nil }
      return reading
    }
    if let ended { ended.source.cancel() } else { Glibc.close(old) }
  }
}
