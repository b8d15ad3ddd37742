import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Deribit")
struct DeribitProtocolTests {
  private static func request(_ id: Int, _ method: String, _ parameters: String = "{}") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"public/\#(method)","params":\#(parameters)}"#
  }

  private static func channels(_ names: String...) -> String {
    #"{"channels":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]}"#
  }

  @Test(
    "numbers are printed in their shorter form, with a digit after the point",
    arguments: [
      (0, 2, "0.0"), (922_885, 1, "92288.5"), (10_540_000, 4, "1.054e3"), (105_400, 2, "1054.0"), (2_200, 0, "2.2e3"),
      (1, 4, "1.0e-4"), (19_352, 5, "0.19352"), (-5, 1, "-0.5"), (1_742, 8, "1.742e-5"), (34, 0, "34.0"),
    ])
  func numbers(_ value: Int, _ scale: Int, _ text: String) {
    var out = ByteBuffer()
    out.append(float: Int64(value), scale: UInt8(scale))
    // Of two forms of one length either will do.
    #expect(Double(out.description) == Double(text) && out.description.utf8.count <= text.utf8.count)
    #expect(out.description.contains("."))
  }

  @Test("books follow from snapshot and chained changes", arguments: testSeeds(3))
  func books(seed: UInt64) throws {
    let venue = try makeVenue("deribit", seed: seed, rate: 100)
    let client = try TestClient(venue)
    venue.run(0.333, client)
    client.send(Self.request(1, "subscribe", Self.channels("book.BTC_USDC-PERPETUAL.100ms")))
    var sides: [String: [Double: Double]] = ["bids": [:], "asks": [:]]
    var last = -1
    var changes = 0
    for _ in 0..<60 {
      venue.run(0.05, client)
      for message in try client.take().map(parse) {
        guard let data = message.object("params")?.object("data") else { continue }
        if data.string("type") == "change" {
          #expect(data.int("prev_change_id") == last)
          changes += 1
        } else {
          #expect(data.string("type") == "snapshot" && data["prev_change_id"] == nil)
        }
        last = data.int("change_id")!
        for key in ["bids", "asks"] {
          for level in data[key] as! [[Any]] {
            let (price, size) = (level[1] as! Double, level[2] as! Double)
            sides[key]![price] = level[0] as! String == "delete" ? nil : size
          }
        }
      }
    }
    #expect(changes > 20)
    let end = venue.now
    venue.advance(to: end + 1_000)
    let state = venue.market.instruments[0]
    let (p, s) = (pow(10, Double(state.instrument.priceScale)), pow(10, Double(state.instrument.sizeScale)))
    func levels(_ key: String) -> [PriceLevel] {
      sides[key]!.map { PriceLevel(price: Int64(($0.key * p).rounded()), size: Int64(($0.value * s).rounded())) }
    }
    // What happened since the last batch may be missing.
    let truth = Set(state.book.bids + state.book.asks)
    let got = Set(levels("bids") + levels("asks"))
    #expect(truth.subtracting(got).count < 30 && got.count > 200, "seed \(seed)")
  }

  @Test("an answer lists the channels that there are, in another order; refusals have the venue's codes")
  func answers() throws {
    let client = try TestClient(try makeVenue("deribit", faults: ["refuse=ZEC-USDC-PERP"]))
    client.send(
      Self.request(
        3, "subscribe",
        Self.channels(
          "trades.BTC_USDC-PERPETUAL.100ms", "quote.XYZ_USDC-PERPETUAL", "book.BTC_USDC-PERPETUAL.5ms",
          "book.ZEC_USDC-PERPETUAL.100ms", "platform_state")))
    let answer = try parse(client.take()[0])
    #expect(answer["result"] as? [String] == ["platform_state", "trades.BTC_USDC-PERPETUAL.100ms"])
    func code(_ text: String) throws -> Int? {
      client.send(text)
      return try parse(client.take().last!).object("error")?.int("code")
    }
    #expect(try code(Self.request(4, "subscribe", Self.channels("book.BTC_USDC-PERPETUAL.raw"))) == 13778)
    #expect(try code(Self.request(5, "nothing")) == -32601)
    #expect(try code(Self.request(6, "set_heartbeat", #"{"interval":5}"#)) == -32602)
    #expect(try code("[]") == 11050)
    client.send(Self.request(7, "unsubscribe", Self.channels("trades.BTC_USDC-PERPETUAL.100ms", "quote.X")))
    #expect(try parse(client.take().last!)["result"] as? [String] == ["trades.BTC_USDC-PERPETUAL.100ms"])
  }

  @Test("subscribing again sends no second snapshot; credits run out")
  func creditsAndSnapshots() throws {
    let client = try TestClient(try makeVenue("deribit"))
    let subscribe = Self.request(1, "subscribe", Self.channels("book.BTC_USDC-PERPETUAL.100ms"))
    client.send(subscribe)
    #expect(client.take().filter { $0.contains("snapshot") }.count == 1)
    client.send(subscribe)
    #expect(client.take().allSatisfy { !$0.contains("snapshot") })
    for _ in 0..<8 { client.send(subscribe) }
    #expect(client.closed == nil)
    client.send(subscribe)
    #expect(client.take().last?.contains("too_many_requests") == true && client.closed == 1008)
  }

  @Test("test requests must be answered; without heartbeat and subscriptions a connection ends")
  func heartbeats() throws {
    let venue = try makeVenue("deribit")
    let (good, bad, idle) = (try TestClient(venue), try TestClient(venue), try TestClient(venue))
    for client in [good, bad] { client.send(Self.request(1, "set_heartbeat", #"{"interval":10}"#)) }
    for _ in 0..<700 {
      venue.run(0.1, good, bad, idle)
      if good.take().contains(where: { $0.contains("test_request") }) { good.send(Self.request(2, "test")) }
    }
    #expect(good.closed == nil && !good.isAborted && bad.closed == 4000 && idle.isAborted)
  }

  @Test("instruments are of every currency unless one is named, summaries of one")
  func lists() throws {
    let venue = try makeVenue("deribit")
    func get(_ method: String, _ query: [(name: String, value: String)]) throws -> Int? {
      try parse(venue.respond(path: "/api/v2/public/\(method)", query: query).body).objects("result").count
    }
    let count = venue.market.instruments.count
    #expect(try get("get_instruments", []) == count)
    #expect(try get("get_instruments", [("currency", "USDC"), ("kind", "future")]) == count)
    #expect(try get("get_instruments", [("currency", "BTC")]) == 0)
    #expect(try get("get_book_summary_by_currency", [("currency", "USDC")]) == count)
    #expect(venue.respond(path: "/api/v2/public/get_book_summary_by_currency", query: []).status == 400)
  }

  @Test("a planned shutdown is told to those who follow the platform's state")
  func shutdown() throws {
    let venue = try makeVenue("deribit")
    let client = try TestClient(venue)
    client.send(Self.request(1, "subscribe", Self.channels("platform_state")))
    _ = client.take()
    try venue.inject(Fault(.plannedShutdown))
    #expect(client.take().contains { $0.contains(#""maintenance":true"#) })
    venue.run(1.2, client)
    #expect(client.closed == 1001)
  }
}
