import Testing

@testable import Gateway

@Suite("Endpoint")
struct EndpointTests {
  @Test("schemes give security and standard ports")
  func schemes() throws {
    let secure = try #require(Endpoint("wss://ws.kraken.com/v2"))
    #expect((secure.isSecure, secure.host, secure.port, secure.path) == (true, "ws.kraken.com", 443, "/v2"))
    let plain = try #require(Endpoint("HTTP://localhost"))
    #expect((plain.isSecure, plain.host, plain.port, plain.path) == (false, "localhost", 80, "/"))
  }

  @Test("ports, queries and IPv6 addresses are understood")
  func parts() throws {
    let port = try #require(Endpoint("wss://stream.binance.com:9443/stream?streams=a/b"))
    #expect((port.port, port.path, port.authority) == (9443, "/stream?streams=a/b", "stream.binance.com:9443"))
    let six = try #require(Endpoint("https://[::1]:8443?x=1"))
    #expect((six.host, six.port, six.path, six.authority) == ("::1", 8443, "/?x=1", "[::1]:8443"))
  }

  @Test(
    "what is not such a URL is refused",
    arguments: [
      "", "kraken", "ftp://host/", "wss://", "wss://host:0/", "wss://host:99999/", "wss://host:/", "wss://user@host/",
      "wss://[::1/", "wss://[::1]x/", "wss://host/#fragment",
    ])
  func refused(url: String) { #expect(Endpoint(url) == nil) }

  @Test("a request's path is put behind the base path with one slash")
  func target() {
    #expect(Endpoint("https://host")?.target("/a?b") == "/a?b")
    #expect(Endpoint("https://host/base/")?.target("/a") == "/base/a")
    #expect(Endpoint("https://host/base")?.target("/a") == "/base/a")
  }
}
