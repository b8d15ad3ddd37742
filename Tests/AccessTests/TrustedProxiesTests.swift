import HTTP1
import Testing
import Transport

@testable import Access

@Suite("Trusted proxies")
struct TrustedProxiesTests {
  private static let networks = ["10.0.0.0/8", "2001:db8:ffff::/48"].compactMap { IPNetwork($0) }

  private static func client(
    _ peer: String, _ fields: [(String, String)], _ header: TrustedProxies.Header = .xForwardedFor
  ) -> String {
    let proxies = TrustedProxies(networks: networks, header: header)
    return proxies.client(of: IPAddress(peer)!, HTTPFields(fields.map { HTTPField($0.0, $0.1) })).description
  }

  @Test("what an untrusted peer says is not read")
  func untrusted() {
    #expect(Self.client("192.0.2.1", [("X-Forwarded-For", "203.0.113.7")]) == "192.0.2.1")
    #expect(Self.client("192.0.2.1", [("Forwarded", "for=203.0.113.7")], .forwarded) == "192.0.2.1")
  }

  @Test(
    "the client is the rightmost hop that is no trusted proxy",
    arguments: [
      ("203.0.113.7", "203.0.113.7"), ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
      ("198.51.100.1, 203.0.113.7, 10.2.3.4", "203.0.113.7"), ("203.0.113.7:4711, 10.1.1.1:80", "203.0.113.7"),
      ("2001:db8::7", "2001:db8::7"), ("[2001:db8::7]:4711", "2001:db8::7"), ("[2001:db8::7]", "2001:db8::7"),
      ("10.9.9.9, 10.2.3.4", "10.9.9.9"), ("", "10.0.0.1"),
      // No address: the search ends at the proxy that said so.
      ("203.0.113.7, unknown", "10.0.0.1"), ("203.0.113.7, unknown, 10.2.3.4", "10.2.3.4"),
      ("203.0.113.7:x", "10.0.0.1"),
      ("[203.0.113.7]", "10.0.0.1"), ("2001:db8::7:", "10.0.0.1"), ("[2001:db8::7]x", "10.0.0.1"),
      ("203.0.113.7:123456", "10.0.0.1"),
    ])
  func xForwardedFor(value: String, expected: String) {
    #expect(Self.client("10.0.0.1", [("X-Forwarded-For", value)]) == expected)
  }

  @Test("the lines of a header are one list, and the other header is not read")
  func lines() {
    let lines = [
      ("X-Forwarded-For", "198.51.100.1"), ("x-forwarded-for", "203.0.113.7"), ("Forwarded", "for=192.0.2.99"),
    ]
    #expect(Self.client("10.0.0.1", lines) == "203.0.113.7")
    #expect(Self.client("10.0.0.1", lines, .forwarded) == "192.0.2.99")
  }

  @Test(
    "Forwarded is read as RFC 7239 writes it",
    arguments: [
      ("for=203.0.113.7", "203.0.113.7"), ("For=203.0.113.7;proto=https;by=10.0.0.1", "203.0.113.7"),
      ("for=198.51.100.1, for=203.0.113.7 ; host=a", "203.0.113.7"), ("for=\"[2001:db8::7]:4711\"", "2001:db8::7"),
      ("for=\"203.0.113.7:80\";by=x, for=10.1.2.3", "203.0.113.7"), ("for=_hidden", "10.0.0.1"),
      ("for=unknown", "10.0.0.1"),
      ("proto=https", "10.0.0.1"), ("for=203.0.113.7;for=198.51.100.1", "10.0.0.1"),
    ])
  func forwarded(value: String, expected: String) {
    #expect(Self.client("10.0.0.1", [("Forwarded", value)], .forwarded) == expected)
  }

  @Test("a list longer than anybody needs is read from its near end")
  func bound() {
    let hops = ["203.0.113.7"] + Array(repeating: "10.0.0.2", count: TrustedProxies.hopLimit)
    #expect(Self.client("10.0.0.1", [("X-Forwarded-For", hops.joined(separator: ","))]) == "10.0.0.2")
  }
}
