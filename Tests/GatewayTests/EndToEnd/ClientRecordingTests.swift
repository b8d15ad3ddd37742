import Bytes
import Foundation
import MarketData
import Settings
import TestTraits
import Testing
import TidegateClient
import TidegateEpoll
import Transport
import VenueSimulator
import Venues

@testable import Gateway
@testable import Recordings

/// A recording, played by an exchange on a socket, followed by a gateway, read by a client.
@Suite("A recording as an exchange, end to end", .serialized, .realTime)
struct ClientRecordingTests {
  private static let start = Timestamp(microseconds: 1_700_000_000_000_000)

  /// A few seconds of Coinbase: a book of two levels a side, then a better bid every 20 ms.
  private static func write(to path: String) throws {
    let writer = try RecordingWriter(
      path: path,
      header: RecordingHeader(
        venue: "coinbase", market: "spot", symbols: ["ABC-USD"], channels: ["level2_batch", "matches"], started: start))
    func text(_ json: String, _ milliseconds: Int64) throws {
      try Array(json.utf8).withUnsafeBytes { try writer.text($0, connection: 0, at: start + milliseconds * 1_000) }
    }
    try writer.open(url: "wss://ws-feed.exchange.coinbase.com", connection: 0, at: start)
    try text(
      #"{"type":"subscriptions","channels":[{"name":"level2_batch","product_ids":["ABC-USD"]}]}"#, 1)
    try text(
      #"{"type":"snapshot","product_id":"ABC-USD","bids":[["10.00","1.5"],["9.99","2"]],"asks":[["10.60","3"],["10.70","4"]]}"#,
      2)
    for step in 1...50 as ClosedRange<Int64> {
      let price = "10.\(step < 10 ? "0" : "")\(step)"
      try text(
        #"{"type":"l2update","product_id":"ABC-USD","time":"2023-11-14T22:13:20.000000Z","changes":[["buy","\#(price)","1"]]}"#,
        step * 20)
    }
    // The last level stands for a while before the connection ends, so that a client that is late sees it, too.
    try text(#"{"type":"subscriptions","channels":[{"name":"level2_batch","product_ids":["ABC-USD"]}]}"#, 1_300)
    try writer.finish()
  }

  private static func load(_ path: String) throws -> RecordedSource {
    let source = try ReplaySource(path: path)
    var recording = RecordedSource(venue: source.venue.name, path: "/")
    let reader = try RecordingReader(path: path)
    while let record = try reader.next() {
      guard record.kind == .text else { continue }
      let isAdded = recording.add(frame: reader.payload.unsafeBytes, at: record.time)
      #expect(isAdded)
    }
    let isAdded = source.instruments.withUnsafeBytes {
      recording.add(answer: $0, to: "https://h/products", status: 200, at: .distantPast)
    }
    #expect(isAdded)
    return recording
  }

  @Test("the book at the end is the recording's, for every connection anew")
  func book() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).ndjson.gz")
    defer { try? FileManager.default.removeItem(at: file) }
    try Self.write(to: file.path)
    let recording = try Self.load(file.path)
    #expect(recording.count == 53)
    let loop = try EventLoop(index: 0, label: "test.recording")
    let exchange = try SimulatedExchange(
      recording: recording, listen: SocketAddress(host: "127.0.0.1", port: 0), tls: nil, loop: loop)
    #expect(exchange.venue == "coinbase")
    let harness = try GatewayHarness(venues: []) { configuration in
      configuration.feeds = [
        .init(venue: "coinbase", symbols: ["ABC-USD"], endpoint: exchange.webSocketURL, restEndpoint: exchange.restURL)
      ]
    }
    var patience = Patience()
    while try await harness.get("/v1/instruments").text.contains("ABC-USD") == false {
      try await patience.wait(for: "the instrument")
    }
    let url = try GatewayURL("ws://\(harness.gateway.address.description)/v1/stream")
    let follower = ClientFollower(
      GatewayClient(url: url, transport: .epoll),
      StreamRequest.book("coinbase:ABC-USD", depth: .levels100, every: .zero).untyped)
    // Twice: after the first end the gateway comes back and gets all of it again.
    try await follower.wait("the last level, two times") { events -> Bool? in
      var times = 0
      var wasThere = false
      for book in events.compactMap(\.book) {
        let isThere =
          book.bids.count == 52 && book.bids.first?.price.description == "10.50" && book.asks.map(\.size) == [3, 4]
        if isThere, !wasThere { times += 1 }
        wasThere = isThere
      }
      return times >= 2 ? true : nil
    }
    exchange.stop()
    await harness.stop()
    await withCheckedContinuation { continuation in loop.shutdown { continuation.resume() } }
  }
}
