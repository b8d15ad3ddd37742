import Bytes
import Foundation
import MarketData
import TestTraits
import Testing

@testable import VenueSimulator

@Suite("Faults", .longComputation)
struct FaultTests {
  @Test("the text form")
  func grammar() throws {
    #expect(try Fault(parsing: "drop=10") == Fault(.drop, at: 10, every: 10))
    #expect(try Fault(parsing: "drop=100frames") == Fault(.drop, frames: 100))
    #expect(try Fault(parsing: "drop@5/20") == Fault(.drop, at: 5, every: 20))
    #expect(try Fault(parsing: "drop") == Fault(.drop))
    #expect(try Fault(parsing: "silence=2.5@1") == Fault(.silence, seconds: 2.5, at: 1))
    #expect(try Fault(parsing: "gap=ZEC-USD@5") == Fault(.gap, symbol: "ZEC-USD", at: 5))
    #expect(try Fault(parsing: "malformed") == Fault(.malformed))
    #expect(try Fault(parsing: "slow=3@1/9") == Fault(.slow, seconds: 3, at: 1, every: 9))
    #expect(try Fault(parsing: "stale-snapshot=BTC-USDT@2") == Fault(.staleSnapshot, symbol: "BTC-USDT", at: 2))
    #expect(try Fault(parsing: "slow-handshake=2") == Fault(.slowHandshake, seconds: 2))
    #expect(try Fault(parsing: "planned-shutdown@3") == Fault(.plannedShutdown, at: 3))
    #expect(try Fault(parsing: "pongs-only@5") == Fault(.pongsOnly, at: 5))
    #expect(try Fault(parsing: "mute=trades") == Fault(.mute, channel: "trades"))
    #expect(try Fault(parsing: "mute=quote:60@5") == Fault(.mute, channel: "quote", seconds: 60, at: 5))
    #expect(try Fault(parsing: "mute=ticker:ZEC-USD") == Fault(.mute, symbol: "ZEC-USD", channel: "ticker"))
    #expect(
      try Fault(parsing: "mute=book:2.5:ZEC-USD") == Fault(.mute, symbol: "ZEC-USD", channel: "book", seconds: 2.5))
    #expect(try Fault(parsing: "answers-only=60@5/90") == Fault(.answersOnly, seconds: 60, at: 5, every: 90))
  }

  @Test(
    "what is not in the grammar is refused with what is",
    arguments: [
      ("", "there are: drop"), ("explode", "there are: drop"), ("drop=x", "drop takes"), ("drop=5@5", "drop takes"),
      ("silence", "silence takes SECONDS"), ("silence=-1", "silence takes SECONDS"),
      ("silence=nan", "silence takes SECONDS"),
      ("gap=", "a symbol like ZEC-USD"), ("gap@", "after @ come the seconds"), ("gap@5/0", "after @ come the seconds"),
      ("refuse", "a symbol like ZEC-USD"), ("half-open=3", "no value"), ("pongs-only=", "SECONDS in which"),
      ("drop=0frames", "Nframes"), ("mute", "book, trades, quote or ticker"), ("mute=all", "book, trades"),
      ("mute=book:", "book, trades"), ("mute=book:1:A-B:C", "book, trades"), ("mute=book:A-B:C", "book, trades"),
    ])
  func refusals(text: String, hint: String) {
    do {
      _ = try Fault(parsing: text)
      Issue.record("'\(text)' was accepted")
    } catch {
      #expect(error.description.contains(hint), "\(error.description)")
    }
  }

  @Test("what a venue cannot have, or does not list, is refused")
  func applicability() throws {
    #expect(throws: SimulatorError.self) { try makeVenue("coinbase", faults: ["checksum"]) }
    #expect(throws: SimulatorError.self) { try makeVenue("binance", faults: ["checksum"]) }
    #expect(throws: SimulatorError.self) { try makeVenue("kraken", faults: ["gap=NOPE-USD"]) }
    #expect(throws: SimulatorError.self) { try makeVenue("kraken", faults: ["stale-snapshot"]) }
    #expect(throws: SimulatorError.unknownVenue("nyse")) { try makeVenue("nyse") }
    #expect(throws: SimulatorError.badRate(0)) { try makeVenue("kraken", rate: 0) }
    _ = try makeVenue("kraken", faults: ["gap=ZEC/USD", "gap=zec-usd"])
  }

  /// The same session with and without a fault.
  private func compare(
    _ name: String, _ subscribe: String, _ fault: String
  ) throws -> (plain: [String], struck: [String], venue: SimulatedVenue) {
    let plain = try makeVenue(name, rate: 60)
    let struck = try makeVenue(name, rate: 60, faults: [fault])
    let (a, b) = (try TestClient(plain), try TestClient(struck))
    a.send(subscribe)
    b.send(subscribe)
    plain.run(4, a)
    struck.run(4, b)
    return (a.take(), b.take(), struck)
  }

  private static let kraken = KrakenProtocolTests.subscribe("book", ["ZEC/USD", "BTC/USD"])
  private static let binance = #"{"method":"SUBSCRIBE","params":["zecusdt@depth@100ms","btcusdt@depth@100ms"],"id":1}"#

  @Test("a gap omits one book update of the symbol, and nothing else", arguments: ["kraken", "binance"])
  func gap(name: String) throws {
    let fault = name == "kraken" ? "gap=ZEC-USD@1" : "gap=ZEC-USDT@1"
    let (plain, struck, venue) = try compare(name, name == "kraken" ? Self.kraken : Self.binance, fault)
    #expect(struck.count == plain.count - 1 && venue.faultsInjected == 1)
    let index = zip(plain, struck).enumerated().first { $1.0 != $1.1 }!.offset
    var mended = struck
    mended.insert(plain[index], at: index)
    #expect(mended == plain)
    #expect(plain[index].contains("ZEC") && plain[index].contains(name == "kraken" ? "update" : "depthUpdate"))
  }

  @Test("a wrong checksum strikes one update's checksum")
  func checksum() throws {
    let (plain, struck, _) = try compare("kraken", Self.kraken, "checksum=ZEC-USD@1")
    let different = zip(plain, struck).filter { $0 != $1 }
    #expect(plain.count == struck.count && different.count == 1)
    let (a, b) = different[0]
    #expect(a.contains("ZEC/USD") && a.replacing(/"checksum":\d+/, with: "") == b.replacing(/"checksum":\d+/, with: ""))
  }

  @Test("a malformed frame is one that is cut", arguments: ["kraken", "binance"])
  func malformed(name: String) throws {
    let (plain, struck, _) = try compare(name, name == "kraken" ? Self.kraken : Self.binance, "malformed@1")
    let different = zip(plain, struck).filter { $0 != $1 }
    #expect(plain.count == struck.count && different.count == 1)
    #expect(different[0].0.hasPrefix(different[0].1))
    #expect(throws: (any Error).self) { try parse(different[0].1) }
  }

  @Test("an unreadable update has one level that is none, and says all else as it was")
  func unreadable() throws {
    let channels = #""book.ZEC_USDC-PERPETUAL.100ms","book.BTC_USDC-PERPETUAL.100ms""#
    let subscribe = #"{"jsonrpc":"2.0","id":1,"method":"public/subscribe","params":{"channels":[\#(channels)]}}"#
    for (name, subscribe) in [("kraken", Self.kraken), ("binance", Self.binance), ("deribit", subscribe)] {
      let (plain, struck, _) = try compare(name, subscribe, "unreadable@1")
      let different = zip(plain, struck).filter { $0 != $1 }
      #expect(plain.count == struck.count && different.count == 1, "\(name)")
      let (before, after) = different[0]
      let level = try #require(after.firstRange(of: ".-"))
      #expect(before == after.replacing(".-", with: "."), "\(name)")
      #expect(after[..<level.lowerBound].contains("["), "\(name): levels stand in lists: \(after.prefix(60))")
    }
  }

  @Test("duplicate, late-duplicate and reorder touch one update")
  func duplicateAndReorder() throws {
    let (plain, twice, _) = try compare("binance", Self.binance, "duplicate=BTC-USDT@1")
    let index = zip(plain, twice).enumerated().first { $1.0 != $1.1 }!.offset
    #expect(twice.count == plain.count + 1 && twice[index] == plain[index - 1])
    let (_, late, _) = try compare("binance", Self.binance, "late-duplicate=BTC-USDT@1")
    let ownLate = late.filter { $0.contains("BTCUSDT") }
    let again = zip(plain.filter { $0.contains("BTCUSDT") }, ownLate).enumerated().first { $1.0 != $1.1 }!.offset
    #expect(late.count == plain.count + 1 && ownLate[again] == ownLate[again - 2])
    let (_, swapped, _) = try compare("binance", Self.binance, "reorder=BTC-USDT@1")
    #expect(swapped != plain && swapped.sorted() == plain.sorted())
    let own = plain.filter { $0.contains("BTCUSDT") }
    let ownSwapped = swapped.filter { $0.contains("BTCUSDT") }
    let wrong = zip(own, ownSwapped).enumerated().filter { $1.0 != $1.1 }.map(\.offset)
    #expect(wrong.count == 2 && wrong[1] == wrong[0] + 1)
  }

  @Test("a silence sends nothing, answers nothing, breaks no sequence, and ends")
  func silence() throws {
    let venue = try makeVenue("binance", rate: 60, faults: ["silence=3@1"])
    let client = try TestClient(venue)
    client.send(Self.binance)
    venue.run(1.2, client)
    _ = client.take()
    client.send(#"{"method":"LIST_SUBSCRIPTIONS","id":9}"#)
    venue.run(2.6, client)
    #expect(client.take().isEmpty && client.closed == nil && venue.isSilent)
    venue.run(2, client)
    let texts = client.take()
    #expect(texts.contains { $0.hasSuffix(#""id":9}"#) })
    #expect(!venue.isSilent)
    let events = try client.texts.map(parse).filter { $0.string("s") == "BTCUSDT" }
    #expect(zip(events, events.dropFirst()).allSatisfy { $1.int("U")! == $0.int("u")! + 1 } && events.count > 15)
  }

  @Test("a slow connection gets all that was sent, late and in order; a cut comes through")
  func slow() throws {
    let venue = try makeVenue("binance", rate: 60)
    let client = try TestClient(venue)
    client.send(Self.binance)
    venue.run(1, client)
    _ = client.take()
    try venue.inject(Fault(.slow, seconds: 3))
    venue.run(2.9, client)
    #expect(client.take().isEmpty && !client.session.hasOutput)
    #expect(venue.delay(path: "/api/v3/depth", query: []) == 100_000)
    venue.run(0.2, client)
    #expect(client.take().count > 15 && venue.delay(path: "/api/v3/depth", query: []) == 0)
    let events = try client.texts.map(parse).filter { $0.string("s") == "BTCUSDT" }
    #expect(zip(events, events.dropFirst()).allSatisfy { $1.int("U")! == $0.int("u")! + 1 } && events.count > 20)
    try venue.inject(Fault(.slow, seconds: 3))
    try venue.inject(Fault(.drop))
    client.drain()
    #expect(client.isAborted)
  }

  @Test("a stale snapshot is the book of the fault's moment, once")
  func staleSnapshot() throws {
    let venue = try makeVenue("binance", rate: 60)
    let query = [(name: "symbol", value: "BTCUSDT"), (name: "limit", value: "1000")]
    func number() throws -> Int {
      try parse(venue.respond(path: "/api/v3/depth", query: query).body).int("lastUpdateId")!
    }
    let before = try number()
    try venue.inject(Fault(.staleSnapshot, symbol: "BTC-USDT"))
    venue.run(2)
    #expect(try number() == before)
    #expect(try number() > before)
  }

  @Test("a witnessed venue tells the true book with each message, and what strikes one")
  func witness() throws {
    let venue = try SimulatedVenue(
      venue: "binance", seed: 3, rate: 60, faults: [], start: testStart,
      excerpt: SimulatedExcerpt(symbols: ["ZEC-USDT", "BTC-USDT"], levels: [20, 40]))
    #expect(venue.market.instruments.map(\.instrument.symbol) == ["ZEC-USDT", "BTC-USDT"])
    #expect(venue.market.instruments[1].book.bids.count == 40)
    venue.isWitnessed = true
    let session = try venue.open(path: "/ws/btcusdt@depth@100ms", query: [])
    try venue.inject(Fault(.gap, at: 1))
    venue.advance(to: testStart + 2_000_000)
    var truth: SimulatedTruth?
    var struck = 0
    var texts = 0
    for output in session.takeOutput() {
      switch output {
      case .witness(.book(let book)): truth = book
      case .witness(.struck(let kind, let instrument, _)):
        #expect(kind == .gap && instrument == 1)
        struck += 1
      case .text(let text):
        let event = try parse(String(decoding: text.unsafeBytes, as: UTF8.self))
        #expect(event.int("u").map { Int64($0) } == truth?.updateID && truth?.instrument == 1)
        texts += 1
      default: Issue.record("\(output)")
      }
    }
    #expect(struck == 1 && texts == 19)
    #expect(truth?.book == venue.market.instruments[1].book)
  }

  @Test("drops: at a time, again and again, after frames")
  func drops() throws {
    let venue = try makeVenue("kraken", faults: ["drop=2"])
    let first = try TestClient(venue)
    venue.run(1.9, first)
    #expect(!first.isAborted)
    venue.run(0.2, first)
    #expect(first.isAborted)
    venue.close(first.session)
    let second = try TestClient(venue)
    venue.run(2, second)
    #expect(second.isAborted && venue.faultsInjected == 2)

    let counted = try TestClient(try makeVenue("kraken", rate: 60, faults: ["drop=20frames"]))
    counted.send(KrakenProtocolTests.subscribe("book", ["BTC/USD"]))
    counted.venue.run(3, counted)
    #expect(counted.texts.count == 20 && counted.isAborted)
  }

  @Test("half-open connections are open and dead; resets close with 1012")
  func deadConnections() throws {
    let venue = try makeVenue("kraken")
    let client = try TestClient(venue)
    client.send(KrakenProtocolTests.subscribe("book", ["BTC/USD"]))
    try venue.inject(Fault(.halfOpen))
    _ = client.take()
    client.send(#"{"method":"ping"}"#)
    venue.run(5, client)
    #expect(client.take().isEmpty && client.closed == nil && !client.isAborted)
    let other = try TestClient(venue)
    try venue.inject(Fault(.serverReset))
    other.drain()
    #expect(other.closed == 1012 && client.closed == nil)
  }

  @Test("refused symbols, bans and announced shutdowns")
  func others() throws {
    let venue = try makeVenue("kraken", faults: ["refuse=ZEC-USD", "ban=2@1"])
    let client = try TestClient(venue)
    client.send(KrakenProtocolTests.subscribe("book", ["ZEC/USD"]))
    #expect(client.take()[1].contains("Currency pair not supported ZEC/USD"))
    venue.run(1.1, client)
    #expect(throws: SimulatedRefusal(status: 429, reason: "Too Many Requests")) { try TestClient(venue) }
    #expect(venue.respond(path: "/0/public/AssetPairs", query: []).status == 429)
    venue.run(2, client)
    _ = try TestClient(venue)
    #expect(venue.respond(path: "/0/public/AssetPairs", query: []).status == 200)

    let binance = try makeVenue("binance")
    let raw = try TestClient(binance)
    try binance.inject(Fault(.plannedShutdown))
    #expect(try parse(raw.take()[0]).string("e") == "serverShutdown" && raw.closed == nil)
    binance.run(1.1, raw)
    #expect(raw.closed == 1001)
  }

  @Test("a fault strikes every connection that gets the frame, each once")
  func sharedFrames() throws {
    let venue = try makeVenue("kraken", rate: 60)
    let clients = [try TestClient(venue), try TestClient(venue)]
    for client in clients { client.send(Self.kraken) }
    try venue.inject(Fault(.checksum, symbol: "BTC-USD"))
    venue.run(2, clients[0], clients[1])
    #expect(venue.faultsInjected == 2)
    #expect(
      clients[0].texts.dropFirst().map { $0.replacing(/"time_.*/, with: "") }
        == clients[1].texts.dropFirst().map { $0.replacing(/"time_.*/, with: "") })
  }
}
