import Access
import HTTP1
import Testing

@testable import HTTPAPI

@Suite("Rejections as answers")
struct RejectionTests {
  @Test("an answer says how long to wait, in its body in ms and in Retry-After in whole seconds")
  func wait() {
    let response = Rejection(.connectionRate, wait: 150_000).response
    #expect(response.status == 429)
    #expect(response.fields.contains { $0.name == "Retry-After" && $0.value == "1" })
    let body = String(decoding: response.body, as: UTF8.self)
    #expect(body.contains("\"retry_after_ms\":150") && body.contains("\"code\":\"rate_limited\""), "\(body)")
  }

  @Test("every reason has a status, a message and a code of its own or rate_limited", arguments: Refusal.allCases)
  func reasons(_ refusal: Refusal) {
    let response = Rejection(refusal).response
    #expect([401, 403, 429, 503].contains(response.status))
    let code = response.status == 429 ? "rate_limited" : refusal.rawValue
    #expect(String(decoding: response.body, as: UTF8.self).contains("\"code\":\"\(code)\""))
  }
}
