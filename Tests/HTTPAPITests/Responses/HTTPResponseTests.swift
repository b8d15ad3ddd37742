import PubSub
import Testing

@testable import HTTPAPI

@Suite("HTTP responses")
struct HTTPResponseTests {
  @Test("an error says what is wrong, what it meant and what to do")
  func errorShape() {
    let response = HTTPResponse.error(404, code: "unknown_symbol", message: "no \"x\"", hint: "try y", retry: false)
    #expect(response.status == 404)
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == #"{"type":"error","code":"unknown_symbol","message":"no \"x\"","impact":"this request was not carried out","hint":"try y","retry":false}"#
        + "\n"
    )
  }

  @Test("an error of the store does not claim that the request was not carried out")
  func uncertainImpact() {
    let body = String(decoding: HTTPResponse.error(503, code: "unavailable", message: "m").body, as: UTF8.self)
    #expect(body.contains(#""impact":"it is not certain that this request was carried out""#))
  }

  @Test(
    "If-None-Match is a list, weak tags included",
    arguments: [
      ("\"a\"", true), ("\"b\", \"a\"", true), ("W/\"a\"", true), ("*", true), ("\"b\"", false), ("a", false),
      ("", false),
    ])
  func ifNoneMatch(list: String, matches: Bool) {
    #expect(EntityTag.matches([list], "\"a\"") == matches)
    #expect(EntityTag.match(["\"x\"", list], "\"a\"") == (matches ? "\"a\"" : nil))
  }

  @Test("a tag is strong, and that of the gzip form is another, by which a client is known, too")
  func entityTags() {
    var tag = ContentTag(run: "k7")
    let plain = EntityTag.text(tag)
    #expect(plain.count == 18 && plain.hasPrefix("\"") && plain.hasSuffix("\""))
    let compressed = EntityTag.ofCompressed(plain)
    #expect(compressed != plain && EntityTag.match([compressed], plain) == compressed)
    tag.add(0 as UInt64)
    #expect(EntityTag.text(tag) != plain)
  }
}
