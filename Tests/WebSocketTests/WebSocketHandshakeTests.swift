import Bytes
import HTTP1
import Testing

@testable import WebSocket

@Suite("The opening handshake")
struct WebSocketHandshakeTests {
  static let key = Array("the sample nonce".utf8)

  /// A good request with one field replaced (nil: left out) or added.
  private func request(
    _ name: String = "", _ value: String? = nil, method: String = "GET", isHTTP11: Bool = true, more: [HTTPField] = []
  ) -> HTTPRequestHead {
    var fields = [
      HTTPField("Host", "example.org"), HTTPField("Upgrade", "WebSocket"),
      HTTPField("Connection", "keep-alive, upgrade"), HTTPField("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
      HTTPField("Sec-WebSocket-Version", "13"),
    ].filter { $0.name != name }
    if let value { fields.append(HTTPField(name, value)) }
    return HTTPRequestHead(method: method, target: "/", fields: HTTPFields(fields + more), isHTTP11: isHTTP11)
  }

  private func refusal(_ request: HTTPRequestHead, origins: Set<String>? = nil) -> HTTPError? {
    do throws(HTTPError) {
      _ = try WebSocketHandshake.accept(request, subprotocols: [], origins: origins)
      return nil
    } catch { return error }
  }

  @Test("The example of RFC 6455 section 1.3")
  func example() throws {
    #expect(WebSocketHandshake.acceptValue(forKey: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    var head = request(more: [HTTPField("Sec-WebSocket-Protocol", "chat, superchat")])
    head.target = "/chat"
    let answer = try WebSocketHandshake.accept(head, subprotocols: ["chat"])
    #expect(answer.subprotocol == "chat")
    #expect(answer.response.status == 101)
    let bytes = encoded {
      HTTPEncoder.append(answer.response, bodyLength: nil, keepAlive: true, date: nil, to: &$0)
    }
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n")
  }

  @Test("Requests that are not WebSocket handshakes are refused with the status and fields that say so")
  func refusals() throws {
    #expect(refusal(request()) == nil)
    let post = try #require(refusal(request(method: "POST")))
    #expect(post.status == 405 && post.fields == [HTTPField("Allow", "GET")])
    #expect(refusal(request(isHTTP11: false))?.status == 400)
    for upgrade in [nil, "h2c", "websockets"] {
      let error = try #require(refusal(request("Upgrade", upgrade)))
      #expect(error.status == 426 && error.fields.contains(HTTPField("Upgrade", "websocket")))
    }
    #expect(refusal(request("Connection", "keep-alive"))?.status == 400)
    #expect(refusal(request("Connection"))?.status == 400)
    #expect(refusal(request("Sec-WebSocket-Version"))?.status == 400)
    for version in ["8", "12", "013", "13, 8"] {
      let error = try #require(refusal(request("Sec-WebSocket-Version", version)))
      #expect(error.status == 426 && error.fields.contains(HTTPField("Sec-WebSocket-Version", "13")))
    }
    #expect(refusal(request(more: [HTTPField("sec-websocket-version", "13")]))?.status == 400)
    for key in [nil, "", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQAA", "AAAA"] {
      #expect(refusal(request("Sec-WebSocket-Key", key))?.status == 400, "key \(key ?? "none")")
    }
    #expect(refusal(request(more: [HTTPField("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]))?.status == 400)
    #expect(refusal(request(more: [HTTPField("Content-Length", "0")])) == nil)
    #expect(refusal(request(more: [HTTPField("Content-Length", "5")]))?.status == 400)
    #expect(refusal(request(more: [HTTPField("Transfer-Encoding", "chunked")]))?.status == 400)
    #expect(refusal(request("Sec-WebSocket-Protocol", "a b"))?.status == 400)
    #expect(refusal(request("Sec-WebSocket-Protocol", "a, a"))?.status == 400)
  }

  @Test("Origins are let in by the list, pages of others are not")
  func origins() {
    let origins: Set = ["https://example.org"]
    #expect(refusal(request("Origin", "https://EXAMPLE.org"), origins: origins) == nil)
    #expect(refusal(request(), origins: origins) == nil)
    #expect(refusal(request("Origin", "https://evil.example"), origins: origins)?.status == 403)
    #expect(refusal(request("Origin", "null"), origins: origins)?.status == 403)
    #expect(refusal(request("Origin", "https://evil.example"), origins: nil) == nil)
    let twice = request("Origin", "https://example.org", more: [HTTPField("Origin", "https://example.org")])
    #expect(refusal(twice, origins: origins)?.status == 403)
  }

  @Test("The first subprotocol offered that the server speaks is chosen; none is fine")
  func subprotocols() throws {
    let head = request("Sec-WebSocket-Protocol", "v3", more: [HTTPField("Sec-WebSocket-Protocol", "v2 , v1")])
    #expect(try WebSocketHandshake.accept(head, subprotocols: ["v1", "v2"]).subprotocol == "v2")
    let none = try WebSocketHandshake.accept(head, subprotocols: ["V1"])
    #expect(none.subprotocol == nil)
    #expect(none.response.fields["Sec-WebSocket-Protocol"] == nil)
  }

  @Test("Compression is declined by silence")
  func extensions() throws {
    let answer = try WebSocketHandshake.accept(
      request("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits"), subprotocols: [])
    #expect(answer.response.fields["Sec-WebSocket-Extensions"] == nil)
  }

  @Test("Whether a request asks for an upgrade")
  func isUpgrade() {
    #expect(WebSocketHandshake.isUpgrade(request()))
    #expect(!WebSocketHandshake.isUpgrade(request("Upgrade", "h2c")))
    #expect(!WebSocketHandshake.isUpgrade(request("Connection", "close")))
  }

  @Test("The client's request is accepted by the server, and its answer by the client")
  func bothEnds() throws {
    let request = WebSocketHandshake.request(
      host: "example.org:8080", target: "/ws?x=1", key: Self.key, subprotocols: ["a", "b"],
      fields: [HTTPField("User-Agent", "test")])
    let sent = encoded { HTTPEncoder.append(request, bodyLength: 0, to: &$0) }
    var parser = HTTPRequestParser()
    let received = try sent.withUnsafeBytes { bytes in
      var input = bytes
      return try parser.next(&input)
    }
    let head = try #require(received?.head)
    #expect(head.fields["user-agent"] == "test")
    let answer = try WebSocketHandshake.accept(head, subprotocols: ["b"])
    #expect(try WebSocketHandshake.check(answer.response, key: Self.key, subprotocols: ["a", "b"]).subprotocol == "b")
  }

  @Test("An answer that does not open a WebSocket is refused")
  func badAnswers() throws {
    func status(_ name: String, _ value: String?, status: Int = 101) -> Int? {
      var fields = [
        HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"),
        HTTPField("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
      ].filter { $0.name != name }
      if let value { fields.append(HTTPField(name, value)) }
      do throws(HTTPError) {
        let head = HTTPResponseHead(status: status, fields: HTTPFields(fields))
        _ = try WebSocketHandshake.check(head, key: Self.key, subprotocols: ["a"])
        return nil
      } catch { return error.status }
    }
    #expect(status("", nil) == nil)
    #expect(status("", nil, status: 503) == 503)
    #expect(status("", nil, status: 200) == 200)
    #expect(status("Upgrade", nil) == 502)
    #expect(status("Upgrade", "h2c") == 502)
    #expect(status("Connection", "close") == 502)
    #expect(status("Sec-WebSocket-Accept", nil) == 502)
    #expect(status("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOp=") == 502)
    #expect(status("Sec-WebSocket-Extensions", "permessage-deflate") == 502)
    #expect(status("Sec-WebSocket-Protocol", "a") == nil)
    #expect(status("Sec-WebSocket-Protocol", "b") == 502)
  }
}
