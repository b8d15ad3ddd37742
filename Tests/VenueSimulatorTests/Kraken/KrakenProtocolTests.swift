import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator

/// A Kraken book kept from the raw text by the venue's rules: apply, truncate, checksum over the ten best.
private struct KrakenBook {
  /// Price and size as printed, best first.
  var bids: [(price: String, qty: String)] = []
  var asks: [(price: String, qty: String)] = []

  /// The `{"price":…,"qty":…}` of an array, with the numbers' own characters.
  static func read(_ text: String, _ side: String) -> [(price: String, qty: String)] {
    let start = text.range(of: "\"\(side)\":[")!.upperBound
    let list = text[start..<text.range(of: "]", range: start..<text.endIndex)!.lowerBound]
    return list.matches(of: /\{"price":([0-9.]+),"qty":([0-9.]+)\}/).map { (String($0.1), String($0.2)) }
  }

  mutating func apply(_ text: String, isSnapshot: Bool, depth: Int) {
    if isSnapshot { (bids, asks) = ([], []) }
    Self.merge(&bids, Self.read(text, "bids"), depth) { $0 > $1 }
    Self.merge(&asks, Self.read(text, "asks"), depth) { $0 < $1 }
  }

  private static func merge(
    _ side: inout [(price: String, qty: String)], _ changes: [(price: String, qty: String)], _ depth: Int,
    _ isBetter: (Double, Double) -> Bool
  ) {
    for change in changes {
      side.removeAll { $0.price == change.price }
      if Double(change.qty)! != 0 { side.append(change) }
    }
    side.sort { isBetter(Double($0.price)!, Double($1.price)!) }
    side = Array(side.prefix(depth))
  }

  /// CRC-32 bit by bit, over text without points and leading zeros.
  var checksum: UInt32 {
    var text = ""
    for level in asks.prefix(10) + bids.prefix(10) {
      for number in [level.price, level.qty] { text += number.filter { $0 != "." }.drop { $0 == "0" } }
    }
    var crc: UInt32 = ~0
    for byte in text.utf8 {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
    }
    return ~crc
  }

  static func announced(_ text: String) -> UInt32 {
    UInt32(text.firstMatch(of: /"checksum":([0-9]+)/)!.1)!
  }
}

@Suite("Simulated Kraken", .longComputation)
struct KrakenProtocolTests {
  static func subscribe(_ channel: String, _ symbols: [String], depth: Int? = nil, extra: String = "") -> String {
    let list = symbols.map { "\"\($0)\"" }.joined(separator: ",")
    let depth = depth.map { ",\"depth\":\($0)" } ?? ""
    return
      #"{"method":"subscribe","params":{"channel":"\#(channel)","symbol":[\#(list)]\#(depth)\#(extra)},"req_id":7}"#
  }

  @Test("the documented checksum example")
  func checksumVector() {
    var book = KrakenBook()
    let asks =
      "45285.2/0.00100000 45286.4/1.54571953 45286.6/1.54571109 45289.6/1.54560911 45290.2/0.15890660 45291.8/1.54553491 "
      + "45294.7/0.04454749 45296.1/0.35380000 45297.5/0.09945542 45299.5/0.18772827"
    let bids =
      "45283.5/0.10000000 45283.4/1.54582015 45282.1/0.10000000 45281.0/0.10000000 45280.3/1.54592586 45279.0/0.07990000 "
      + "45277.6/0.03310103 45277.5/0.30000000 45277.3/1.54602737 45276.6/0.15445238"
    func read(_ text: String) -> [(price: String, qty: String)] {
      text.split(separator: " ").map { ($0.split(separator: "/").map(String.init)) }.map { ($0[0], $0[1]) }
    }
    book.asks = read(asks)
    book.bids = read(bids)
    #expect(book.checksum == 3_310_070_434)
  }

