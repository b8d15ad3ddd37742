/// What went wrong below the protocols, with the reason in words for logs and status messages.
package enum TransportError: Error, Sendable, Equatable {
  /// A system call failed: its name and `errno`.
  case system(call: String, errno: Int32)
  /// A name could not be resolved.
  case resolution(host: String, reason: String)
  case connectTimeout(host: String)
  case handshakeTimeout
  /// The TLS handshake or record layer failed: `certificate has expired`, `hostname mismatch`, `unknown CA`.
  case tls(reason: String)
  case certificateFile(path: String, reason: String)
  case writeQueueFull(limit: Int)
  case invalidAddress(String)

  /// For people: what happened, with names.
  package var description: String { fatalError("being written") }
}
