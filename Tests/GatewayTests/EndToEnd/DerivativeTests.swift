import Foundation
import HTTP1
import TestTraits
import Testing
import Transport
import VenueSimulator

@testable import Gateway

@Suite("Perpetuals from end to end", .serialized, .realTime)
struct DerivativeTests {
  @Test("a value by REST is requested once somebody asks for the market, over HTTP or in the stream, and not before")
  func demand() async throws {
    let harness = try GatewayHarness(venues: ["bitget", "gemini"])
    try await harness.waitUntilLive()
    let bitget = try #require(harness.exchanges["bitget"])
    let before = bitget.statistics.requests
    let probe = try await harness.probe()
    probe.send(#"{"op":"hello","id":1}"#)
    // One comes each second.
    try await probe.first("a heartbeat") { $0.type == "heartbeat" }
    #expect(bitget.statistics.requests == before, "nobody has asked")
    var patience = Patience()
    var derivative: [String: Any] = [:]
    while derivative["funding_interval_s"] == nil {
      let answer = try await harness.get("/v1/derivatives/bitget:BTC-USDT-PERP")
      derivative = answer.status == 200 ? answer.json["derivative"] as? [String: Any] ?? [:] : [:]
      try await patience.wait(for: "the interval of funding: \(answer.text)")
    }
    #expect(bitget.statistics.requests == before + 1)
    #expect(derivative["funding_interval_s"] as? Int == 28_800)
    #expect(derivative["polled"] as? [String] == ["funding_interval_s"])
    for name in ["mark", "index", "funding_rate", "open_interest"] { #expect(derivative[name] is String, "\(name)") }

    var funding: [[String: Any]] = []
    while funding.isEmpty {
      let answer = try await harness.get("/v1/funding/bitget:BTC-USDT-PERP?limit=3")
      funding = answer.status == 200 ? answer.json["funding"] as? [[String: Any]] ?? [] : []
      try await patience.wait(for: "past settlements: \(answer.text)")
    }
    let times = funding.compactMap { $0["time"] as? Int64 }
    #expect(times.count == 3 && times == times.sorted() && funding.allSatisfy { $0["rate"] is String })
    #expect(bitget.statistics.requests == before + 2)

    probe.send(#"{"op":"subscribe","streams":[{"channel":"derivative","symbols":["gemini:BTC-GUSD-PERP"]}]}"#)
    try await probe.first("a rate that is computed from an amount") {
      $0.channel == "derivative" && $0.text.contains(#""funding_rate":""#) && $0.text.contains(#""open_interest":""#)
    }
    await harness.stop()
  }

  @Test("perpetuals of several venues are one market, and what the venues say only on demand is asked for")
  func composite() async throws {
    let harness = try GatewayHarness(venues: ["bitget", "bybit"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","streams":[{"channel":"derivative","symbols":["composite:BTC-USDT-PERP"]},"#
        + #"{"channel":"quote","symbols":["composite:BTC-USDT-PERP"]}]}"#)
    try await probe.first("both venues, with the rate of Bitget, whose interval is only by REST") {
      $0.channel == "derivative" && $0.text.contains(#""venues":["bitget","bybit"]"#)
        && $0.text.contains(#""funding_interval_s":28800"#) && $0.text.contains(#""open_interest_quote":""#)
    }
    try await probe.first("a quote of both") {
      $0.channel == "quote" && $0.text.contains(#""venues":["bitget","bybit"]"#)
    }
    await harness.stop()
  }

  @Test("rules on funding and on liquidations fire; the venue is asked for liquidations because of the rule")
  func alerts() async throws {
    let harness = try GatewayHarness(venues: ["bybit"])
    try await harness.waitUntilLive()
    let figures = [
      #""type":"funding","is":"below","percent":"100""#,
      #""type":"liquidations","is":"above","value":"0.01","window_min":5"#,
    ]
    for figure in figures {
      let rule = #"{"name":"x","rule":{"condition":{"symbol":"bybit:BTC-USDT-PERP",\#(figure)}}}"#
      let made = try await HTTPProbe.send(
        "POST", "/v1/alerts", to: harness.gateway.address, host: nil,
        fields: [HTTPField("Content-Type", "application/json")], body: Array(rule.utf8), loop: harness.clientLoop)
      #expect(made.status == 201, "\(made.text)")
      let path = "/v1/alerts/\(try #require(made.json["id"] as? String))"
      var patience = Patience()
      while try await !harness.get(path).text.contains(#""state":"alerting""#) {
        try await patience.wait(for: "the rule to fire: \(figure)")
      }
    }
    await harness.stop()
  }
}
