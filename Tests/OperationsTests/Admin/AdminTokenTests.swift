import Foundation
import HTTP1
import Testing

@testable import Operations

@Suite("The operators' token")
struct AdminTokenTests {
  private func request(_ values: String...) -> HTTPRequestHead {
    HTTPRequestHead(
      method: "GET", target: "/admin/clients", fields: HTTPFields(values.map { HTTPField("Authorization", $0) }))
  }

  private func file(_ text: String) throws -> String {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  @Test("nobody is let in without a file, or with one that holds no token")
  func closed() throws {
    #expect(AdminToken(path: nil).check(request("Bearer ")) == .closed)
    for text in ["", "short", "two words of more than sixteen", String(repeating: "a", count: 513)] {
      let token = AdminToken(path: try file(text))
      #expect(token.read() != nil, "\(text.prefix(20))")
      #expect(token.check(request("Bearer \(text)")) == .closed)
    }
    #expect(AdminToken(path: "/does/not/exist").read() != nil)
  }

  @Test("the one token is good, whatever the case of its scheme, and nothing else is")
  func check() throws {
    let path = try file("0123456789abcdef0123\n")
    let token = AdminToken(path: path)
    #expect(token.read() == nil)
    #expect(token.check(request("Bearer 0123456789abcdef0123")) == .good)
    #expect(token.check(request("bEARER 0123456789abcdef0123")) == .good)
    for wrong in ["Bearer 0123456789abcdef0124", "Bearer 0123456789abcdef012", "Bearer 0123456789abcdef0123 "] {
      #expect(token.check(request(wrong)) == .wrong, "\(wrong)")
    }
    for missing in ["Basic 0123456789abcdef0123", "Bearer", "0123456789abcdef0123"] {
      #expect(token.check(request(missing)) == .missing, "\(missing)")
    }
    #expect(token.check(request()) == .missing)
    #expect(token.check(request("Bearer 0123456789abcdef0123", "Bearer 0123456789abcdef0123")) == .missing)
    // A file that was spoilt leaves the token in use.
    try "".write(toFile: path, atomically: true, encoding: .utf8)
    #expect(token.read() != nil)
    #expect(token.check(request("Bearer 0123456789abcdef0123")) == .good)
  }
}
