import Testing

@testable import TidegateClient

@Suite("Gateway URLs")
struct GatewayURLTests {
  @Test("URLs are read with their defaults")
  func urls() throws {
    let plain = try GatewayURL("ws://localhost")
    #expect(plain.port == 80 && plain.target == "/v1/stream" && !plain.isSecure)
    #expect(try GatewayURL("wss://[::1]:8443/x?y=1").description == "wss://[::1]:8443/x?y=1")
    #expect(try GatewayURL("wss://gw.example/").port == 443)
  }

  @Test(
    "what is no gateway URL is refused, with an example",
    arguments: [
      "", "http://a", "ws://", "ws://:80", "ws://a:0", "ws://a:99999", "ws://a:", "ws://[::1", "ws://u@a", "ws://a/#b",
      "ws://a b",
    ])
  func notURLs(text: String) {
    let error = #expect(throws: InvalidURL.self) { try GatewayURL(text) }
    #expect(error?.description.contains("ws://127.0.0.1:8080/v1/stream") == true)
  }
}
