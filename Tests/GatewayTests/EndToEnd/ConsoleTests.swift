import HTTP1
import Settings
import TestTraits
import Testing

@testable import Gateway
@testable import HTTPAPI

@Suite("The console, end to end", .serialized, .realTime)
struct ConsoleTests {
  private let page = [HTTPField("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")]

  @Test("a browser gets a page at /, everybody else plain words; files have types, tags and a policy")
  func files() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let words = try await harness.get("/")
    #expect(words.text.contains("/v1/stream"))
    let root = try await harness.get("/", fields: page)
    #expect(root.status == 200 && root.text.hasPrefix("<!doctype html>"))
    #expect(root.fields.values("Vary").contains { $0.contains("Accept") })

    for path in ConsoleFiles.embedded.paths where path != "/" {
      let file = try await harness.get(path)
      #expect(file.status == 200 && !file.body.isEmpty, "\(path)")
      #expect(file.fields["Content-Security-Policy"] == ConsoleFiles.policy, "\(path)")
      #expect(file.fields["X-Content-Type-Options"] == "nosniff", "\(path)")
      let tag = try #require(file.fields["ETag"], "\(path)")
      let again = try await harness.get(path, fields: [HTTPField("If-None-Match", tag)])
      #expect(again.status == 304, "\(path)")
    }
    let client = try await harness.get("/tidegate.js")
    #expect(client.fields["Content-Type"] == "text/javascript; charset=utf-8")
    let missing = try await harness.get("/console/../secret", fields: page)
    #expect(missing.status == 404)
    await harness.stop()
  }

  @Test("console: false leaves the client library alone")
  func off() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.console = false }
    let root = try await harness.get("/", fields: page)
    #expect(root.text.contains("/v1/stream") && !root.text.contains("<html"))
    #expect(try await harness.get("/console/app.js", fields: page).status == 404)
    #expect(try await harness.get("/tidegate.js").status == 200)
    await harness.stop()
  }
}
