import Testing

@testable import HTTP1

@Suite("Heads and their fields")
struct HTTPMessageTests {
  private func head(_ target: String, _ fields: [HTTPField] = [], isHTTP11: Bool = true) -> HTTPRequestHead {
    HTTPRequestHead(method: "GET", target: target, fields: HTTPFields(fields), isHTTP11: isHTTP11)
  }

  @Test(
    "The path is percent-decoded, and of a URL it is what follows the authority",
    arguments: [
      ("/", "/"), ("/a%20b+c", "/a b+c"), ("/v1/books/kraken%3ABTC-USD?x=/y", "/v1/books/kraken:BTC-USD"),
      ("http://h", "/"), ("http://h?x", "/"), ("WSS://h:1/a", "/a"), ("/%E2%82%ac", "/€"), ("*", "*"), ("/%4", "/%4"),
      ("/a//b/../c", "/a//b/../c"),
    ])
  func path(_ target: String, _ path: String) {
    #expect(head(target).path == path)
  }

  @Test("The query is names and values in order, plus as space")
  func query() {
    let pairs = head("/?a=1&b=x+y%2B&flag&=v&&c=%C3%A9=d&e=").query
    #expect(pairs.map(\.name) == ["a", "b", "flag", "", "c", "e"])
    #expect(pairs.map(\.value) == ["1", "x y+", "", "v", "é=d", ""])
    #expect(head("/").query.isEmpty)
    #expect(head("/?").query.isEmpty)
    #expect(head("http://h?q=1").query.map(\.value) == ["1"])
  }

  @Test("Whether the connection stays open")
  func keepsAlive() {
    #expect(head("/").keepsAlive)
    #expect(!head("/", [HTTPField("connection", "foo, CLOSE")]).keepsAlive)
    #expect(!head("/", isHTTP11: false).keepsAlive)
    #expect(head("/", [HTTPField("Connection", "Keep-Alive")], isHTTP11: false).keepsAlive)
  }

  @Test("Fields compare without case, lists span lines and drop empty elements")
  func fields() {
    let fields = HTTPFields([
      HTTPField("Connection", "keep-alive,, \t Upgrade ,"), HTTPField("connection", "x"), HTTPField("A", "1"),
      HTTPField("a", "2"),
    ])
    #expect(fields["CONNECTION"] == "keep-alive,, \t Upgrade ,")
    #expect(fields["b"] == nil)
    #expect(fields.values("A") == ["1", "2"])
    #expect(fields.list("Connection") == ["keep-alive", "Upgrade", "x"])
    #expect(fields.contains("upgrade", in: "Connection") && fields.contains("X", in: "connection"))
    #expect(!fields.contains("keep", in: "Connection"))
  }

  @Test("Registered phrases stand for a status without a reason")
  func reasons() {
    #expect(HTTPResponseHead(status: 426).reason == "Upgrade Required")
    #expect(HTTPResponseHead(status: 299).reason == "")
    #expect(HTTPResponseHead(status: 200, reason: "Fine").reason == "Fine")
  }

  @Test(
    "Dates are IMF-fixdate",
    arguments: [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
      (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ] as [(Int64, String)])
  func date(_ seconds: Int64, _ text: String) {
    #expect(HTTPDate.format(secondsSince1970: seconds) == text)
  }
}
