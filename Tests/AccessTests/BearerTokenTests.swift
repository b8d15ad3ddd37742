import HTTP1
import Testing

@testable import Access

@Suite("Bearer token")
struct BearerTokenTests {
  private static func read(_ target: String, _ fields: [(String, String)]) throws(BearerToken.Problem) -> String? {
    try BearerToken.read(
      HTTPRequestHead(method: "GET", target: target, fields: HTTPFields(fields.map { HTTPField($0.0, $0.1) })))
  }

  @Test("it is read from Authorization, whatever the case of the scheme")
  func reads() throws {
    #expect(try Self.read("/v1/status", []) == nil)
    for value in ["Bearer abc", "bearer abc", "BEARER   abc "] {
      #expect(try Self.read("/v1/status?venue=x", [("authorization", value)]) == "abc")
    }
  }

  @Test("other schemes, several fields and several words are malformed")
  func malformed() {
    for fields in [
      [("Authorization", "Basic YTpi")], [("Authorization", "Bearer")], [("Authorization", "Bearer a b")],
      [("Authorization", "")],
      [("Authorization", "Bearer a"), ("Authorization", "Bearer a")],
    ] {
      #expect(throws: BearerToken.Problem.self) { try Self.read("/", fields) }
    }
  }

  @Test(
    "a token in the URL is refused, under any of its usual names",
    arguments: ["token", "access_token", "Token", "api_key", "apikey"])
  func inURL(name: String) {
    #expect(throws: BearerToken.Problem.inURL) {
      try Self.read("/v1/stream?a=b&\(name)=x", [("Authorization", "Bearer a")])
    }
  }
}
