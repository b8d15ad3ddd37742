import TestTraits
import Testing

@testable import Gateway

/// The subprotocol `tidegate.v1.bin`, over sockets.
@Suite("Binary records, end to end", .serialized, .realTime)
struct BinaryTests {
  private static let channels = ["trades", "quote", "book", "pulse", "ticker", "candles", "sparkline"]

  private static func subscribe(_ channels: [String]) -> String {
    let items = channels.map { #"{"channel":"\#($0)","symbols":["kraken:BTC-USD"],"interval_ms":0}"# }
    return #"{"op":"subscribe","id":2,"streams":[\#(items.joined(separator: ","))]}"#
  }

  @Test("a client that offers it gets records of every channel; replies, heartbeats and feeds stay text")
  func records() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 60)
    try await harness.waitUntilLive()
    let probe = try await harness.probe(subprotocol: "tidegate.v1.bin")
    probe.send(#"{"op":"hello","id":1,"heartbeat_s":1}"#)
    probe.send(Self.subscribe(Self.channels))
    let reply = try await probe.first("the reply") { $0.type == "subscribed" }
    let items = reply["ok"] as? [[String: Any]] ?? []
    #expect(items.count == Self.channels.count)
    #expect(items.allSatisfy { $0["encoding"] as? String == "binary" && $0["base"] is Int })
    for channel in Self.channels {
      try await probe.first("a snapshot of \(channel)") { $0.type == "snapshot" && $0.channel == channel }
    }
    for channel in ["trades", "quote", "book", "pulse"] {
      try await probe.first("an update of \(channel)") { $0.type == "update" && $0.channel == channel }
    }
    let beat = try await probe.first("a heartbeat") { $0.type == "heartbeat" && ($0["sent"] as? Int ?? 0) > 0 }
    #expect(beat["feeds"] != nil)
    #expect(probe.records >= Self.channels.count + 4)
    let text = try await harness.probe()
    text.send(Self.subscribe(["quote"]))
    try await text.first("a snapshot") { $0.type == "snapshot" }
    #expect(text.records == 0)
    await harness.stop()
  }
}
