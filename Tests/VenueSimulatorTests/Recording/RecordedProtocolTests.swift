import Bytes
import MarketData
import Testing

@testable import VenueSimulator

/// Frames at 0, 1 and 3 s; answers for AB at -1, 2 and 4 s, for CD at 2 s.
private func makeSource() -> RecordedSource {
  var source = RecordedSource(venue: "binance", path: "/stream")
  func add(_ text: String, _ seconds: Double) -> Bool {
    Array(text.utf8).withUnsafeBytes { source.add(frame: $0, at: testStart + Int64(seconds * 1e6)) }
  }
  func answer(_ text: String, _ url: String, _ seconds: Double) -> Bool {
    Array(text.utf8).withUnsafeBytes {
      source.add(answer: $0, to: url, status: 200, at: testStart + Int64(seconds * 1e6))
    }
  }
  let depth = "https://api.binance.example/api/v3/depth"
  let isWhole =
    answer("[]", "https://api.binance.example/api/v1/exchangeInfo", -2)
    && answer("ab-1", depth + "?symbol=AB&limit=1000", -1) && add("one", 0) && add("two", 1)
    && answer("ab2", depth + "?limit=1000&symbol=ab", 2) && answer("cd2", depth + "?symbol=CD", 2)
    && add("three", 3) && answer("ab4", depth + "?symbol=AB", 4)
  #expect(isWhole)
  return source
}

private func makeRecordedVenue(_ faults: [String] = []) throws -> SimulatedVenue {
  // Another day than the recording's: only distances count.
  try SimulatedVenue(
    recording: makeSource(), faults: faults.map { try Fault(parsing: $0) }, start: testStart + 30 * Microseconds.day)
}

private func get(_ venue: SimulatedVenue, _ symbol: String, version: Int = 3) -> (delay: Int64, body: String) {
  let query = [(name: "symbol", value: symbol), (name: "limit", value: "5000")]
  return (
    venue.delay(path: "/api/v\(version)/depth", query: query),
    venue.respond(path: "/api/v\(version)/depth", query: query).body
  )
}

@Suite("A recording as a venue")
struct RecordedProtocolTests {
  @Test("every session gets all frames from its first message on, at the pace of the recording")
  func pace() throws {
    let venue = try makeRecordedVenue()
    let first = try TestClient(venue)
    venue.run(5, first)
    #expect(first.texts.isEmpty)
    first.send("subscribe")
    #expect(first.texts == ["one"])
    venue.run(0.99, first)
    #expect(first.texts == ["one"])
    first.send("more")
    venue.run(0.02, first)
    #expect(first.texts == ["one", "two"])
    let second = try TestClient(venue)
    second.send("subscribe")
    venue.run(1.5, first, second)
    #expect(first.texts == ["one", "two"] && second.texts == ["one", "two"])
    venue.run(0.6, first, second)
    #expect(first.texts == ["one", "two", "three"] && second.texts == ["one", "two"])
  }

  @Test("streams named in the URL begin without a message")
  func query() throws {
    let venue = try makeRecordedVenue()
    let client = try TestClient(venue, path: "/stream", query: [("streams", "ab@depth")])
    venue.run(0.02, client)
    #expect(client.texts == ["one"])
  }

  @Test("the end closes the connection, and a client that comes back gets all of it again")
  func end() throws {
    let venue = try makeRecordedVenue()
    for _ in 0..<2 {
      let client = try TestClient(venue)
      client.send("subscribe")
      venue.run(3.1, client)
      #expect(client.texts == ["one", "two", "three"] && client.closed == 1001)
      venue.close(client.session)
    }
  }

  @Test("REST answers come at their time or later, never earlier, whatever the version and the limit")
  func answers() throws {
    let venue = try makeRecordedVenue()
    #expect(get(venue, "AB") == (0, "ab-1"))
    #expect(venue.respond(path: "/api/v3/exchangeInfo", query: [("symbol", "AB")]).body == "[]")
    #expect(venue.respond(path: "/api/v3/ticker", query: []).status == 404)
    let client = try TestClient(venue)
    client.send("subscribe")
    #expect(get(venue, "AB", version: 1) == (0, "ab-1"))
    // There is nothing of CD before 2 s.
    #expect(get(venue, "CD").delay == 2_000_000)
    venue.run(1.5, client)
    #expect(get(venue, "CD").delay == 500_000)
    #expect(get(venue, "AB") == (0, "ab-1"))
    venue.run(0.5, client)
    #expect(get(venue, "CD") == (0, "cd2") && get(venue, "ab") == (0, "ab2"))
  }

  @Test("faults strike what is sent; those that need to know it are refused")
  func faults() throws {
    let venue = try makeRecordedVenue(["gap"])
    let client = try TestClient(venue)
    client.send("subscribe")
    venue.run(1.1, client)
    #expect(client.texts == ["two"])
    try venue.inject(Fault(.drop))
    client.drain()
    #expect(client.isAborted)
    for fault in ["refuse=AB", "planned-shutdown", "gap=AB"] {
      #expect(throws: FaultError.self) { try venue.inject(Fault(parsing: fault)) }
    }
  }
}
