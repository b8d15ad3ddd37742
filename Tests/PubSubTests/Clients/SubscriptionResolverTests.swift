import MarketData
import Testing

@testable import PubSub

@Suite("Which streams a request names")
struct SubscriptionResolverTests {
  private let now = Timestamp(microseconds: 1_790_000_000_000_000)

  private func resolver(nameLimit: Int = 1_000) -> SubscriptionResolver {
    var resolver = SubscriptionResolver(nameLimit: nameLimit)
    resolver.directory.venues = ["kraken", "late"]
    for (index, base) in ["BTC", "ETH", "ZEC"].enumerated() {
      let instrument = Instrument(
        id: InstrumentID(index), venue: "kraken", venueSymbol: base, base: base, quote: "USD", priceScale: 1,
        sizeScale: 8)
      resolver.directory.update(DirectoryEntry(loop: 0, market: 0, instrument: instrument, bookState: .live))
    }
    return resolver
  }

  private func item(_ channel: ChannelName, _ symbols: String...) -> ClientRequest.Item {
    ClientRequest.Item(channelText: channel.rawValue, channel: channel, symbols: symbols)
  }

  private func asker(
    limit: Int = 100, count: Int = 0, degraded: UInt16 = 0, grant: Grant = .everything
  )
    -> SubscriptionResolver.Asker
  { .init(grant: grant, count: count, limit: limit, degraded: degraded) }

  @Test("a stream is named once, whatever ways lead to it, in the order of the request")
  func once() {
    var resolver = resolver()
    let items = [
      item(.quote, "kraken:ZEC-USD"), item(.quote, "kraken:*", "*:BTC-USD"), item(.trades, "kraken:ETH-USD"),
    ]
    let result = resolver.resolve(items, for: asker(), now: now) {
      $0.symbol == "kraken:ETH-USD" && $0.channel == .quote
    }
    #expect(result.failures.isEmpty)
    #expect(
      result.matches.map { "\($0.key.channel) \($0.key.symbol)" } == [
        "quote kraken:ZEC-USD", "quote kraken:BTC-USD", "quote kraken:ETH-USD", "trades kraken:ETH-USD",
      ])
    #expect(result.matches.map(\.isPresent) == [false, false, true, false])
  }

  @Test("what is over the limit is refused, and what the client has does not count twice")
  func limit() {
    var resolver = resolver()
    let result = resolver.resolve([item(.quote, "kraken:*")], for: asker(limit: 3, count: 1), now: now) {
      $0.symbol == "kraken:BTC-USD"
    }
    #expect(result.matches.count == 3 && result.failures.isEmpty)
    let less = resolver.resolve([item(.quote, "kraken:*")], for: asker(limit: 2, count: 1), now: now) { _ in false }
    #expect(less.matches.count == 1)
    #expect(less.failures.map(\.error.code) == [.tooManySubscriptions])
  }

  @Test("each failure belongs to its item and says what it is")
  func failures() {
    var resolver = resolver()
    let grant = Grant(subject: "a", channels: [.quote], symbols: [SymbolRules(["kraken:BTC-USD"])!])
    let items = [
      item(.trades, "kraken:BTC-USD"), item(.quote, "kraken:ETH-USD"), item(.quote, "late:BTC-USD"),
      item(.quote, "kraken:NONE-USD"), item(.quote, "kraken:*"),
    ]
    let result = resolver.resolve(items, for: asker(grant: grant), now: now) { _ in false }
    #expect(result.failures.map(\.item) == [0, 1, 2, 3])
    #expect(result.failures.map(\.error.code) == [.forbidden, .forbidden, .notReady, .unknownSymbol])
    #expect(result.matches.map(\.key.symbol) == ["kraken:BTC-USD"])
  }

  @Test("a client that was slowed down joins the slower class, but for events")
  func degraded() {
    var resolver = resolver()
    let items = [item(.quote, "kraken:BTC-USD"), item(.trades, "kraken:BTC-USD")]
    let result = resolver.resolve(items, for: asker(degraded: 1000), now: now) { _ in false }
    #expect(result.matches.map(\.key.intervalMilliseconds) == [1000, 0])
    #expect(result.matches.map(\.wanted) == [0, 0])
  }
}
