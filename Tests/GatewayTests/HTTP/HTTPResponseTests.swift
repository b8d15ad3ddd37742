import Testing

@testable import Gateway

@Suite("HTTP responses")
struct HTTPResponseTests {
  @Test("an error says what is wrong, what it meant and what to do")
  func errorShape() {
    let response = HTTPResponse.error(404, code: "unknown_symbol", message: "no \"x\"", hint: "try y", retry: false)
    #expect(response.status == 404)
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == #"{"type":"error","code":"unknown_symbol","message":"no \"x\"","impact":"this request was not carried out","hint":"try y","retry":false}"#
    )
  }

  @Test("equal bodies have equal tags, different ones do not")
  func tags() {
    let a = HTTPResponse.json([1, 2, 3])
    #expect(a.entityTag == HTTPResponse.json([1, 2, 3]).entityTag)
    #expect(a.entityTag != HTTPResponse.json([1, 2, 4]).entityTag)
    #expect(a.entityTag != HTTPResponse.json([1, 2]).entityTag)
    #expect(a.entityTag.hasPrefix("\"") && a.entityTag.hasSuffix("\""))
  }

  @Test(
    "If-None-Match is a list, weak tags included",
    arguments: [
      ("\"a\"", true), ("\"b\", \"a\"", true), ("W/\"a\"", true), ("*", true), ("\"b\"", false), ("a", false),
      ("", false),
    ])
  func ifNoneMatch(list: String, matches: Bool) {
    #expect(HTTPSession.matches(list, "\"a\"") == matches)
  }
}
