import Foundation
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("Simulated Gemini, archived socket")
struct GeminiArchiveTests {
  private static func request(_ type: String, _ symbols: [String], name: String = "l2") -> String {
    let list = symbols.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"type":"\#(type)","subscriptions":[{"name":"\#(name)","symbols":[\#(list)]}]}"#
  }

  /// A number without the zeros at its end, as a count of 10^-`digits`; nil if it has more digits.
  private static func count(_ text: String, digits: Int) -> Int64? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let fraction = parts.count > 1 ? String(parts[1]) : ""
    guard parts.count <= 2, fraction.count <= digits, fraction.last != "0" else { return nil }
    return Int64(String(parts[0]) + fraction + String(repeating: "0", count: digits - fraction.count))
  }

  @Test("the whole book comes first, and every change after it", arguments: testSeeds(3))
  func books(seed: UInt64) throws {
    let venue = try makeVenue("gemini", seed: seed, rate: 60)
    let client = try TestClient(venue, path: GeminiProtocol.archivePath)
    venue.run(0.333, client)
    client.send(Self.request("subscribe", ["BTCUSD", "DOGEGUSDPERP"]))
    venue.run(4, client)
    venue.advance(to: venue.now + 67_000)
    #expect((venue.now - testStart) % 100_000 == 0)
    var sides: [String: TestSide] = [:]
    var updates = 0
    for message in try client.take().map(parse) where message.string("type") == "l2_updates" {
      let name = message.string("symbol")!
      let isWhole = message["trades"] != nil
      #expect(isWhole == (sides[name + "buy"] == nil) && isWhole == (message["auction_events"] != nil))
      let instrument = venue.market.instruments.first { $0.instrument.venueSymbol == name.lowercased() }!.instrument
      for change in message.pairs("changes") {
        let price = try #require(exact(change[1], digits: Int(instrument.priceScale)))
        let size = try #require(Self.count(change[2], digits: Int(instrument.sizeScale)), "\(change) seed \(seed)")
        sides[name + change[0], default: [:]][price] = size == 0 ? nil : size
      }
      updates += isWhole ? 0 : 1
    }
    #expect(updates > 40)
    for name in ["BTCUSD", "DOGEGUSDPERP"] {
      let book = venue.market.instruments.first { $0.instrument.venueSymbol == name.lowercased() }!.book
      #expect(levels(sides[name + "buy"]!) { $0 < $1 } == book.bids, "seed \(seed) \(name)")
      #expect(levels(sides[name + "sell"]!) { $0 > $1 } == book.asks, "seed \(seed) \(name)")
    }
  }

  @Test(
    "trades have the taker's side and the current socket's numbers; the first message has the latest, the newest first")
  func trades() throws {
    let venue = try makeVenue("gemini", rate: 60)
    let client = try TestClient(venue, path: GeminiProtocol.archivePath)
    let current = try TestClient(venue)
    current.send(GeminiProtocolTests.request(1, "subscribe", ["btcusd@trade"]))
    client.send(Self.request("subscribe", ["BTCUSD"]))
    let first = try parse(client.take()[0]).objects("trades").map { $0.int("event_id")! }
    #expect(first.count == GeminiProtocol.replayed && first == first.sorted(by: >))
    venue.run(3, client, current)
    let trades = try client.take().map(parse).filter { $0.string("type") == "trade" }
    let others = try current.take().dropFirst().map(parse)
    #expect(trades.count > 10 && trades.map { $0.int("event_id") } == others.map { $0.int("t") })
    for (trade, other) in zip(trades, others) {
      #expect(trade.string("side") == (other["m"] as? Bool == true ? "sell" : "buy"))
      #expect(Double(trade.string("quantity")!) == Double(other.string("q")!))
    }
  }

  @Test("names are in upper case; what is left is silent; a heartbeat every five seconds")
  func requests() throws {
    let venue = try makeVenue("gemini", faults: ["refuse=ZEC-USD"])
    let client = try TestClient(venue, path: GeminiProtocol.archivePath)
    let refusal = #"{"reason":"NoValidTradingPairs","result":"error"}"#
    for names in [["btcusd"], ["ZECUSD"], ["XYZUSD"], []] {
      client.send(Self.request("subscribe", names))
      #expect(client.take() == [refusal], "\(names)")
    }
    client.send(Self.request("subscribe", ["BTCUSD"], name: "candles_1m"))
    #expect(client.take() == [refusal])
    client.send("[]")
    #expect(client.take().count == 1)
    client.send(Self.request("subscribe", ["XYZUSD", "ETHUSD"]))
    client.send(Self.request("subscribe", ["ETHUSD"]))
    #expect(try client.take().map(parse).map { $0.string("symbol") } == ["ETHUSD"])
    client.send(Self.request("unsubscribe", ["ETHUSD"]))
    venue.run(11, client)
    let types = try client.take().map(parse).map { $0.string("type") }
    #expect(types == ["heartbeat", "heartbeat"])
    venue.close(client.session)
    venue.run(1)
  }
}
