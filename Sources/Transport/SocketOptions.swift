import Glibc

/// Options every TCP socket of the house has. A connection inherits those of the socket it was accepted on (tcp(7)), so
/// they are set once per listener, not once per connection.
func setSocketOptions(_ descriptor: Int32, _ limits: Connection.Limits) {
  func set(_ level: Int32, _ option: Int32, _ value: Int) {
    var value = Int32(clamping: value)
    _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
  // Bytes of a turn are sent at once, because the connection has already joined them.
  set(Int32(IPPROTO_TCP), Int32(TCP_NODELAY), 1)
  set(Int32(IPPROTO_TCP), Int32(TCP_NOTSENT_LOWAT), limits.kernelUnsentBytes)
  // It grows to megabytes by itself, times the number of slow clients.
  set(SOL_SOCKET, SO_SNDBUF, limits.kernelBytes)
  if let bytes = limits.kernelReceivedBytes { set(SOL_SOCKET, SO_RCVBUF, bytes) }
  // Detects in the end that a peer's machine is gone, even if no protocol pings it.
  set(SOL_SOCKET, SO_KEEPALIVE, 1)
}

/// `SOCK_STREAM`. Glibc's own name is out of sight in builds where OpenSSL's headers were the first to include
/// <sys/socket.h>: the enumeration then belongs to their module.
let streamSocket: Int32 = 1
