import Decks
import Foundation
import HTTP1
import Operations
import Settings
import TestTraits
import Testing

@testable import Access
@testable import Gateway

@Suite("Decks end to end", .serialized, .realTime)
struct DeckTests {
  private static func deck(_ name: String, _ quote: String) -> Deck {
    Deck(
      name: name, title: "T", starts: 0,
      cards: [DeckCard(quote: quote, action: "Go.", minutes: 5, domain: .health, source: "S")])
  }

  private static func subscribe(_ name: String, _ zone: String?, id: Int = 1) -> String {
    let zone = zone.map { ",\"zone\":\"\($0)\"" } ?? ""
    return "{\"op\":\"subscribe\",\"id\":\(id),\"streams\":[{\"channel\":\"deck\",\"symbols\":[\"\(name)\"]\(zone)}]}"
  }

  private func reload(_ harness: GatewayHarness, _ decks: [Deck]) -> ReloadOutcome {
    var next = harness.gateway.current
    next.decks.loaded = decks
    return harness.gateway.reload { () throws(ConfigurationProblems) in next }
  }

  @Test("a subscriber and a reader get the same card, that of the day in their zone")
  func card() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.decks.loaded = [.demo] }
    let probe = try await harness.probe()
    for (index, zone) in ["Pacific/Kiritimati", "Pacific/Pago_Pago", nil].enumerated() {
      probe.send(Self.subscribe("calm", zone, id: index))
      let reply = try await probe.first("a reply") { $0.type == "subscribed" && $0.id == index }
      let ok = try #require((reply["ok"] as? [[String: Any]])?.first, "\(reply.text)")
      #expect(ok["zone"] as? String == zone ?? "UTC" && ok["symbol"] as? String == "calm")
      let snapshot = try await probe.first("a snapshot") {
        $0.type == "snapshot" && $0["zone"] as? String == zone ?? "UTC"
      }
      let answer = try await harness.get("/v1/decks/calm" + (zone.map { "?zone=\($0)" } ?? ""))
      #expect(answer.status == 200)
      let data = try #require(snapshot["data"] as? NSDictionary)
      #expect(data == answer.json as NSDictionary, "\(snapshot.text) \(answer.text)")
      // As long as it is the card of the day.
      let seconds = try #require(Int((answer.fields["Cache-Control"] ?? "").dropFirst("max-age=".count)))
      let turns = try #require(answer.json["turns_at"] as? Int) / 1_000_000
      let left = turns - Int(Date().timeIntervalSince1970)
      #expect((left - 5...left + 1).contains(seconds) && seconds <= 90_000, "\(seconds), \(left)")
    }
    // These two are 25 h apart: there are always two days between them.
    let east = try await harness.get("/v1/decks/calm?zone=Pacific/Kiritimati").json["date"] as? String
    let west = try await harness.get("/v1/decks/calm?zone=Pacific/Pago_Pago").json["date"] as? String
    #expect(try #require(east) > #require(west))
    await harness.stop()
  }

  @Test("a picture and a card come from their tags, and with HEAD without a body")
  func pictures() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.decks.loaded = [.demo] }
    var tags: Set<String> = []
    for path in [
      "/v1/decks", "/v1/decks/calm?zone=Asia/Tokyo", "/v1/cards/deck/calm.svg?zone=Asia/Tokyo",
      "/v1/cards/deck/calm.svg?zone=Asia/Tokyo&size=large", "/v1/cards/deck/calm.svg?zone=Asia/Tokyo&contrast=high",
    ] {
      let answer = try await harness.get(path)
      #expect(answer.status == 200, "\(path) \(answer.text)")
      let tag = try #require(answer.fields["ETag"])
      #expect(tags.insert(tag).inserted, "\(path) has the tag of another")
      #expect(try await harness.get(path, fields: [HTTPField("If-None-Match", tag)]).status == 304)
      let head = try await HTTPProbe.send("HEAD", path, to: harness.gateway.address, loop: harness.clientLoop)
      #expect(head.status == 200 && head.text.isEmpty && head.fields["ETag"] == tag, "\(path)")
      let isPicture = path.contains(".svg")
      #expect(answer.fields["Content-Type"] == (isPicture ? "image/svg+xml" : "application/json"))
      #expect(!isPicture || answer.text.hasPrefix("<svg "))
    }
    await harness.stop()
  }

  @Test("an unknown deck, zone or parameter is an error in words, on the stream and over HTTP")
  func refusals() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.decks.loaded = [.demo] }
    let probe = try await harness.probe()
    for (index, (name, zone, code)) in [
      ("clam", "UTC", "unknown_deck"), ("calm", "Europe/Berlim", "out_of_range"), ("calm", "", "out_of_range"),
      ("calm", "../../etc/passwd", "out_of_range"), ("calm", "europe/berlin", "out_of_range"),
      ("*", "UTC", "unknown_deck"), ("calm", "posix/Europe/Berlin", "out_of_range"),
    ].enumerated() {
      probe.send(Self.subscribe(name, zone, id: index))
      let reply = try await probe.first("a reply") { $0.type == "subscribed" && $0.id == index }
      let failed = (reply["failed"] as? [[String: Any]])?.first?["error"] as? [String: Any]
      #expect(failed?["code"] as? String == code, "\(name) \(zone): \(reply.text)")
    }
    probe.send(
      "{\"op\":\"subscribe\",\"id\":50,\"streams\":[{\"channel\":\"deck\",\"symbols\":[\"calm\"],\"zone\":7}]}")
    let wrong = try await probe.first("a reply") { $0.id == 50 }
    #expect(wrong.text.contains("streams[0].zone"), "\(wrong.text)")
    #expect(try await harness.get("/v1/decks/clam").status == 404)
    #expect(try await harness.get("/v1/decks/clam").text.contains("did you mean calm?"))
    #expect(try await harness.get("/v1/decks/calm?zone=Mars/Olympus").status == 400)
    #expect(try await harness.get("/v1/cards/deck/calm.svg?size=huge").status == 400)
    #expect(try await harness.get("/v1/cards/deck/clam.svg").status == 404)
    #expect(try await harness.get("/v1/decks/calm?tz=UTC").status == 400)
    await harness.stop()
  }

  @Test("a reload changes what is shown, takes a deck away and brings it back, and leaves others alone")
  func reloads() async throws {
    let (first, other) = (Self.deck("one", "First."), Self.deck("other", "Other."))
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.decks.loaded = [first, other] }
    let probe = try await harness.probe()
    probe.send(Self.subscribe("one", "Europe/Berlin"))
    probe.send(Self.subscribe("other", "Europe/Berlin", id: 2))
    try await probe.first("both") { $0.type == "snapshot" && $0.symbol == "other" }
    let before = probe.count
    #expect(reload(harness, [first, other]) == .done(changed: [], needsRestart: []))
    #expect(
      reload(harness, [Self.deck("one", "Second."), other])
        == .done(changed: ["decks: one was changed, to 1 cards"], needsRestart: []))
    try await probe.first("the second", from: before) { $0.type == "update" && $0.text.contains("Second.") }
    #expect(
      reload(harness, [other, Self.deck("three", "Third.")])
        == .done(changed: ["decks: one was removed", "decks: three was added, with 1 cards"], needsRestart: []))
    let gone = try await probe.first("that it is gone", from: before) { $0.text.contains("\"state\":\"removed\"") }
    #expect(gone["data"] as? NSDictionary == ["deck": "one", "zone": "Europe/Berlin", "state": "removed"])
    #expect(try await harness.get("/v1/decks/one").status == 404)
    #expect(reload(harness, [first, other]) != .done(changed: [], needsRestart: []))
    try await probe.first("the first again", from: before) { $0.type == "update" && $0.text.contains("First.") }
    #expect(!probe.messages[before...].contains { $0.symbol == "other" })
    #expect(Links.problems(probe.messages) == [])
    await harness.stop()
  }

  @Test("a folder is read with SIGHUP's reload: a bad file changes nothing, and says the card and the field")
  func folder() async throws {
    let folder = NSTemporaryDirectory() + "tidegate-decks-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func write(_ name: String, _ text: String) throws {
      try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }
    func card(_ quote: String, _ minutes: Int) -> String {
      "{\"quote\":\"\(quote)\",\"action\":\"A\",\"minutes\":\(minutes),\"domain\":\"health\",\"source\":\"S\"}"
    }
    try write("calm.json", "{\"cards\":[\(card("First.", 5))]}")
    try write("notes.txt", "left alone")
    let loaded = try DeckFiles.load(folder)
    #expect(loaded.map(\.name) == ["calm"])
    let harness = try GatewayHarness(venues: ["kraken"]) {
      $0.decks.directory = folder
      $0.decks.loaded = loaded
    }
    try write("calm.json", "{\"cards\":[\(card("Second.", 5))]}")
    try write("more.json", "{\"cards\":[\(card("More.", 5)),\(card("Bad.", 0))]}")
    // As without a file of settings.
    guard case .refused(let problems) = harness.gateway.reload() else {
      Issue.record("taken")
      return
    }
    #expect(
      problems == [
        "cards[1].minutes: is not allowed (file \(folder)/more.json); allowed: a whole number, 1…1440"
      ])
    #expect(try await harness.get("/v1/decks/calm").text.contains("First."))
    #expect(
      try await harness.get("/v1/decks").text == "{\"decks\":[{\"name\":\"calm\",\"title\":\"calm\",\"cards\":1}]}\n")
    try FileManager.default.removeItem(atPath: "\(folder)/more.json")
    #expect(
      harness.gateway.reload() == .done(changed: ["decks: calm was changed, to 1 cards"], needsRestart: []))
    #expect(try await harness.get("/v1/decks/calm").text.contains("Second."))
    await harness.stop()
  }

  @Test("a token without the channel sees no deck")
  func tokens() async throws {
    let keys = try (NewKey(name: "all"), NewKey(name: "few", fields: ["channels=status"]))
    let lines = NewKey.section(of: [keys.0, keys.1])
    let policy = try KeyFile.parse(Array(lines.utf8), path: "keys.yaml") { _ in nil }
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: policy)) {
      $0.decks.loaded = [.demo]
    }
    for path in ["/v1/decks", "/v1/decks/calm", "/v1/cards/deck/calm.svg"] {
      #expect(try await harness.get(path).status == 401)
      for (key, status) in [(keys.0, 200), (keys.1, 403)] {
        let answer = try await harness.get(path, fields: [HTTPField("Authorization", "Bearer \(key.text)")])
        #expect(answer.status == status, "\(path) \(answer.text)")
        if status == 200 { #expect(answer.fields["Cache-Control"]?.hasPrefix("private, ") == true) }
      }
    }
    await harness.stop()
  }
}
