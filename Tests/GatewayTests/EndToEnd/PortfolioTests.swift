import Foundation
import HTTP1
import TestTraits
import Testing
import Transport
import VenueSimulator

@testable import Gateway

@Suite("Portfolios end to end", .serialized, .realTime)
struct PortfolioTests {
  private func send(
    _ harness: GatewayHarness, _ method: String, _ path: String, _ body: String = "", fields: [HTTPField] = []
  ) async throws -> Answer {
    try await HTTPProbe.send(
      method, path, to: harness.gateway.address,
      fields: fields + (body.isEmpty ? [] : [HTTPField("Content-Type", "application/json")]), body: Array(body.utf8),
      loop: harness.clientLoop)
  }

  @Test("an asset is one that there is, as symbols write it, and what a portfolio has stays writable")
  func assets() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    func refusal(_ method: String, _ path: String, _ body: String) async throws -> String {
      let answer = try await send(harness, method, path, body)
      #expect(answer.status == 422, "\(body): \(answer.text)")
      return answer.text
    }
    func transaction(_ asset: String, _ quantity: String = "1", _ price: String = "1") -> String {
      "{\"kind\":\"buy\",\"asset\":\"\(asset)\",\"quantity\":\"\(quantity)\",\"price\":\"\(price)\"}"
    }
    let wrong = try await refusal("POST", "/v1/portfolios", "{\"name\":\"a\",\"currency\":\"usd\"}")
    #expect(wrong.contains("did you mean USD?"), "\(wrong)")
    let path = "/v1/portfolios/1"
    let made = try await send(harness, "POST", "/v1/portfolios", "{\"name\":\"a\",\"currency\":\"CHF\"}")
    #expect(made.status == 201, "\(made.text)")
    #expect(try await refusal("POST", path + "/transactions", transaction("btc")).contains("did you mean BTC?"))
    #expect(try await refusal("POST", path + "/transactions", transaction("BTX")).contains("BTC"))
    #expect(try await refusal("PATCH", path, "{\"currency\":\"eur\"}").contains("did you mean EUR?"))
    for number in ["1e5", "+1", ".5", "5.", "007"] {
      let quantity = try await refusal("POST", path + "/transactions", transaction("BTC", number))
      #expect(quantity.contains("`quantity`") && quantity.contains("plainly written"), "\(quantity)")
      #expect(try await refusal("POST", path + "/transactions", transaction("BTC", "1", number)).contains("`price`"))
    }
    #expect(try await send(harness, "POST", path + "/transactions", transaction("BTC")).status == 201)
    let value = try await harness.get(path + "/value?currency=chf")
    #expect(value.status == 400 && value.text.contains("did you mean CHF?"), "\(value.text)")
    let probe = try await harness.probe()
    probe.send(
      "{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"portfolio\",\"currency\":\"USD\","
        + "\"holdings\":[{\"asset\":\"btc\",\"quantity\":\"3\"}]}]}")
    let refused = try await probe.first("a refusal") { $0.id == 1 }
    #expect(refused.text.contains("did you mean BTC?"), "\(refused.text)")
    await harness.stop()
  }

  @Test("a portfolio is made, changed and valued over HTTP, and the stream shows the same")
  func wholeWay() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let form = "{\"name\":\"Savings\",\"currency\":\"USD\",\"method\":\"fifo\"}"
    let key = [HTTPField("Idempotency-Key", "once")]
    let made = try await send(harness, "POST", "/v1/portfolios", form, fields: key)
    #expect(made.status == 201 && made.fields["Location"] == "/v1/portfolios/1", "\(made.text)")
    #expect(try await send(harness, "POST", "/v1/portfolios", form, fields: key).status == 200)
    let path = "/v1/portfolios/1"
    let buy = "{\"kind\":\"buy\",\"asset\":\"BTC\",\"quantity\":\"0.5\",\"price\":\"10\",\"fee\":\"1\"}"
    let bought = try await send(harness, "POST", path + "/transactions", buy)
    #expect(bought.status == 201 && bought.fields["Location"] == path + "/transactions/1", "\(bought.text)")
    let cash = "{\"kind\":\"deposit\",\"asset\":\"USD\",\"quantity\":\"100\"}"
    #expect(try await send(harness, "POST", path + "/transactions", cash).status == 201)
    let read = try await harness.get(path)
    let tag = try #require(read.fields["ETag"])
    #expect(read.text.contains("{\"asset\":\"BTC\",\"quantity\":\"0.5\",\"cost\":\"6\""), "\(read.text)")
    #expect(try await harness.get(path, fields: [HTTPField("If-None-Match", tag)]).status == 304)
    let match = [HTTPField("If-Match", tag)]
    #expect(try await send(harness, "PATCH", path, "{\"name\":\"b\"}", fields: match).status == 200)
    #expect(try await send(harness, "PATCH", path, "{\"name\":\"c\"}", fields: match).status == 412)
    let sell = "{\"kind\":\"sell\",\"asset\":\"BTC\",\"quantity\":\"1\",\"price\":\"1\"}"
    let oversold = try await send(harness, "POST", path + "/transactions", sell)
    #expect(oversold.status == 422 && oversold.text.contains("more BTC leaves the portfolio"), "\(oversold.text)")
    #expect(try await send(harness, "PUT", path, "{\"name\":\"c\"}").status == 422)
    #expect(try await send(harness, "PATCH", path, "{\"nmae\":\"c\"}").status == 422)
    #expect(try await send(harness, "PATCH", path + "/transactions/1", buy).status == 405)

    let value = try await harness.get(path + "/value")
    #expect(value.status == 200 && value.json["state"] as? String == "live", "\(value.text)")
    let probe = try await harness.probe()
    probe.send(
      "{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"portfolio\",\"portfolio\":\"1\"},"
        + "{\"channel\":\"portfolio\",\"currency\":\"BTC\",\"holdings\":[{\"asset\":\"BTC\",\"quantity\":\"3\"}],"
        + "\"positions\":[{\"symbol\":\"kraken:BTC-USD\",\"side\":\"long\",\"size\":\"1\",\"leverage\":\"2\","
        + "\"entry\":\"1\"}]}]}")
    let kept = try await probe.first("a snapshot") { $0.type == "snapshot" && $0.text.contains("\"portfolio\":\"1\"") }
    #expect(kept.data["name"] as? String == "b" && kept.data["currency"] as? String == "USD", "\(kept.text)")
    #expect((kept.data["holdings"] as? [Any])?.count == 2)
    let sent = try await probe.first("a snapshot") { $0.type == "snapshot" && $0.data["currency"] as? String == "BTC" }
    let line = try #require((sent.data["positions"] as? [[String: Any]])?.first)
    #expect(line["state"] as? String == "live" && line["mark"] != nil && line["unrealised"] != nil, "\(sent.text)")
    _ = try await send(harness, "DELETE", path + "/transactions/2")
    _ = try await probe.first("a change") { $0.type == "update" && ($0.data["holdings"] as? [Any])?.count == 1 }

    let curve = try await harness.get(path + "/curve?range=1h")
    #expect(curve.status == 200 && curve.json["step_s"] as? Int == 60, "\(curve.text)")
    #expect((curve.json["points"] as? [Any])?.count == 1, "bought within this minute: \(curve.text)")
    #expect(try await send(harness, "DELETE", path).status == 204)
    _ = try await probe.first("the end") { $0.type == "update" && $0.text.contains("\"state\":\"deleted\"") }
    await harness.stop()
  }

  @Test("the curve ends with the value of the holdings at the same prices")
  func lastPoint() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "coinbase"])
    try await harness.waitUntilLive()
    _ = try await send(harness, "POST", "/v1/portfolios", "{\"name\":\"a\",\"currency\":\"USD\"}")
    for (asset, quantity) in [("BTC", "1.5"), ("ETH", "20"), ("ZEC", "300")] {
      let buy = "{\"kind\":\"buy\",\"asset\":\"\(asset)\",\"quantity\":\"\(quantity)\",\"price\":\"1\"}"
      _ = try await send(harness, "POST", "/v1/portfolios/1/transactions", buy)
    }
    // Prices stand still when the exchanges are gone, and are then those of stale markets.
    for exchange in harness.exchanges.values { exchange.stop() }
    var value: Answer?
    var patience = Patience()
    while value?.json["state"] as? String != "stale" {
      value = try await harness.get("/v1/portfolios/1/value")
      try await patience.wait(for: "markets that are not live")
    }
    let curve = try await harness.get("/v1/portfolios/1/curve?range=1h")
    let last = (curve.json["points"] as? [[String: Any]])?.last
    #expect(last?["value"] as? String == value?.json["value"] as? String, "\(curve.text) \(value?.text ?? "")")
    #expect(last != nil)
    await harness.stop()
  }

  @Test("the first example of the guide has a value on the markets of the demo")
  func guide() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "coinbase", "binance"])
    try await harness.waitUntilLive()
    let guide = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../../Sources/Gateway/Gateway.docc/Portfolios.md")
    let text = try String(contentsOf: guide, encoding: .utf8)
    // Joined at the backslashes, up to the end of the first block of commands.
    let block = text.components(separatedBy: "```sh\n")[1].components(separatedBy: "```")[0]
      .replacingOccurrences(of: "\\\n", with: " ")
    var bodies = 0
    for line in block.split(separator: "\n") {
      guard let start = line.range(of: "--json '"),
        let end = line.range(of: "'", range: start.upperBound..<line.endIndex),
        let index = line.range(of: "$api")
      else { continue }
      let path = "/v1/portfolios" + line[index.upperBound...].trimmingCharacters(in: .whitespaces)
      let answer = try await send(harness, "POST", path, String(line[start.upperBound..<end.lowerBound]))
      #expect(answer.status == 201, "\(line): \(answer.text)")
      bodies += 1
    }
    #expect(bodies == 3)
    let value = try await harness.get("/v1/portfolios/1/value")
    #expect(value.json["state"] as? String == "live" && value.json["value"] is String, "\(value.text)")
    await harness.stop()
  }

  @Test("what cannot be subscribed to says why, and does not spoil the rest")
  func mistakes() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    let many = (0..<100).map { "{\"asset\":\"A\($0)\",\"quantity\":\"1\"}" }.joined(separator: ",")
    let items = [
      "{\"channel\":\"portfolio\"}", "{\"channel\":\"portfolio\",\"portfolio\":\"7\"}",
      "{\"channel\":\"portfolio\",\"holdings\":[{\"asset\":\"BTC\",\"quantity\":\"1\"}]}",
      "{\"channel\":\"portfolio\",\"currency\":\"USD\",\"holdings\":[{\"asset\":\"BTC\",\"quantity\":\"0\"}]}",
      "{\"channel\":\"status\",\"currency\":\"USD\"}",
      "{\"channel\":\"portfolio\",\"currency\":\"USD\",\"holdings\":[{\"asset\":\"NONE\",\"quantity\":\"1\"}]}",
    ]
    probe.send("{\"op\":\"subscribe\",\"id\":1,\"streams\":[\(items.joined(separator: ","))]}")
    let reply = try await probe.first("a reply") { $0.type == "subscribed" }
    let failed = (reply["failed"] as? [[String: Any]]) ?? []
    let codes = failed.map { ($0["error"] as? [String: Any])?["code"] as? String ?? "" }
    #expect(
      codes == ["bad_request", "unknown_portfolio", "bad_request", "out_of_range", "bad_request"], "\(reply.text)")
    let missing = try await probe.first("a snapshot") { $0.type == "snapshot" }
    #expect(missing.data["state"] as? String == "missing" && missing.data["value"] == nil, "\(missing.text)")
    for number in 2...6 {
      probe.send(
        "{\"op\":\"subscribe\",\"id\":\(number),\"streams\":[{\"channel\":\"portfolio\",\"currency\":\"C\(number)\","
          + "\"holdings\":[\(many)]}]}")
    }
    let full = try await probe.first("a refusal") { $0.type == "subscribed" && $0.id == 6 }
    #expect(full.text.contains("too_many_subscriptions"), "\(full.text)")
    await harness.stop()
  }
}