  @Test(
    "books of every depth follow from the messages, and every checksum holds", arguments: testSeeds(2), [10, 25, 100])
  func books(seed: UInt64, depth: Int) throws {
    let venue = try makeVenue("kraken", seed: seed, rate: 60)
    let client = try TestClient(venue)
    let symbols = ["BTC/USD", "DOGE/USD", "ZEC/USD"]
    client.send(Self.subscribe("book", symbols, depth: depth))
    var books: [String: KrakenBook] = [:]
    var updates = 0
    for _ in 0..<60 {
      venue.run(0.1, client)
      for text in client.take() where text.hasPrefix(#"{"channel":"book""#) {
        let symbol = String(text.firstMatch(of: /"symbol":"([^"]+)"/)!.1)
        let isSnapshot = text.contains(#""type":"snapshot""#)
        books[symbol, default: KrakenBook()].apply(text, isSnapshot: isSnapshot, depth: depth)
        #expect(books[symbol]!.checksum == KrakenBook.announced(text), "seed \(seed): \(text)")
        if !isSnapshot { updates += 1 }
      }
      // The truth, in the same digits.
      for symbol in symbols {
        let state = venue.market.instruments.first { $0.instrument.venueSymbol == symbol }!
        let digits = Int(state.instrument.priceScale)
        let bids = books[symbol]!.bids.map {
          PriceLevel(price: exact($0.price, digits: digits)!, size: exact($0.qty, digits: 8)!)
        }
        let asks = books[symbol]!.asks.map {
          PriceLevel(price: exact($0.price, digits: digits)!, size: exact($0.qty, digits: 8)!)
        }
        #expect(bids == state.book.top(.bid, depth) && asks == state.book.top(.ask, depth), "seed \(seed) \(symbol)")
      }
    }
    #expect(updates > 400, "only \(updates)")
  }

  @Test("status on connect, with an id beyond Int64")
  func status() throws {
    let client = try TestClient(try makeVenue("kraken"))
    let text = try #require(client.take().first)
    #expect(
      text.hasPrefix(
        #"{"channel":"status","type":"update","data":[{"version":"2.0.10","system":"online","api_version":"v2","connection_id":"#
      ))
    let id = try #require(UInt64(text.firstMatch(of: /"connection_id":([0-9]+)/)!.1))
    #expect(id > UInt64(Int64.max))
  }

