import Testing

@testable import HTTP1

@Suite("Endpoint URLs")
struct EndpointURLTests {
  @Test("schemes give security and standard ports")
  func schemes() throws {
    let secure = try #require(EndpointURL("wss://ws.kraken.com/v2"))
    #expect((secure.isSecure, secure.host, secure.port, secure.target) == (true, "ws.kraken.com", 443, "/v2"))
    let plain = try #require(EndpointURL("HTTP://localhost"))
    #expect((plain.isSecure, plain.host, plain.port, plain.target) == (false, "localhost", 80, "/"))
  }

  @Test("ports, queries and IPv6 addresses are understood")
  func parts() throws {
    let port = try #require(EndpointURL("wss://stream.binance.com:9443/stream?streams=a/b"))
    #expect(port.restBase == "https://stream.binance.com:9443")
    #expect((port.port, port.target, port.authority) == (9443, "/stream?streams=a/b", "stream.binance.com:9443"))
    let six = try #require(EndpointURL("https://[::1]:8443?x=1"))
    #expect((six.host, six.port, six.target, six.authority) == ("::1", 8443, "/?x=1", "[::1]:8443"))
  }

  @Test(
    "what is not such a URL is refused",
    arguments: [
      "", "kraken", "wss://a b", "wss://a:1:2", "ftp://host/", "wss://", "wss://host:0/", "wss://host:99999/",
      "wss://host:/",
      "wss://user@host/",
      "wss://[::1/", "wss://[::1]x/", "wss://host/#fragment",
    ])
  func refused(url: String) { #expect(EndpointURL(url) == nil) }

  @Test("a request's path is put behind the base path with one slash")
  func target() {
    #expect(EndpointURL("https://host")?.target(of: "/a?b") == "/a?b")
    #expect(EndpointURL("https://host/base/")?.target(of: "/a") == "/base/a")
    #expect(EndpointURL("https://host/base")?.target(of: "/a") == "/base/a")
  }
}
