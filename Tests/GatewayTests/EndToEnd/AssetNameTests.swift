import Foundation
import HTTP1
import History
import Logging
import MarketData
import Settings
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

@Suite("Asset names end to end", .serialized, .realTime)
struct AssetNameTests {
  private static func symbols(_ harness: GatewayHarness, _ query: String) async throws -> [String] {
    let answer = try await harness.get("/v1/instruments?q=\(query)")
    let body = try JSONSerialization.jsonObject(with: Data(answer.text.utf8)) as? [String: Any]
    return (body?["instruments"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
  }

  @Test("markets of all venues are found by what one venue calls an asset; a hostile list adds nothing to it")
  func found() async throws {
    let harness = try GatewayHarness(
      venues: ["kraken", "coinbase"], faults: ["coinbase": [Fault(.names, names: .hostile)]])
    try await harness.waitUntilLive()
    var patience = Patience()
    while try await Self.symbols(harness, "zCaSh") != ["coinbase:ZEC-USD", "kraken:ZEC-USD"] {
      try await patience.wait(for: "the names to come")
    }
    #expect(try await Self.symbols(harness, "bitcoin") == ["coinbase:BTC-USD", "kraken:BTC-USD"])
    #expect(try await Self.symbols(harness, "nothing%20bitcoin") == [])
    let all = try await harness.get("/v1/assets")
    #expect(all.status == 200)
    #expect(all.text.contains(#"{"code":"ZEC","name":"Zcash","venues":["coinbase"]}"#))
    for word in ["Markup", "CTL", "RTL", "LNG", "Not Bitcoin"] { #expect(!all.text.contains(word), "\(word)") }
    let tag = try #require(all.fields["ETag"])
    let again = try await harness.get("/v1/assets", fields: [HTTPField("If-None-Match", tag)])
    #expect(again.status == 304)
    #expect(again.fields["Cache-Control"]?.contains("max-age=300") == true)
    let wrong = try await harness.get("/v1/assets?limit=0")
    #expect(wrong.status == 400)
    await harness.stop()
  }

  @Test("an answer without any name is kept by nobody: the names come soon")
  func unnamed() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let answer = try await harness.get("/v1/assets")
    #expect(answer.text == "{\"assets\":[]}\n")
    #expect(answer.fields["Cache-Control"] == "max-age=0" && answer.fields["ETag"] != nil)
    await harness.stop()
  }

  @Test("a gateway that starts again knows them before it has asked")
  func kept() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-names-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = try DataFile(
      path: folder.appendingPathComponent("simulated.sqlite").path, parts: SchemaPart.all, stamp: "x")
    let isTaken = AssetNameStore(file: file).submit(
      .init(time: .init(microseconds: 1), names: ["ZEC": "Zcash from before"]), of: "coinbase"
    ) { _ in }
    #expect(isTaken)
    file.close()
    var log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    let keeper = try HistoryKeeper(directory: folder.path, isSimulated: true, retention: .init(), log: log)
    let harness = try GatewayHarness(venues: ["coinbase"], history: keeper) { $0.demo = true }
    let answer = try await harness.get("/v1/assets?q=zec")
    #expect(answer.text.contains("Zcash from before"))
    await harness.stop()
  }
}
