import Testing

@testable import Transport

@Suite("SocketAddress")
struct SocketAddressTests {
  @Test(
    "addresses are read and written",
    arguments: [
      ("127.0.0.1:80", "127.0.0.1", 80), ("[::1]:65535", "::1", 65535), ("localhost:0", "127.0.0.1", 0),
      ("0.0.0.0:8080", "0.0.0.0", 8080),
    ] as [(String, String, UInt16)])
  func valid(text: String, host: String, port: UInt16) throws {
    let address = try SocketAddress(parsing: text)
    #expect(address == SocketAddress(host: host, port: port))
    #expect(try SocketAddress(parsing: address.description) == address)
  }

  @Test(
    "what is not an address is refused by name",
    arguments: [
      "", ":", "80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1", "::1:80", "[::1]",
      "[::1:80",
      "[127.0.0.1]:80", "example.com:80", "256.0.0.1:80", "127.0.0.1:80 ",
    ])
  func invalid(text: String) {
    #expect(throws: TransportError.invalidAddress(text)) { try SocketAddress(parsing: text) }
  }

  @Test("every error says in words what happened")
  func descriptions() {
    #expect(TransportError.system(call: "bind", errno: 98).description == "Address already in use (bind, errno 98)")
    #expect(TransportError.resolution(host: "a.b", reason: "no").description == "cannot resolve a.b: no")
    #expect(TransportError.writeQueueFull(limit: 10).description.contains("10 bytes"))
  }
}
