import Testing

@testable import Transport

@Suite("IPAddress")
struct IPAddressTests {
  @Test("an address is read as a number, and an IPv4 address is the same in either family")
  func reads() throws {
    #expect(IPAddress("192.0.2.1") == IPAddress("::ffff:192.0.2.1"))
    #expect(IPAddress("2001:db8::1") == IPAddress("2001:0DB8:0:0:0:0:0:1"))
    for text in ["192.0.2.1", "0.0.0.0", "255.255.255.255", "2001:db8::1", "::1", "::"] {
      #expect(IPAddress(text)?.description == text)
    }
    for text in ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4:80", "[::1]", "fe80::1%eth0", "localhost", " ::1"] {
      #expect(IPAddress(text) == nil, "\(text)")
    }
  }

  @Test("limits count an IPv4 address by itself and an IPv6 address with its /64")
  func subscriber() throws {
    #expect(IPAddress("192.0.2.1")?.subscriber != IPAddress("192.0.2.2")?.subscriber)
    #expect(IPAddress("2001:db8:1:2::1")?.subscriber == IPAddress("2001:db8:1:2:ffff:ffff:ffff:ffff")?.subscriber)
    #expect(IPAddress("2001:db8:1:2::1")?.subscriber != IPAddress("2001:db8:1:3::1")?.subscriber)
  }

  @Test(
    "a network holds the addresses with its prefix",
    arguments: [
      ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.1", false), ("192.0.2.7", "192.0.2.7", true),
      ("192.0.2.7", "192.0.2.8", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "2001:db8::1", false),
      ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false), ("::1", "::1", true),
      ("::/0", "2001:db8::1", true), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
      ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
    ])
  func networks(network: String, address: String, isInside: Bool) throws {
    let network = try #require(IPNetwork(network))
    #expect(network.contains(try #require(IPAddress(address))) == isInside)
  }

  @Test("a network that is none, or has bits after its prefix, is refused")
  func badNetworks() {
    for text in [
      "", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "2001:db8::/129", "2001:db8::1/32",
      "x/8",
      "10.0.0.0/8/8",
    ] {
      #expect(IPNetwork(text) == nil, "\(text)")
    }
    #expect(IPNetwork("10.0.0.0/8")?.description == "10.0.0.0/8")
    #expect(IPNetwork("2001:db8::/32")?.description == "2001:db8::/32")
    #expect(IPNetwork("10.1.2.3/32")?.description == "10.1.2.3")
  }
}
