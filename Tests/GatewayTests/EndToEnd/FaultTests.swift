import Foundation
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

/// With each fault of a venue: clients are told, nothing is published from a book out of sync, it is right again
/// afterwards, and the other symbols of the connection never stop.
@Suite("Faults, end to end", .serialized, .realTime)
struct FaultTests {
  private static func subscribe(_ symbols: [String]) -> String {
    let list = symbols.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"op":"subscribe","id":1,"streams":[{"channel":"status"},"#
      + #"{"channel":"book","symbols":[\#(list)],"depth":25,"interval_ms":0}]}"#
  }

  /// One symbol's book is broken; it is resynchronised and the other one goes on meanwhile.
  private func oneSymbol(_ venue: String, _ symbol: String, other: String, fault: String, reason: String) async throws {
    let harness = try GatewayHarness(venues: [venue])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(Self.subscribe([symbol, other]))
    try await probe.first("updates of both") { $0.type == "update" && $0.symbol == symbol }
    try await probe.first("updates of both") { $0.type == "update" && $0.symbol == other }
    let before = probe.count
    harness.exchanges[venue]!.inject(try Fault(parsing: fault))
    let told = try await probe.first("a status that says so", from: before) {
      $0.channel == "status" && $0.text.contains(symbol) && $0.text.contains(reason)
    }
    let snapshot = try await probe.first("a fresh snapshot", from: before) {
      $0.type == "snapshot" && $0.symbol == symbol && $0["reason"] as? String == "resync"
    }
    try await probe.first("updates after it", from: before) {
      $0.type == "update" && $0.symbol == symbol && $0.seq > snapshot.seq
    }
    // All of it may have been over before anything happened to the other one.
    try await probe.first("updates of the other one", from: before) { $0.type == "update" && $0.symbol == other }
    let messages = probe.messages
    #expect(Links.problems(messages) == [])
    // Between the status and the snapshot nothing of that book, and the other symbol went on.
    let from = messages.firstIndex { $0.text == told.text }!
    let to = messages.firstIndex { $0.text == snapshot.text }!
    if from < to {
      #expect(!messages[from..<to].contains { $0.type == "update" && $0.symbol == symbol })
    }
    let otherBooks = messages[before...].filter { $0.symbol == other }
    #expect(!otherBooks.contains { $0.type == "snapshot" }, "the other symbol was resynchronised too")
    #expect(!otherBooks.isEmpty)
    try await rightAgain(harness, probe, symbol)
    await harness.stop()
  }

  /// The book that was rebuilt from the stream is one that `/v1/books` shows.
  private func rightAgain(_ harness: GatewayHarness, _ probe: StreamProbe, _ symbol: String) async throws {
    let served = try await harness.get("/v1/books/\(symbol)?depth=25")
    #expect(served.status == 200, "\(served.text)")
    let seen = probe.count
    try await probe.first("more", from: seen + 5) { $0.type == "update" && $0.symbol == symbol }
    #expect(Links.books(probe.messages).values.contains(BookCopy(served.json).text))
  }

  @Test("Kraken: a wrong checksum costs one symbol")
  func checksum() async throws {
    try await oneSymbol(
      "kraken", "kraken:ZEC-USD", other: "kraken:BTC-USD", fault: "checksum=ZEC-USD", reason: "checksum mismatch")
  }

  @Test("Kraken: a lost book update costs one symbol")
  func krakenGap() async throws {
    try await oneSymbol(
      "kraken", "kraken:ZEC-USD", other: "kraken:BTC-USD", fault: "gap=ZEC-USD", reason: "checksum mismatch")
  }

  @Test("Binance: a gap in the update ids costs one symbol")
  func gap() async throws {
    try await oneSymbol(
      "binance", "binance:ZEC-USDT", other: "binance:BTC-USDT", fault: "gap=ZEC-USDT", reason: "sequence gap")
  }

  @Test(
    "a dropped connection: everybody is told, everything is resynchronised",
    arguments: ["kraken", "coinbase", "binance"])
  func drop(venue: String) async throws {
    let harness = try GatewayHarness(venues: [venue])
    try await harness.waitUntilLive()
    let symbol = "\(venue):\(GatewayHarness.symbols[venue]![0])"
    let probe = try await harness.probe()
    probe.send(Self.subscribe([symbol]))
    try await probe.first("an update") { $0.type == "update" && $0.symbol == symbol }
    let before = probe.count
    harness.exchanges[venue]!.inject(try Fault(parsing: "drop"))
    try await probe.first("the status", from: before) { $0.channel == "status" && $0.text.contains("\"reconnecting\"") }
    try await probe.first("a heartbeat that says so", from: before) { $0.type == "heartbeat" }
    try await probe.first("a fresh snapshot", from: before) {
      $0.type == "snapshot" && $0.symbol == symbol && $0["reason"] as? String == "resync"
    }
    try await probe.first("live again", from: before + 1) {
      $0.channel == "status" && $0.text.contains("\"state\":\"live\"")
    }
    #expect(Links.problems(probe.messages) == [])
    try await rightAgain(harness, probe, symbol)
    await harness.stop()
  }

  @Test("an unreadable frame costs that frame", arguments: ["kraken", "coinbase", "binance"])
  func malformed(venue: String) async throws {
    let harness = try GatewayHarness(venues: [venue])
    try await harness.waitUntilLive()
    let symbol = "\(venue):\(GatewayHarness.symbols[venue]![0])"
    let probe = try await harness.probe()
    probe.send(Self.subscribe([symbol]))
    try await probe.first("an update") { $0.type == "update" && $0.symbol == symbol }
    harness.exchanges[venue]!.inject(try Fault(parsing: "malformed"))
    var patience = Patience()
    while true {
      let metrics = try await harness.get("/metrics", internal: true).text
      if metrics.contains("tidegate_feed_rejected_total{venue=\"\(venue)\",connection=\"\(venue)\"} 1") { break }
      try await patience.wait(for: "the refused frame to be counted; \(metrics)")
    }
    try await harness.waitUntilLive()
    let seen = probe.count
    try await probe.first("updates go on", from: seen) { $0.type == "update" && $0.symbol == symbol }
    #expect(Links.problems(probe.messages) == [])
    try await rightAgain(harness, probe, symbol)
    await harness.stop()
  }

  @Test("silence on an open connection: the feed is called stale, and live again when data comes")
  func silence() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let symbol = "kraken:BTC-USD"
    let probe = try await harness.probe()
    probe.send(Self.subscribe([symbol]))
    try await probe.first("an update") { $0.type == "update" && $0.symbol == symbol }
    let before = probe.count
    harness.exchanges["kraken"]!.inject(try Fault(parsing: "silence=8"))
    try await probe.first("the status", from: before) { $0.channel == "status" && $0.text.contains("\"stale\"") }
    let told = probe.count
    try await probe.first("a heartbeat that says so", from: before) {
      $0.type == "heartbeat" && $0.text.contains("\"state\":\"stale\"")
    }
    try await probe.first("live again", from: told) { $0.channel == "status" && $0.text.contains("\"state\":\"live\"") }
    try await probe.first("updates again", from: told) { $0.type == "update" && $0.symbol == symbol }
    #expect(Links.problems(probe.messages) == [])
    try await rightAgain(harness, probe, symbol)
    await harness.stop()
  }

