import Bytes
import HTTP1

/// The opening handshake (RFC 6455 section 4), both roles. Sans-IO; the key is passed in.
package enum WebSocketHandshake {
  /// Server: checks an upgrade request and chooses the subprotocol: the first offered one that is in `subprotocols`, or
  /// none.
  ///
  /// - Parameter origins: the accepted values of `Origin`, such as `https://example.org`, compared without case; nil
  ///   accepts every origin. A request without `Origin` does not come from a page in a browser, and is accepted.
  /// - Parameter compression: the permessage-deflate parameters that the server accepts; nil declines the extension.
  /// - Throws: `HTTPError` with 400, 403, 405 or 426, the reason, and the header fields of the answer.
  package static func accept(
    _ request: HTTPRequestHead, subprotocols: [String], origins: Set<String>? = nil,
    compression: PerMessageDeflate.Policy? = nil
  ) throws(HTTPError) -> (response: HTTPResponseHead, subprotocol: String?, deflate: PerMessageDeflate?) {
    guard request.method == "GET" else {
      throw HTTPError(status: 405, reason: "a WebSocket is opened with GET", fields: [HTTPField("Allow", "GET")])
    }
    guard request.isHTTP11 else { throw HTTPError(status: 400, reason: "a WebSocket needs HTTP/1.1") }
    let fields = request.fields
    guard fields.contains("websocket", in: "Upgrade") else {
      throw upgradeRequired("this is a WebSocket address; send Upgrade: websocket")
    }
    guard fields.contains("upgrade", in: "Connection") else {
      throw HTTPError(status: 400, reason: "Connection must contain Upgrade")
    }
    let versions = fields.values("Sec-WebSocket-Version")
    guard versions.count == 1, let version = versions.first else {
      throw HTTPError(status: 400, reason: "exactly one Sec-WebSocket-Version is required, not \(versions.count)")
    }
    guard version == "13" else { throw upgradeRequired("the only supported WebSocket version is 13") }
    let keys = fields.values("Sec-WebSocket-Key")
    guard keys.count == 1, let key = keys.first, Base64.isSixteenBytes(key) else {
      throw HTTPError(status: 400, reason: "exactly one Sec-WebSocket-Key of 16 bytes in base64 is required")
    }
    try check(origins: origins, fields)
    // In RFC 6455 the opening handshake has no body; its bytes could be mistaken for frames.
    guard fields.values("Transfer-Encoding").isEmpty, fields.values("Content-Length").allSatisfy({ $0 == "0" }) else {
      throw HTTPError(status: 400, reason: "the request that opens a WebSocket has no body")
    }

    let offered = fields.list("Sec-WebSocket-Protocol")
    guard offered.allSatisfy({ ASCII.isToken($0) }), offered.count < 2 || Set(offered).count == offered.count
    else {
      throw HTTPError(status: 400, reason: "Sec-WebSocket-Protocol must be a list of different tokens")
    }
    let chosen = offered.lazy.map { String($0) }.first { subprotocols.contains($0) }
    var answer = HTTPFields([
      HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"),
      HTTPField("Sec-WebSocket-Accept", acceptValue(forKey: key)),
    ])
    if let chosen { answer.append("Sec-WebSocket-Protocol", chosen) }
    guard let extensions = ExtensionElement.list(fields.values("Sec-WebSocket-Extensions")) else {
      throw HTTPError(status: 400, reason: "Sec-WebSocket-Extensions must be a list of extensions")
    }
    let deflate = compression.flatMap { PerMessageDeflate.accept(extensions, policy: $0) }
    if let deflate { answer.append("Sec-WebSocket-Extensions", deflate.answer) }
    return (HTTPResponseHead(status: 101, fields: answer), chosen, deflate?.agreed)
  }

  /// Whether a request asks for an upgrade to WebSocket at all.
  package static func isUpgrade(_ request: HTTPRequestHead) -> Bool {
    request.fields.contains("websocket", in: "Upgrade") && request.fields.contains("upgrade", in: "Connection")
  }

  /// Client: the request, for 16 random bytes of key.
  /// - Parameters:
  ///   - host: the value of `Host`: with the port unless it is the scheme's own.
  ///   - compression: offers of permessage-deflate, the preferred one first.
  ///   - fields: more fields, such as `User-Agent`.
  package static func request(
    host: String, target: String, key: [UInt8], subprotocols: [String] = [],
    compression: [PerMessageDeflate.Offer] = [], fields: [HTTPField] = []
  ) -> HTTPRequestHead {
    precondition(key.count == 16, "the key is 16 bytes (RFC 6455 section 4.1)")
    precondition(subprotocols.allSatisfy { ASCII.isToken($0) }, "a subprotocol is a token")
    var head = HTTPFields([
      HTTPField("Host", host), HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"),
      HTTPField("Sec-WebSocket-Key", Base64.encode(key)), HTTPField("Sec-WebSocket-Version", "13"),
    ])
    if !subprotocols.isEmpty { head.append("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", ")) }
    if !compression.isEmpty {
      head.append("Sec-WebSocket-Extensions", compression.map(\.element).joined(separator: ", "))
    }
    for field in fields { head.append(field.name, field.value) }
    return HTTPRequestHead(method: "GET", target: target, fields: head)
  }

  /// Client: checks the response to `request`. Returns the subprotocol that the server chose, nil if none, and the
  /// negotiated compression, nil if it was declined or not offered.
  /// - Throws: the reason it is refused, with the server's status if it was not 101, and 502 if it was.
  package static func check(
    _ response: HTTPResponseHead, key: [UInt8], subprotocols: [String], compression: [PerMessageDeflate.Offer] = []
  ) throws(HTTPError) -> (subprotocol: String?, deflate: PerMessageDeflate?) {
    let fields = response.fields
    guard response.status == 101 else {
      throw HTTPError(
        status: response.status,
        reason: "the server did not open a WebSocket but answered \(response.status) \(response.reason)")
    }
    let upgrades = fields.list("Upgrade")
    guard upgrades.count == 1, ASCII.equalIgnoringCase(upgrades[0], "websocket") else {
      throw HTTPError(status: 502, reason: "the server's Upgrade is not websocket")
    }
    guard fields.contains("upgrade", in: "Connection") else {
      throw HTTPError(status: 502, reason: "the server's Connection does not contain Upgrade")
    }
    guard fields.values("Sec-WebSocket-Accept") == [acceptValue(forKey: Base64.encode(key))] else {
      throw HTTPError(status: 502, reason: "the server's Sec-WebSocket-Accept does not fit the key that was sent")
    }
    guard let extensions = ExtensionElement.list(fields.values("Sec-WebSocket-Extensions")) else {
      throw HTTPError(status: 502, reason: "the server's Sec-WebSocket-Extensions is not a list of extensions")
    }
    let deflate = try PerMessageDeflate.check(extensions, offers: compression)
    let chosen = fields.values("Sec-WebSocket-Protocol")
    guard let first = chosen.first else { return (nil, deflate) }
    guard chosen.count == 1, subprotocols.contains(first) else {
      throw HTTPError(status: 502, reason: "the server chose a subprotocol that was not offered")
    }
    return (first, deflate)
  }

  /// Base64 of the SHA-1 of the key and the RFC's constant (RFC 6455 section 4.2.2).
  static func acceptValue(forKey key: String) -> String {
    Base64.encode(SHA1.hash(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
  }

  private static func check(origins: Set<String>?, _ fields: HTTPFields) throws(HTTPError) {
    guard let origins else { return }
    let given = fields.values("Origin")
    guard given.count <= 1,
      given.allSatisfy({ origin in origins.contains { ASCII.equalIgnoringCase($0, origin) } })
    else { throw HTTPError(status: 403, reason: "pages of this origin may not open a WebSocket here") }
  }

  private static func upgradeRequired(_ reason: String) -> HTTPError {
    HTTPError(
      status: 426, reason: reason,
      fields: [
        HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"), HTTPField("Sec-WebSocket-Version", "13"),
      ])
  }
}
