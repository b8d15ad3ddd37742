import Testing

@testable import HTTPAPI

@Suite("Host names of a port")
struct HostNamesTests {
  @Test(
    "addresses and localhost are allowed, and configured names; names that look like them are not",
    arguments: [
      ("127.0.0.1", true), ("10.0.0.1:9090", true), ("[::1]", true), ("[fe80::1]:9090", true), ("localhost", true),
      ("LocalHost:80", true), ("gw.internal", true), ("GW.INTERNAL:9", true), ("evil.example", false),
      ("127.0.0.1.evil.example", false), ("1.2.3", false), ("1.2.3.256", false), ("1.2.3.+4", false),
      ("1.2.3.4.5", false), ("0x7f.0.0.1", false), ("localhost.evil.example", false), ("xgw.internal", false),
      ("sub.gw.internal", false), (":80", false), ("app.localhost:8080", true), ("xlocalhost", false),
      ("localhost.", false), ("", false),
    ])
  func hosts(host: String, isAllowed: Bool) {
    #expect(HostNames(["gw.internal"]).allows(host) == isAllowed)
    #expect(HostNames(["*"]).allows(host) && HostNames([]).allows(nil as String?))
  }
}
