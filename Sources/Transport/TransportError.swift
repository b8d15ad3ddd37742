import Glibc

/// An error below the protocols, with its reason as text for logs and status messages.
package enum TransportError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A system call failed: its name and `errno`.
  case system(call: String, errno: Int32)
  /// A name could not be resolved.
  case resolution(host: String, reason: String)
  /// No connection to an address of `host`: `connect` and its `errno`, or the handshake's reason.
  case connectFailed(host: String, port: UInt16, reason: String)
  case connectTimeout(host: String)
  /// No TLS handshake with `peer` within the time allowed.
  case handshakeTimeout(peer: String)
  /// The TLS handshake or record layer failed with `peer`, a host and port or an address.
  case tlsFailed(peer: String, TLSFailure)
  /// TLS cannot be set up on this side.
  case tls(reason: String)
  case certificateFile(path: String, reason: String)
  case writeQueueFull(limit: Int)
  case invalidAddress(String)

  /// A description for people, with names.
  package var description: String {
    switch self {
    case .system(let call, EADDRINUSE) where call.hasPrefix("bind "):
      "another process listens on \(call.dropFirst(5)): end it, or choose another address"
    case .system(let call, let errno): "\(Self.words(errno)) (\(call), errno \(errno))"
    case .resolution(let host, let reason): "cannot resolve \(host): \(reason)"
    case .connectFailed(let host, let port, let reason): "cannot connect to \(host) port \(port): \(reason)"
    case .connectTimeout(let host): "no connection to \(host) within the time allowed"
    case .handshakeTimeout(let peer): "no TLS handshake with \(peer) within the time allowed"
    case .tlsFailed(let peer, let failure): "TLS with \(peer) failed: \(failure.description)"
    case .tls(let reason): "TLS failed: \(reason)"
    case .certificateFile(let path, let reason): "cannot use \(path): \(reason)"
    case .writeQueueFull(let limit): "the peer reads too slowly: more than \(limit) bytes are waiting for it"
    case .invalidAddress(let text): "\"\(text)\" is not an address; write 127.0.0.1:8080, [::1]:8080 or localhost:8080"
    }
  }

  /// The meaning of an `errno`: `Connection refused`.
  static func words(_ errno: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      buffer[0] = 0
      _ = strerror_r(errno, buffer.baseAddress!, buffer.count)
      return String(cString: buffer.baseAddress!)
    }
  }
}