  @Test("a backend that has died behind a socket that answers pings: stale, another connection, live again")
  func deadBackend() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let symbol = "kraken:BTC-USD"
    let probe = try await harness.probe()
    probe.send(Self.subscribe([symbol]))
    try await probe.first("an update") { $0.type == "update" && $0.symbol == symbol }
    let before = probe.count
    harness.exchanges["kraken"]!.inject(try Fault(parsing: "pongs-only"))
    try await probe.first("the status", from: before) {
      $0.channel == "status" && $0.text.contains("\"stale\"") && $0.text.contains("no market data")
    }
    try await probe.first("another connection", from: before) {
      $0.channel == "status" && $0.text.contains("\"reconnecting\"") && $0.text.contains("no market data")
    }
    let told = probe.count
    try await probe.first("live again", from: told) { $0.channel == "status" && $0.text.contains("\"state\":\"live\"") }
    #expect(Links.problems(probe.messages) == [])
    try await rightAgain(harness, probe, symbol)
    await harness.stop()
  }

  @Test("a venue that says when to ask again is asked again then, not a minute later")
  func retryAfter() async throws {
    let clock = ContinuousClock()
    let began = clock.now
    let harness = try GatewayHarness(venues: ["binance"], faults: ["binance": [try Fault(parsing: "ban=2")]])
    try await harness.waitUntilLive()
    #expect(clock.now - began < .seconds(40))
    await harness.stop()
  }

  @Test("a slow handshake is waited for, and clients are served meanwhile")
  func slowHandshake() async throws {
    let harness = try GatewayHarness(
      venues: ["coinbase", "kraken"], faults: ["coinbase": [try Fault(parsing: "slow-handshake=1")]])
    let status = try await harness.get("/v1/status")
    #expect(status.status == 200)
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(Self.subscribe(["coinbase:BTC-USD"]))
    try await probe.first("a snapshot") { $0.type == "snapshot" && $0.channel == "book" }
    await harness.stop()
  }
}
