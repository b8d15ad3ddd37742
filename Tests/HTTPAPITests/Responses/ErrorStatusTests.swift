import Foundation
import HTTP1
import PubSub
import Testing

@testable import HTTPAPI

@Suite("The status of an error")
struct ErrorStatusTests {
  @Test("an answer has the status of its code, and says the rest as the stream does")
  func answer() throws {
    var error = ProtocolError(.tooManyAlerts, "you have 3", hint: "delete one")
    error.retryAfterMilliseconds = 1_500
    let response = HTTPResponse.error(error)
    #expect(response.status == 409)
    #expect(response.fields.first { $0.name == "Retry-After" }?.value == "2")
    #expect(!response.fields.contains { $0.name == "WWW-Authenticate" })
    let body = try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    #expect(body["code"] as? String == "too_many_alerts" && body["message"] as? String == "you have 3")
    #expect(body["hint"] as? String == "delete one" && body["retry"] as? Bool == true)
  }

  @Test("a client error is no server error: only what may succeed later is 503", arguments: codes)
  func statuses(code: ProtocolError.Code) {
    let isLater = code == .notReady || code == .unavailable
    #expect(isLater ? code.status == 503 : (400...429).contains(code.status))
    #expect(
      (code.rawValue.hasPrefix("unknown_") && code != .unknownOp && code != .unknownChannel)
        == (code.status == 404))
    #expect(code.rawValue.hasPrefix("invalid_") == (code.status == 422))
  }

  @Test("a refusal for want of rights says so to the client's library")
  func scope() {
    let response = HTTPResponse.error(ProtocolError(.forbidden, "no"))
    #expect(response.status == 403)
    #expect(
      response.fields.first { $0.name == "WWW-Authenticate" }?.value.contains("insufficient_scope") == true)
  }

  @Test("the guide's table gives every code its status")
  func guide() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let file = root.appendingPathComponent("Sources/HTTPAPI/HTTPAPI.docc/HTTPAPI.md")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    let start = try #require(lines.firstIndex { $0.hasPrefix("| status | `code`") })
    var listed: Set<String> = []
    for line in lines[(start + 2)...].prefix(while: { $0.hasPrefix("|") }) {
      let statuses = line.matches(of: /\d{3}/).compactMap { Int($0.output) }
      for code in line.matches(of: /`([a-z_]+)`/).map({ String($0.output.1) }) {
        listed.insert(code)
        guard let code = ProtocolError.Code(rawValue: code) else { continue }
        #expect(statuses.contains(code.status), "\(code)")
      }
    }
    let onStreamOnly: [ProtocolError.Code] = [
      .badJSON, .unknownOp, .unknownStream, .tooManySubscriptions, .messageTooLarge, .rateLimited,
    ]
    for code in Self.codes where !onStreamOnly.contains(code) { #expect(listed.contains(code.rawValue), "\(code)") }
  }

  private static let codes: [ProtocolError.Code] = [
    .badJSON, .badRequest, .unknownOp, .unknownChannel, .unknownSymbol, .unknownStream, .outOfRange,
    .tooManySubscriptions, .messageTooLarge, .rateLimited, .unauthorized, .forbidden, .notReady, .unknownAlert,
    .invalidAlert, .unknownPortfolio, .invalidPortfolio, .tooManyPortfolios, .unknownDeck, .unknownWebhook,
    .invalidWebhook, .tooManyAlerts, .changed, .keyReused, .unavailable,
  ]
}
