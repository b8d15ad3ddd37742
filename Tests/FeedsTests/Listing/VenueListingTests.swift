import Logging
import MarketData
import TestTraits
import Testing
import Transport
import VenueSimulator
import Venues

@testable import Feeds

/// A venue's list over sockets, from each simulated exchange.
@Suite("Listing a venue", .serialized, .realTime)
struct VenueListingTests {
  private func list(
    _ name: String, listing: ListingDetail = .volumes, families: Set<Instrument.Kind.Family>? = nil,
    rest: String? = nil
  ) async throws -> [ListedMarket] {
    let loop = try EventLoop(index: 0, label: "test.listing")
    let simulatorLoop = try EventLoop(index: 0, label: "test.simulator")
    let exchange = try SimulatedExchange(
      venue: name, seed: 3, rate: 1, listen: SocketAddress(host: "127.0.0.1", port: 0), tls: nil, loop: simulatorLoop)
    defer {
      exchange.stop()
      loop.shutdown {}
      simulatorLoop.shutdown {}
    }
    let venue = VenueRegistry.venue(named: name)!
    let configuration = FeedConfiguration(
      symbols: [], endpoint: exchange.webSocketURL, restEndpoint: rest ?? exchange.restURL, listing: listing)
    return try await VenueListing.markets(
      of: venue, configuration: configuration, families: families ?? venue.kinds, tls: nil, loop: loop,
      log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test("everything that a venue lists, with volumes", arguments: VenueRegistry.venues.map(\.name))
  func all(_ name: String) async throws {
    let markets = try await list(name)
    #expect(markets.map(\.symbol.text).sorted() == SimulatedVenue.symbols(of: name).sorted())
    // Gemini has no request for the volumes of all its markets.
    #expect(markets.allSatisfy { ($0.quoteVolume != nil) == (name != "gemini") })
  }

  @Test("only the kinds that are wanted, without volumes where nobody asks")
  func some() async throws {
    let markets = try await list("binance", listing: .markets, families: [.future])
    #expect(markets.map(\.symbol.text) == ["BTC-USDT-20261225"])
    #expect(markets.allSatisfy { $0.quoteVolume == nil })
  }

  @Test("a venue that cannot be reached is told with the reason")
  func unreachable() async throws {
    let loop = try EventLoop(index: 0, label: "test.listing")
    defer { loop.shutdown {} }
    // A port that was free a moment ago.
    let listener = try Listener(
      address: SocketAddress(host: "127.0.0.1", port: 0), loops: [loop], tls: nil, limits: Connection.Limits()
    ) { _ in nil }
    let address = listener.address
    listener.close()
    await #expect(throws: VenueListingError.self) {
      _ = try await VenueListing.markets(
        of: VenueRegistry.venue(named: "kraken")!,
        configuration: FeedConfiguration(
          symbols: [], endpoint: "ws://\(address.description)/v2", restEndpoint: "http://\(address.description)",
          listing: .markets),
        families: [.spot], tls: nil, loop: loop, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
  }
}
