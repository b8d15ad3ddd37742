import CLinux
import Glibc

/// The transport's only access to the operating system: clocks, random bytes, sockets. `SystemKernel` is the real one.
/// A simulation passes its own kernel, whose clock it advances and whose bytes come from its seed. The code above
/// cannot distinguish the two.
///
/// Calls on descriptors return what the kernel's own calls return. An error is the negated `errno`, because Swift may
/// run code that changes the variable before the caller reads it. All calls are non-blocking. Only the loop calls its
/// kernel's sockets; any thread may read the clocks and random bytes.
package protocol Kernel: AnyObject, Sendable {
  // MARK: Time and chance

  /// Monotonic nanoseconds: the only clock for waits.
  func uptime() -> UInt64

  /// The wall clock, microseconds since 1970 UTC. It may be set at any moment, in either direction.
  func wallMicroseconds() -> Int64

  /// Fills `buffer` with random bytes that are suitable for keys and masks.
  func fillRandom(_ buffer: UnsafeMutableRawBufferPointer)

  // MARK: Sockets

  /// A new TCP socket of `family` (`AF_INET`, `AF_INET6`).
  func socket(family: Int32) -> Int32

  /// Sets the options of every socket; an accepted one inherits them from its listener.
  func setOptions(_ descriptor: Int32, _ limits: Connection.Limits)

  /// Returns and clears the pending error of a socket; 0 if there is none.
  func takeError(_ descriptor: Int32) -> Int32

  /// Gives the socket an address, even if connections of an earlier owner are still closing there (`SO_REUSEADDR`).
  func bind(_ descriptor: Int32, to address: KernelAddress) -> Int32

  /// Lets several sockets of one user listen on the same address (`SO_REUSEPORT`, socket(7)); before `bind`.
  func sharePort(_ descriptor: Int32) -> Int32

  func listen(_ descriptor: Int32, backlog: Int32) -> Int32

  /// Whether a connection waits to be accepted on a listening socket.
  func hasWaiting(_ descriptor: Int32) -> Bool

  /// The address that a socket is bound to.
  func localAddress(_ descriptor: Int32) -> KernelAddress

  /// Accepts the next connection of a listening socket, with the peer's address.
  func accept(_ descriptor: Int32) -> (descriptor: Int32, peer: KernelAddress)

  /// Begins to connect; `-EINPROGRESS` until the answer arrives.
  func connect(_ descriptor: Int32, to address: KernelAddress) -> Int32

  /// Reads the available bytes, up to `buffer.count`; 0: the peer has ended its direction.
  func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int

  /// Sends as many of `count` bytes as the socket takes.
  func send(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int

  /// Sends as much of the pieces, one after the other, as the socket takes.
  func send(_ descriptor: Int32, pieces: UnsafeMutableBufferPointer<iovec>) -> Int

  /// Bytes that were sent and that the peer has not acknowledged (`SIOCOUTQ`, tcp(7)); negative: an error.
  func queuedBytes(_ descriptor: Int32) -> Int

  /// Ends this side's direction (`shutdown(2)`, `SHUT_WR`).
  func endSending(_ descriptor: Int32) -> Int32

  /// Closes a descriptor; a socket with unread bytes is reset.
  func close(_ descriptor: Int32)

  /// A spare descriptor, which can be closed when all others are in use.
  func openSpare() -> Int32
}

/// The machine's own kernel.
package final class SystemKernel: Kernel {
  package static let shared = SystemKernel()

  private init() {}

  package func uptime() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  package func wallMicroseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }

  package func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) { SystemRandom.fill(buffer) }

  package func socket(family: Int32) -> Int32 {
    // On Linux the two flags of socket(2) are those of open(2).
    answer(Glibc.socket(family, streamSocket | O_NONBLOCK | O_CLOEXEC, 0))
  }

  package func setOptions(_ descriptor: Int32, _ limits: Connection.Limits) { setSocketOptions(descriptor, limits) }

  package func takeError(_ descriptor: Int32) -> Int32 {
    var error: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 else { return errno }
    return error
  }

  package func bind(_ descriptor: Int32, to address: KernelAddress) -> Int32 {
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    return answer(address.withPointer { Glibc.bind(descriptor, $0, address.length) })
  }

  package func sharePort(_ descriptor: Int32) -> Int32 {
    var one: Int32 = 1
    return answer(setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, socklen_t(MemoryLayout<Int32>.size)))
  }

  package func listen(_ descriptor: Int32, backlog: Int32) -> Int32 { answer(Glibc.listen(descriptor, backlog)) }

  package func hasWaiting(_ descriptor: Int32) -> Bool {
    var asked = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&asked, 1, 0) == 1
  }

  package func localAddress(_ descriptor: Int32) -> KernelAddress {
    KernelAddress { _ = getsockname(descriptor, $0, $1) }
  }

  package func accept(_ descriptor: Int32) -> (descriptor: Int32, peer: KernelAddress) {
    var accepted: Int32 = 0
    let peer = KernelAddress { accepted = answer(clinux_accept4(descriptor, $0, $1, O_NONBLOCK | O_CLOEXEC)) }
    return (accepted, peer)
  }

  package func connect(_ descriptor: Int32, to address: KernelAddress) -> Int32 {
    answer(address.withPointer { Glibc.connect(descriptor, $0, address.length) })
  }

  package func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    answer(recv(descriptor, buffer.baseAddress, buffer.count, 0))
  }

  package func send(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    Self.sendNow(descriptor, bytes, count)
  }

  /// `send` without the dynamic call of the protocol, for loops with the system's kernel.
  static func sendNow(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    let result = Glibc.send(descriptor, bytes, count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    return result >= 0 ? result : Int(-errno)
  }

  package func send(_ descriptor: Int32, pieces: UnsafeMutableBufferPointer<iovec>) -> Int {
    var message = msghdr()
    message.msg_iov = pieces.baseAddress
    message.msg_iovlen = pieces.count
    return answer(sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)))
  }

  package func queuedBytes(_ descriptor: Int32) -> Int {
    var count: Int32 = 0
    let result = answer(ioctl(descriptor, UInt(TIOCOUTQ), &count))
    return result < 0 ? Int(result) : Int(count)
  }

  package func endSending(_ descriptor: Int32) -> Int32 { answer(Glibc.shutdown(descriptor, Int32(SHUT_WR))) }

  package func close(_ descriptor: Int32) { Glibc.close(descriptor) }

  package func openSpare() -> Int32 { answer(open("/dev/null", O_RDONLY | O_CLOEXEC)) }

  @inline(__always)
  private func answer(_ result: Int32) -> Int32 { result >= 0 ? result : -errno }
  @inline(__always)
  private func answer(_ result: Int) -> Int { result >= 0 ? result : Int(-errno) }
}

extension Kernel {
  /// `count` random bytes.
  package func randomBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      fillRandom(UnsafeMutableRawBufferPointer(buffer))
      filled = count
    }
  }

  package func randomUInt32() -> UInt32 {
    var value: UInt32 = 0
    withUnsafeMutableBytes(of: &value) { fillRandom($0) }
    return value
  }
}

extension Kernel {
  /// A new TCP socket.
  func makeSocket(family: Int32) throws(TransportError) -> Int32 {
    let descriptor = socket(family: family)
    guard descriptor >= 0 else { throw .system(call: "socket", errno: -descriptor) }
    return descriptor
  }
}
