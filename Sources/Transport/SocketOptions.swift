import Glibc

/// The options of every TCP socket. A connection inherits those of its listener (tcp(7)), so they are set once for each
/// listener, not for each connection.
func setSocketOptions(_ descriptor: Int32, _ limits: Connection.Limits) {
  func set(_ level: Int32, _ option: Int32, _ value: Int) {
    var value = Int32(clamping: value)
    _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
  // Bytes of a turn are sent at once, because the connection has already joined them.
  set(Int32(IPPROTO_TCP), Int32(TCP_NODELAY), 1)
  set(Int32(IPPROTO_TCP), Int32(TCP_NOTSENT_LOWAT), limits.kernelUnsentBytes)
  // By itself, the kernel's buffer grows to megabytes for each slow client.
  set(SOL_SOCKET, SO_SNDBUF, limits.kernelBytes)
  if let bytes = limits.kernelReceivedBytes { set(SOL_SOCKET, SO_RCVBUF, bytes) }
  // Detects after some time that a peer's machine is gone, even without pings of a protocol.
  set(SOL_SOCKET, SO_KEEPALIVE, 1)
}

/// `SOCK_STREAM`. Glibc's own name is not visible if OpenSSL's headers were the first to include <sys/socket.h>: the
/// enumeration then belongs to their module.
let streamSocket: Int32 = 1
