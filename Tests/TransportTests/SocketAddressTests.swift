import Glibc
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

  @Test(
    "an address goes to the kernel and comes back",
    arguments: ["127.0.0.1:80", "[::1]:65535", "0.0.0.0:0", "[::]:443", "192.0.2.255:8080", "[2001:db8::1:0:7]:1"])
  func kernel(text: String) throws {
    let address = try SocketAddress(parsing: text)
    let kernel = KernelAddress(address)
    #expect(kernel.socketAddress == address && address.description == text)
    #expect(kernel.family == (text.hasPrefix("[") ? AF_INET6 : AF_INET))
  }

  @Test("an IPv4 address on an IPv6 socket is the same address")
  func mapped() throws {
    let address = try SocketAddress(parsing: "[::ffff:192.0.2.7]:80")
    #expect(address.description == "192.0.2.7:80")
    var v6 = sockaddr_in6()
    v6.sin6_family = sa_family_t(AF_INET6)
    v6.sin6_port = UInt16(80).bigEndian
    v6.sin6_addr = address.address.v6
    let kernel = withUnsafePointer(to: v6) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        KernelAddress($0, length: socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
    #expect(kernel.socketAddress == address)
  }

  @Test("every error says in words what happened")
  func descriptions() {
    #expect(
      TransportError.system(call: "bind 127.0.0.1:8080", errno: EADDRINUSE).description
        == "another process listens on 127.0.0.1:8080: end it, or choose another address")
    #expect(TransportError.system(call: "listen", errno: 98).description == "Address already in use (listen, errno 98)")
    #expect(TransportError.resolution(host: "a.b", reason: "no").description == "cannot resolve a.b: no")
    #expect(TransportError.writeQueueFull(limit: 10).description.contains("10 bytes"))
  }
}
