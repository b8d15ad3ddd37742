import Logging
import Transport

/// Logs failed TLS handshakes of clients.
package final class TLSLog: Sendable {
  private let folded: FoldedLog

  package init(_ folded: FoldedLog) { self.folded = folded }

  /// Logs due folded failures; call about once a second.
  package func tell() { folded.tell() }

  package func failed(_ peer: SocketAddress, _ serverName: String?, _ failure: TLSFailure) {
    folded.note("tls " + failure.kind.rawValue, peer: peer.address) {
      var event = FoldedLog.Event(
        message: "clients' TLS handshakes failed",
        metadata: ["reason": "\(failure.description)", "kind": "\(failure.kind.rawValue)"])
      if let serverName { event.metadata["name"] = "\(serverName)" }
      return event
    }
  }

  /// A client spoke TLS to a port without TLS.
  package func sawTLS(from peer: SocketAddress) {
    folded.note("tls in the clear", peer: peer.address) {
      FoldedLog.Event(
        message: "clients spoke TLS to a port in the clear",
        metadata: ["hint": "use ws:// and http:// here, or set tls.certificate"])
    }
  }
}
