import Bytes
import HTTP1

/// The opening handshake (RFC 6455 section 4), both roles. Sans-IO; the key is passed in.
package enum WebSocketHandshake {
  /// Server: checks an upgrade request and chooses the subprotocol (the first offered that is in `subprotocols`; none is allowed).
  /// - Throws: `HTTPError` with 400, 405 or 426 and the reason.
  package static func accept(_ request: HTTPRequestHead, subprotocols: [String]) throws(HTTPError) -> (
    response: HTTPResponseHead, subprotocol: String?
  ) { fatalError("being written") }
  /// Whether a request asks for an upgrade to WebSocket at all.
  package static func isUpgrade(_ request: HTTPRequestHead) -> Bool { fatalError("being written") }
  /// Client: the request, for 16 random bytes of key.
  package static func request(
    host: String, target: String, key: [UInt8], subprotocols: [String] = [], fields: [HTTPField] = []
  ) -> HTTPRequestHead { fatalError("being written") }
  /// Client: checks the response. Throws the reason it is refused, with the venue's status if it was not 101.
  package static func check(_ response: HTTPResponseHead, key: [UInt8], subprotocols: [String]) throws(HTTPError) -> String? {
    fatalError("being written")
  }
}
