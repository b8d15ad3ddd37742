import Bytes
import MarketData
import TestTraits
import Testing
import Venues

@testable import VenueSimulator

@Suite("Many symbols on one venue", .longComputation)
struct ManySymbolsTests {
  /// What a request costs at Binance spot.
  private static func weight(_ path: String) -> Int {
    if path.contains("/exchangeInfo") { return 20 }
    if path.contains("limit=1000") { return 50 }
    if path.contains("limit=500") { return 25 }
    return path.contains("/depth") ? 5 : 2
  }

  private static let venueLimit = 6_000

  @Test(
    "Binance spot with 500 symbols: every book live in under two minutes, and no minute takes more than half of the weight limit"
  )
  func binance() throws {
    let start = Timestamp(microseconds: 1_795_000_000_000_000)
    let excerpt = SimulatedExcerpt(invented: 500, quote: "USDT", levels: 20)
    let simulated = try SimulatedVenue(
      venue: "binance", seed: 5, rate: 0.5, faults: [], start: start, excerpt: excerpt)
    let venue = try #require(VenueRegistry.venue(named: "binance"))
    let connections = venue.connections(for: FeedConfiguration(symbols: excerpt.symbols))
    #expect(connections.map(\.venue.label) == ["binance", "binance-2"])
    #expect(connections.map(\.configuration.symbols.count) == [250, 250])
    let lines = connections.map { venue, configuration in
      let line = WiredLine(
        FeedPipeline(venue: venue, configuration: configuration), simulated, latency: 20_000, restLatency: 200_000)
      line.settled = { [unowned line] in line.pipeline.clear() }
      return line
    }
    var now = start
    var liveAt: Timestamp?
    var progress: [Int] = []
    func booksLive() -> Int { lines.reduce(0) { $0 + $1.pipeline.market.instruments.count { $0.bookState == .live } } }
    while now - start < 3 * Microseconds.minute, liveAt == nil || now - liveAt! < 5 * Microseconds.second {
      now = now + 20_000
      simulated.advance(to: now)
      for line in lines { line.advance(to: now) }
      if (now - start) % (10 * Microseconds.second) == 0 { progress.append(booksLive()) }
      if liveAt == nil, booksLive() == 500 { liveAt = now }
    }
    #expect(lines.flatMap(\.problems) == [])
    let took = try #require(liveAt.map { $0 - start }, "\(booksLive()) of 500 books are live after 3 minutes")
    let requests = lines.flatMap(\.requests).map { (at: $0.at - start, weight: Self.weight($0.path)) }
      .sorted { $0.at < $1.at }
    // Rolling, so that it holds wherever the venue's minute begins.
    var heaviest = 0
    for (index, first) in requests.enumerated() {
      var sum = 0
      for request in requests[index...] where request.at - first.at < Microseconds.minute { sum += request.weight }
      heaviest = max(heaviest, sum)
    }
    var perTenSeconds: [Int] = []
    for request in requests {
      let slot = Int(request.at / (10 * Microseconds.second))
      while perTenSeconds.count <= slot { perTenSeconds.append(0) }
      perTenSeconds[slot] += request.weight
    }
    print(
      "500 symbols of Binance spot: all live after \(Double(took) / 1e6) s, \(requests.count) requests of weight",
      "\(requests.reduce(0) { $0 + $1.weight }); by tens of seconds \(perTenSeconds); heaviest minute \(heaviest) of",
      "\(Self.venueLimit); books live every 10 s \(progress)")
    #expect(took < 2 * Microseconds.minute)
    // The instrument lists are not paced: 20 each.
    #expect(heaviest <= Self.venueLimit / 2 + 40)
    for line in lines {
      let sent = line.messagesSent
      for (index, moment) in sent.enumerated() where index >= 5 {
        #expect(moment.at - sent[index - 5].at >= Microseconds.second, "more than five messages in a second")
      }
    }
  }

  @Test(
    "OKX, Bybit, Bitget, Kraken and Coinbase with 200 symbols: spread as their limits ask, and all books live",
    arguments: ["okx", "bybit", "bitget", "kraken", "coinbase"])
  func others(name: String) throws {
    let start = Timestamp(microseconds: 1_795_000_000_000_000)
    let quote = ["okx", "bybit", "bitget"].contains(name) ? "USDT" : "USD"
    let excerpt = SimulatedExcerpt(invented: 200, quote: quote, levels: 12)
    let simulated = try SimulatedVenue(venue: name, seed: 6, rate: 0.5, faults: [], start: start, excerpt: excerpt)
    let venue = try #require(VenueRegistry.venue(named: name))
    let connections = venue.connections(for: FeedConfiguration(symbols: excerpt.symbols))
    #expect(connections.count == ["okx": 3, "bybit": 2, "bitget": 17, "kraken": 1, "coinbase": 2][name])
    let lines = connections.map { venue, configuration in
      let line = WiredLine(
        FeedPipeline(venue: venue, configuration: configuration), simulated, latency: 20_000, restLatency: 200_000)
      line.settled = { [unowned line] in line.pipeline.clear() }
      return line
    }
    func booksLive() -> Int { lines.reduce(0) { $0 + $1.pipeline.market.instruments.count { $0.bookState == .live } } }
    var now = start
    while now - start < Microseconds.minute, booksLive() < 200 {
      now = now + 20_000
      simulated.advance(to: now)
      for line in lines { line.advance(to: now) }
    }
    #expect(lines.flatMap(\.problems) == [])
    #expect(booksLive() == 200)
    print("200 symbols of \(name): all live after \(Double(now - start) / 1e6) s over \(lines.count) connections")
  }
}
