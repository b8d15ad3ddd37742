import Bytes
import Foundation
import HTTP1
import Operations
import Settings
import Synchronization
import TestTraits
import Testing
import Transport
import VenueSimulator

@testable import Gateway
@testable import HTTPAPI

/// What operators see of a running gateway.
@Suite("Operations, end to end", .serialized, .realTime)
struct OperationsTests {
  private static let token = "0123456789abcdef0123"

  /// Somebody who looks live: the lines that came.
  private final class Viewer: ConnectionHandler, @unchecked Sendable {
    // `@unchecked`: `connection` is touched on the loop only, the rest is behind the lock.
    private let text = Mutex((text: "", isClosed: false))
    private var connection: Connection?

    init(_ address: SocketAddress, loop: EventLoop) {
      loop.execute {
        Connector.connect(host: address.host, port: address.port, tls: nil, loop: loop, handler: self) { result in
          guard case .success(let connection) = result else { return self.text.withLock { $0.isClosed = true } }
          self.connection = connection
          var out = ByteBuffer()
          HTTPEncoder.append(
            HTTPRequestHead(
              method: "GET", target: "/admin/state/live",
              fields: HTTPFields([
                HTTPField("Host", address.description), HTTPField("Authorization", "Bearer \(token)"),
              ])), bodyLength: 0, to: &out)
          connection.write(out.bytes)
        }
      }
    }

    var head: String { text.withLock { String($0.text.prefix { $0 != "{" }) } }
    var isClosed: Bool { text.withLock { $0.isClosed } }
    var documents: [[String: Any]] {
      text.withLock(\.text).split(separator: "\n").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }.compactMap {
        (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
      }
    }

    func leave(_ loop: EventLoop) { loop.execute { self.connection?.abort() } }
    func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
      text.withLock { $0.text += String(decoding: bytes, as: UTF8.self) }
    }
    func connectionDidDrain(_ connection: Connection) {}
    func connectionDidClose(_ connection: Connection, reason: CloseReason) { text.withLock { $0.isClosed = true } }
  }

  private func harness(_ venues: [String]) throws -> GatewayHarness {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path
    try Self.token.write(toFile: path, atomically: true, encoding: .utf8)
    return try GatewayHarness(venues: venues) { $0.adminTokenFile = path }
  }

  private func state(_ harness: GatewayHarness) async throws -> Answer {
    try await harness.get(
      "/admin/state", internal: true, fields: [HTTPField("Authorization", "Bearer \(Self.token)")])
  }

  @Test("the document has every feed with its rate, the clients and the loops; a feed that is gone has its reason")
  func document() async throws {
    let harness = try harness(["kraken", "coinbase"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(#"{"op":"subscribe","id":1,"streams":[{"channel":"ticker","symbols":["kraken:*"]}]}"#)
    try await probe.first("the reply") { $0.type == "subscribed" }
    var patience = Patience()
    var json: [String: Any] = [:]
    var feeds: [[String: Any]] = []
    while feeds.count != 2 || !feeds.allSatisfy({ ($0["rate"] as? Double ?? 0) > 0 }) {
      json = try await state(harness).json
      feeds = json["feeds"] as? [[String: Any]] ?? []
      try await patience.wait(for: "rates")
    }
    #expect(json["status"] as? String == "ok" && json["type"] as? String == "state")
    #expect(feeds.map { $0["connection"] as? String } == ["coinbase", "kraken"])
    #expect(feeds.allSatisfy { $0["indicator"] as? String == "connected" && $0["simulated"] as? Bool == true })
    #expect(feeds.allSatisfy { ($0["books"] as? [String: Int])?["live"] == 3 })
    let clients = try #require(json["clients"] as? [String: Any])
    #expect(clients["now"] as? Int == 1 && clients["subscriptions"] as? Int == 3)
    #expect((json["loops"] as? [Any])?.count == 2)
    let limits = try #require(json["limits"] as? [[String: Any]])
    #expect(limits.contains { $0["name"] as? String == "limits.clients" && $0["used"] as? Int == 1 })
    #expect(limits.contains { $0["name"] as? String == "descriptors" })
    harness.exchanges["kraken"]?.stop()
    patience = Patience()
    while json["status"] as? String != "degraded" {
      json = try await state(harness).json
      try await patience.wait(for: "the feed to be missed")
    }
    let kraken = (json["feeds"] as? [[String: Any]])?.first { $0["connection"] as? String == "kraken" }
    #expect(kraken?["indicator"] as? String == "reconnecting" && kraken?["reason"] is String, "\(json)")
    #expect((json["reasons"] as? [String])?.contains { $0.hasPrefix("kraken is ") } == true)
    await harness.stop()
  }

  @Test("those who look live get a document a second, are bounded, and make room when they leave")
  func live() async throws {
    let harness = try harness(["kraken"])
    let address = harness.gateway.internalAddress
    let viewers = (0..<StatePages.viewerLimit).map { _ in Viewer(address, loop: harness.clientLoop) }
    var patience = Patience()
    while viewers.contains(where: { $0.documents.count < 3 }) { try await patience.wait(for: "documents") }
    #expect(viewers[0].head.hasPrefix("HTTP/1.1 200"))
    #expect(viewers[0].head.contains("application/x-ndjson") && viewers[0].head.contains("no-store"))
    // All see the same ones.
    let times = viewers.map { Set($0.documents.compactMap { $0["time"] as? Int }) }
    #expect(times.allSatisfy { $0.intersection(times[0]).count >= 2 })
    let field = HTTPField("Authorization", "Bearer \(Self.token)")
    let refused = try await harness.get("/admin/state/live", internal: true, fields: [field])
    #expect(refused.status == 503 && refused.json["code"] as? String == "too_many_viewers")
    #expect(refused.fields["Retry-After"] != nil)
    // One document for whoever asks alone is there all the same.
    #expect(try await state(harness).status == 200)
    viewers[3].leave(harness.clientLoop)
    var late = Viewer(address, loop: harness.clientLoop)
    patience = Patience()
    while late.documents.isEmpty {
      if late.isClosed || late.head.contains("503") { late = Viewer(address, loop: harness.clientLoop) }
      try await patience.wait(for: "the place of the one that left")
    }
    await harness.stop()
  }

  @Test("without the token nobody sees anything, by either way, and the page itself holds nothing")
  func closed() async throws {
    let harness = try harness(["kraken"])
    for path in ["/admin/state", "/admin/state/live"] {
      #expect(try await harness.get(path, internal: true).status == 401, "\(path)")
      #expect(try await harness.get(path).status == 404, "\(path) on the client port")
    }
    let page = try await harness.get("/ops", internal: true)
    #expect(page.status == 200 && page.fields["Content-Security-Policy"] == ConsoleFiles.policy)
    #expect(page.fields["Access-Control-Allow-Origin"] == nil)
    for path in ConsoleFiles.operations.paths {
      let file = try await harness.get(path, internal: true)
      #expect(file.status == 200 && file.fields["X-Content-Type-Options"] == "nosniff", "\(path)")
      if path == "/ops" || path.hasPrefix("/console/ops/") {
        #expect(try await harness.get(path).status == 404, "\(path) on the client port")
      }
    }
    #expect(try await harness.get("/ops?x=1", internal: true).status == 400)
    #expect(try await harness.get("/console/app.js", internal: true).status == 404)
    await harness.stop()
  }
}
