import Decks
import Foundation
import HTTP1
import PubSub
import Settings
import TestSupport
import TestTraits
import Testing

@testable import Gateway
@testable import HTTPAPI

/// The messages of a running gateway, against the AsyncAPI document.
@Suite("Messages and the AsyncAPI document", .serialized, .realTime)
struct AsyncAPIAnswerTests {
  /// What the document says that a message has to have and does not.
  private static func missing(_ message: [String: Any], _ schema: [String: Any]) -> [String] {
    var missing = Set(schema["required"] as? [String] ?? []).subtracting(message.keys).sorted()
    for (name, part) in schema["properties"] as? [String: [String: Any]] ?? [:] {
      if let inner = message[name] as? [String: Any] { missing += Self.missing(inner, part) }
    }
    return missing
  }

  @Test("whatever a running gateway sends is what the document says, and it is served with a tag that lasts")
  func wire() async throws {
    let document = try #require(
      JSONSerialization.jsonObject(with: Data(AsyncAPIDocument.whole.bytes)) as? [String: Any])
    let messages = try #require((document["components"] as? [String: [String: Any]])?["messages"])
    let check = SchemaCheck(document)
    let harness = try GatewayHarness(venues: ["kraken", "coinbase", "bybit"]) { $0.decks.loaded = [.demo] }
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(#"{"op":"hello","id":1}"#)
    probe.send(
      #"""
      {"op":"subscribe","id":2,"streams":[
        {"channel":"trades","symbols":["kraken:BTC-USD"]},{"channel":"quote","symbols":["*:BTC-USD","composite:BTC-USD"]},
        {"channel":"ticker","symbols":["kraken:BTC-USD"]},{"channel":"pulse","symbols":["kraken:BTC-USD"]},
        {"channel":"book","symbols":["kraken:BTC-USD"]},{"channel":"sparkline","symbols":["kraken:BTC-USD"]},
        {"channel":"candles","symbols":["kraken:BTC-USD"]},{"channel":"status"},{"channel":"alerts"},
        {"channel":"rate","symbols":["ZEC-BTC"]},{"channel":"topic","symbols":["news"]},
        {"channel":"deck","symbols":["calm"]},{"channel":"derivative","symbols":["bybit:BTC-USDT-PERP"]},
        {"channel":"liquidations","symbols":["bybit:BTC-USDT-PERP"]},
        {"channel":"portfolio","currency":"USD","holdings":[{"asset":"BTC","quantity":"0.5"}]}]}
      """#)
    probe.send(#"{"op":"list","id":3}"#)
    probe.send(#"{"op":"strange","id":4}"#)
    probe.send(#"{"op":"ping","id":5}"#)
    for channel in ChannelName.allCases where channel != .topic {
      try await probe.first("a snapshot of \(channel)") { $0.type == "snapshot" && $0.channel == channel.rawValue }
    }
    for channel in ["trades", "quote", "pulse", "book", "candles", "rate", "derivative", "liquidations"] {
      try await probe.first("an update of \(channel)") { $0.type == "update" && $0.channel == channel }
    }
    try await probe.first("the pong") { $0.type == "pong" }
    try await probe.first("a heartbeat") { $0.type == "heartbeat" }
    for message in probe.messages {
      let name = message.channel.isEmpty ? message.type : "\(message.type).\(message.channel)"
      let payload = try #require((messages[name] as? [String: Any])?["payload"] as? [String: Any], "\(message.text)")
      #expect(Self.missing(message.json, payload) == [], "\(message.text)")
      guard let data = message.json["data"], !message.channel.isEmpty else { continue }
      let schema = try #require((payload["properties"] as? [String: [String: Any]])?["data"], "\(name)")
      #expect(check.problems(of: data, schema) == [], "\(message.text)")
    }
    let answer = try await harness.get("/asyncapi.json")
    #expect(answer.status == 200 && answer.fields["Cache-Control"] == "max-age=3600")
    let tag = try #require(answer.fields["ETag"])
    #expect(try await harness.get("/asyncapi.json", fields: [HTTPField("If-None-Match", tag)]).status == 304)
    // A line may be shown for a while, a price is asked for each time; 304 says the same.
    for (path, expected) in [
      ("/v1/sparklines/kraken:BTC-USD", "max-age=10"), ("/v1/tickers/kraken:BTC-USD", "no-cache"),
      ("/v1/instruments", "max-age=5"), ("/v1/cards/price/kraken:BTC-USD.svg", "max-age=10"),
      ("/v1/quotes/kraken:BTC-USD", "no-cache"),
    ] {
      let answer = try await harness.get(path)
      #expect(answer.status == 200 && answer.fields["Cache-Control"] == expected, "\(path) \(answer.text)")
      guard let tag = answer.fields["ETag"] else { continue }
      let again = try await harness.get(path, fields: [HTTPField("If-None-Match", tag)])
      #expect(again.fields["Cache-Control"] == expected, "\(path) \(again.status)")
    }
    await harness.stop()
  }
}
