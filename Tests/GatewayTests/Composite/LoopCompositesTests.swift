import Foundation
import HTTP1
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

@Suite("Composites and conversions, end to end", .serialized, .realTime)
struct LoopCompositesTests {
  private static let subscribe = #"""
    {"op":"subscribe","id":1,"streams":[
      {"channel":"quote","symbols":["composite:BTC-USD"]},{"channel":"ticker","symbols":["composite:BTC-USD"]},
      {"channel":"pulse","symbols":["composite:BTC-USD"]},{"channel":"rate","symbols":["ZEC-BTC"],"interval_ms":250}]}
    """#

  @Test("venues on different loops are one market; who is lost leaves it at once, and the stream agrees with HTTP")
  func life() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "coinbase"], loops: 2)
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(Self.subscribe)
    let reply = try await probe.first("the reply") { $0.type == "subscribed" }
    #expect((reply["ok"] as? [Any])?.count == 4 && (reply["failed"] as? [Any])?.isEmpty == true, "\(reply.text)")
    for channel in ["quote", "ticker", "pulse"] {
      try await probe.first("a snapshot of \(channel)") { $0.type == "snapshot" && $0.channel == channel }
    }
    let both = try await probe.first("both venues") {
      $0.channel == "quote" && $0.data["venues"] as? [String] == ["coinbase", "kraken"]
    }
    #expect(both.data["state"] as? String == "live" && both.data["simulated"] as? Bool == true, "\(both.text)")
    let rate = try await probe.first("a rate") { $0.channel == "rate" && $0.data["state"] as? String == "live" }
    #expect((rate.data["path"] as? [String])?.count == 2 && rate.data["age_ms"] as? Int != nil, "\(rate.text)")
    let served = try await harness.get("/v1/rates?base=ZEC&quote=BTC")
    // An answer that a client may keep has the time of its oldest price in place of its age.
    let fields = Set(rate.data.keys).subtracting(["age_ms"]).union(["time"])
    #expect(Set(served.json.keys) == fields, "\(served.text)")
    // Nothing is worked out more often than the tick says, whichever loops the members are on.
    let seen = probe.messages.count { $0.channel == "quote" && $0.type == "update" }
    let began = ContinuousClock.now
    for _ in 0..<3 {
      let now = probe.count
      try await probe.first("a heartbeat", from: now) { $0.type == "heartbeat" }
    }
    let ticks = Int((ContinuousClock.now - began) / .milliseconds(100)) + 3
    #expect(probe.messages.count { $0.channel == "quote" && $0.type == "update" } - seen <= ticks)
    let count = probe.count
    harness.exchanges["coinbase"]?.stop()
    let single = try await probe.first("one venue alone", from: count) {
      $0.channel == "quote" && $0.data["state"] as? String == "single"
    }
    #expect(single.data["bid_venue"] as? String == "kraken" && single.data["ask_venue"] as? String == "kraken")
    let absent = single.data["absent"] as? [[String: String]] ?? []
    #expect(absent.count == 1 && absent.first?["venue"] == "coinbase" && absent.first?["reason"]?.isEmpty == false)
    let quote = try await harness.get("/v1/quotes/composite:BTC-USD")
    #expect(quote.json["state"] as? String == "single", "\(quote.text)")
    #expect(Links.problems(probe.messages) == [])
    await harness.stop()
  }

  @Test("book, candles, line and pictures of a composite are answers like those of any market, and a lost venue leaves")
  func answers() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "coinbase"], loops: 2)
    try await harness.waitUntilLive()
    let symbol = "composite:BTC-USD"
    let book = try await harness.get("/v1/books/\(symbol)?depth=10")
    #expect(book.status == 200 && book.json["state"] as? String == "live", "\(book.text)")
    #expect(book.json["venues"] as? [String] == ["coinbase", "kraken"] && book.json["simulated"] as? Bool == true)
    for side in ["bids", "asks"] {
      let levels = book.json[side] as? [[String]] ?? []
      #expect(levels.count == 10 && levels.allSatisfy { $0.count == 2 }, "\(book.text)")
    }
    let named = try await harness.get("/v1/books/\(symbol)?depth=10&venues=true")
    let levels = (named.json["bids"] as? [[Any]] ?? []).compactMap { $0.last as? [String] }
    #expect(levels.count == 10 && levels.allSatisfy { !$0.isEmpty }, "\(named.text)")
    #expect(try await harness.get("/v1/books/kraken:BTC-USD?venues=true").status == 400)

    var patience = Patience()
    var candles = try await harness.get("/v1/candles/\(symbol)?limit=5")
    while (candles.json["candles"] as? [Any])?.isEmpty ?? true {
      try await patience.wait(for: "a candle: \(candles.text)")
      candles = try await harness.get("/v1/candles/\(symbol)?limit=5")
    }
    #expect(candles.json["interval"] as? String == "1m" && candles.fields["ETag"] != nil, "\(candles.text)")
    let line = try await harness.get("/v1/sparklines/\(symbol)?points=24")
    #expect((line.json["points"] as? [String])?.isEmpty == false && line.json["trend"] is String, "\(line.text)")
    for path in ["/v1/cards/price/\(symbol).svg", "/v1/sparklines/\(symbol).svg?width=200"] {
      let picture = try await harness.get(path)
      #expect(picture.status == 200 && picture.fields["Content-Type"] == "image/svg+xml", "\(picture.text)")
      #expect(picture.text.contains("BTC price: "), "\(picture.text)")
    }
    for path in ["books", "candles", "sparklines"] {
      let unknown = try await harness.get("/v1/\(path)/composite:NONE-USD")
      #expect(unknown.status == 404 && unknown.json["code"] as? String == "unknown_symbol", "\(unknown.text)")
    }

    harness.exchanges["coinbase"]?.stop()
    var left = book
    while left.json["state"] as? String != "single" {
      left = try await harness.get("/v1/books/\(symbol)")
      try await patience.wait(for: "one venue alone: \(left.text)")
    }
    #expect(left.json["venues"] as? [String] == ["kraken"], "\(left.text)")
    harness.exchanges["kraken"]?.stop()
    while left.status != 503 {
      left = try await harness.get("/v1/books/\(symbol)")
      try await patience.wait(for: "no venue: \(left.text)")
    }
    let stale = try await harness.get("/v1/candles/\(symbol)")
    #expect(stale.status == 200 && stale.json["state"] as? String == "stale", "\(stale.text)")
    await harness.stop()
  }
}
