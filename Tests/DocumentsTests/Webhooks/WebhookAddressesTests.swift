import Testing
import Transport

@testable import Documents

@Suite("Addresses of webhooks")
struct WebhookAddressesTests {
  @Test(
    "only the public Internet is reached",
    arguments: [
      ("8.8.8.8", true), ("1.1.1.1", true), ("172.15.0.1", true), ("172.32.0.1", true), ("100.63.255.255", true),
      ("2606:4700::1111", true), ("2a00:1450:4001::1", true),
      ("127.0.0.1", false), ("127.9.9.9", false), ("0.0.0.0", false), ("10.0.0.1", false), ("172.16.0.1", false),
      ("172.31.255.255", false), ("192.168.1.1", false), ("169.254.169.254", false), ("100.64.0.1", false),
      ("198.18.0.1", false), ("192.0.2.1", false), ("224.0.0.1", false), ("255.255.255.255", false),
      ("::1", false), ("::", false), ("fe80::1", false), ("fc00::1", false), ("fd12::1", false), ("ff02::1", false),
      ("::ffff:127.0.0.1", false), ("::ffff:8.8.8.8", true), ("::127.0.0.1", false), ("64:ff9b::7f00:1", false),
      ("2002:7f00:1::1", false), ("2001::1", false), ("2001:db8::1", false), ("3fff::1", false),
    ])
  func isPublic(text: String, isAllowed: Bool) throws {
    let address = try #require(IPAddress(text))
    #expect(WebhookAddresses(allowed: []).allows(address) == isAllowed)
  }

  @Test("the operator may allow more")
  func allowed() throws {
    let addresses = WebhookAddresses(allowed: [try #require(IPNetwork("10.1.0.0/16"))])
    #expect(addresses.allows(try #require(IPAddress("10.1.2.3"))))
    #expect(!addresses.allows(try #require(IPAddress("10.2.2.3"))))
  }

  @Test(
    "a URL that is no https, has a user, or names a private address is refused",
    arguments: [
      ("https://push.example.com/a?b=c", true), ("https://push.example.com:8443/", true), ("https://8.8.8.8/", true),
      ("http://push.example.com/", false), ("https://user@push.example.com/", false),
      ("wss://push.example.com/", false),
      ("https://127.0.0.1/", false), ("https://[::1]/", false), ("https://169.254.169.254/latest", false),
      ("https://push.example.com/#x", false), ("", false), ("https:///", false),
    ])
  func urls(url: String, isAllowed: Bool) {
    let read = try? WebhookDesk.url(in: Array("{\"url\":\"\(url)\"}".utf8), WebhookAddresses(allowed: []))
    #expect((read == url) == isAllowed)
  }

  @Test("the signature is HMAC-SHA-256 of the time, a point and the body")
  func signature() {
    // Python: hmac.new(b"whsec_test", b"1790000000.{}", "sha256").hexdigest()
    #expect(
      WebhookRequest.signature(of: Array("{}".utf8), secret: "whsec_test", seconds: 1_790_000_000)
        == "t=1790000000,v1=1c2847ad1f8158a1da978f36627ac1f07f7fd027321ac9ad40bccc06743f8396")
  }
}
