import Testing

@testable import NATS

@Suite("Addresses of NATS servers")
struct NATSServerAddressTests {
  @Test("an address has a scheme, a host and a port, of which the host alone is needed")
  func addresses() {
    for (text, said) in [
      ("a", "nats://a:4222"), ("a:1", "nats://a:1"), ("tls://n1.example:4443", "tls://n1.example:4443"),
      ("nats://10.0.0.1/", "nats://10.0.0.1:4222"), ("[::1]:4222", "nats://[::1]:4222"), ("[::1]", "nats://[::1]:4222"),
    ] { #expect(NATSServerAddress(text)?.description == said) }
    #expect(NATSServerAddress("a", isTLS: true)?.isTLS == true)
    #expect(NATSServerAddress("nats://a", isTLS: true)?.isTLS == false)
  }

  @Test(
    "anything else is refused, and an address with a password is",
    arguments: [
      "", ":1", "a:", "a:0", "a:65536", "a:1x", "a b", "a:1:2", "::1", "[::1", "[::1]x", "[]", "[g]", "nats://u:p@h:1",
      "http://a", "a/b", "nats://", "a\r\n",
    ])
  func malformed(_ text: String) { #expect(NATSServerAddress(text) == nil) }
}