  @Test("one acknowledgement per symbol, refusals beside them")
  func acknowledgements() throws {
    let client = try TestClient(try makeVenue("kraken"))
    _ = client.take()
    client.send(Self.subscribe("trade", ["BTC/USD", "XBT/USD", "ETH/USD"]))
    let texts = client.take().filter { !$0.hasPrefix(#"{"channel""#) }
    #expect(texts.count == 3)
    let good = try parse(texts[0])
    #expect(good.string("method") == "subscribe" && good["success"] as? Bool == true && good.int("req_id") == 7)
    #expect(good.object("result")?.string("symbol") == "BTC/USD")
    #expect(good.string("time_in")?.wholeMatch(of: /2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil)
    let bad = try parse(texts[1])
    #expect(bad.string("error") == "Currency pair not supported XBT/USD" && bad["success"] as? Bool == false)
    #expect(bad.string("symbol") == "XBT/USD" && bad["result"] == nil)
    client.send(#"{"method":"subscribe","params":{"channel":"book","symbol":["BTC/USD"],"depth":11}}"#)
    #expect(try parse(client.take().last!)["success"] as? Bool == false)
    client.send("{")
    #expect(try parse(client.take().last!).string("error") == "Malformed request")
    client.send(#"{"method":"ping","req_id":101}"#)
    let pong = try parse(client.take().last!)
    #expect(pong.string("method") == "pong" && pong.int("req_id") == 101)
  }

  @Test("the last 50 trades come as a snapshot; afterwards ids are dense and trades those of the market")
  func trades() throws {
    let venue = try makeVenue("kraken", rate: 80)
    let client = try TestClient(venue)
    _ = client.take()
    client.send(Self.subscribe("trade", ["BTC/USD"]))
    venue.run(5, client)
    let messages = try client.take().filter { $0.hasPrefix(#"{"channel":"trade""#) }.map(parse)
    #expect(messages[0].string("type") == "snapshot" && messages[0].objects("data").count == 50)
    let ids = messages.flatMap { $0.objects("data") }.map { $0.int("trade_id")! }
    #expect(zip(ids, ids.dropFirst()).allSatisfy { $1 == $0 + 1 })
    #expect(ids.count > 70)
    #expect(Int64(ids.last!) == venue.market.instruments[0].tradeID)
  }

  @Test("a heartbeat each second when nothing else is sent, and only after a subscription")
  func heartbeats() throws {
    let venue = try makeVenue("kraken", rate: 0.001)
    let client = try TestClient(venue)
    venue.run(3, client)
    #expect(client.take().count == 1)
    client.send(Self.subscribe("book", ["LTC/USD"]))
    _ = client.take()
    venue.run(5, client)
    #expect(client.take().filter { $0 == #"{"channel":"heartbeat"}"# }.count == 5)
  }

  @Test("unsubscribing ends a stream; a second time is refused")
  func unsubscribe() throws {
    let venue = try makeVenue("kraken")
    let client = try TestClient(venue)
    client.send(Self.subscribe("book", ["BTC/USD"], depth: 25))
    let text = #"{"method":"unsubscribe","params":{"channel":"book","symbol":["BTC/USD"],"depth":25},"req_id":8}"#
    _ = client.take()
    client.send(text)
    #expect(try parse(client.take()[0])["success"] as? Bool == true)
    venue.run(1, client)
    #expect(client.take().allSatisfy { $0 == #"{"channel":"heartbeat"}"# })
    client.send(text)
    #expect(try parse(client.take()[0])["success"] as? Bool == false)
  }

  @Test("tickers by trade and by best bid and offer carry the day")
  func tickers() throws {
    let venue = try makeVenue("kraken", rate: 60)
    let client = try TestClient(venue)
    client.send(Self.subscribe("ticker", ["BTC/USD"], extra: #","event_trigger":"bbo""#))
    venue.run(2, client)
    let texts = client.take().filter { $0.hasPrefix(#"{"channel":"ticker""#) }
    #expect(texts.count > 20)
    let data = try parse(texts.last!).objects("data")[0]
    let state = venue.market.instruments[0]
    let bid = String(texts.last!.firstMatch(of: /"bid":([0-9.]+)/)!.1)
    #expect(exact(bid, digits: 1) == state.book.bestBid!.price)
    #expect(
      (data["low"] as! Double) <= (data["vwap"] as! Double) && (data["vwap"] as! Double) <= (data["high"] as! Double))
  }

  @Test("instruments: the channel has v2 names, the REST list v1 names")
  func instruments() throws {
    let venue = try makeVenue("kraken")
    let client = try TestClient(venue)
    _ = client.take()
    client.send(#"{"method":"subscribe","params":{"channel":"instrument","snapshot":true},"req_id":1}"#)
    let snapshot = try parse(client.take()[1])
    let pairs = snapshot.object("data")!.objects("pairs")
    #expect(pairs.count == 8 && pairs[0].string("symbol") == "BTC/USD" && pairs[0].int("price_precision") == 1)
    #expect(pairs[6].string("symbol") == "DOGE/USD" && pairs[6]["price_increment"] as? Double == 1e-7)
    let list = try parse(venue.respond(path: "/0/public/AssetPairs", query: []).body)
    let result = list.object("result")!
    #expect(result.object("XXBTZUSD")?.string("wsname") == "XBT/USD")
    #expect(result.object("XXBTZUSD")?.int("pair_decimals") == 1)
    #expect(result.object("XDGUSD")?.string("wsname") == "XDG/USD" && result.count == 8)
  }

  @Test("the same seed gives the same bytes, whatever the steps")
  func sameBytes() throws {
    var runs: [[String]] = []
    for step in [10_000, 37_000, 1_000_000] as [Int64] {
      let venue = try makeVenue("kraken", seed: 11, rate: 50)
      let client = try TestClient(venue)
      client.send(Self.subscribe("book", ["BTC/USD", "ADA/USD"], depth: 25))
      client.send(Self.subscribe("trade", ["BTC/USD"]))
      var time = testStart
      while time < testStart + 4_000_000 {
        time = min(time + step, testStart + 4_000_000)
        venue.advance(to: time)
      }
      runs.append(client.take())
    }
    #expect(runs[0].count > 200 && runs[0] == runs[1] && runs[0] == runs[2])
  }
}
