import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("What HTTP shows of a market")
struct PublisherHTTPTests {
  private static let route = MarketRoute(market: 0, instrument: InstrumentID(0))

  private static func text(_ view: MarketView, _ world: World) -> String? {
    world.publishers[0].text(of: view, at: route, now: world.now).map { String(decoding: $0.fields, as: UTF8.self) }
  }

  private static func json(_ view: MarketView, _ world: World) throws -> [String: Any] {
    let text = try #require(Self.text(view, world))
    let data = Data("{\"symbol\":\"x\"\(text)}".utf8)
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  private static func ticker(
    last: Int64?, open: Int64?, change: Decimal64? = nil, percent: Decimal64? = nil, high: Int64? = nil, _ world: World
  ) {
    var ticker = Ticker(instrument: InstrumentID(0), time: world.now)
    ticker.last = last
    ticker.open = open
    ticker.high = high
    ticker.change = change
    ticker.changePercent = percent
    world.apply { $0.events.append(.ticker(ticker)) }
  }

  @Test("views are the data of the stream's snapshots, and nothing where nothing is known")
  func bodies() {
    let world = World()
    for view in [MarketView.book(depth: 25), .ticker, .sparkline(points: 24)] {
      #expect(Self.text(view, world) == nil && world.publishers[0].tag(of: view, at: Self.route, now: world.now) == nil)
    }
    #expect(Self.text(.snapshot(points: 24), world) == "")
    #expect(Self.text(.trades(limit: 5), world) == #","trades":[]"#)
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    world.trade(id: 1, price: 15)
    #expect(
      Self.text(.book(depth: 25), world)
        == #","bids":[["1.0","0.00000001"]],"asks":[["2.0","0.00000001"]],"spread":"1.0","spread_pct":"66.6667","time":1790000004000000"#
    )
    #expect(
      Self.text(.trades(limit: 5), world)
        == #","trades":[{"id":"1","price":"1.5","size":"0.01000000","side":"buy","time":1790000004000000}]"#)
    let snapshot = Self.text(.snapshot(points: 24), world) ?? ""
    #expect(snapshot.hasPrefix(#","ticker":{"last":"1.5","#))
    #expect(snapshot.contains(#""pulse":{"price":"1.5""#) && snapshot.contains(#""sparkline":{"range":"24h""#))
  }

  /// The prices and changes that a snapshot shows, each name with its values.
  private static func shown(_ world: World) throws -> (prices: Set<String>, changes: Set<String>) {
    let json = try Self.json(.snapshot(points: 24), world)
    let ticker = json["ticker"] as? [String: Any]
    let pulse = json["pulse"] as? [String: Any]
    let line = json["sparkline"] as? [String: Any]
    let prices = [ticker?["last"] as? String, pulse?["price"] as? String, (line?["points"] as? [String])?.last]
    let changes = [ticker?["change_pct_24h"] as? String, pulse?["change_pct_24h"] as? String]
    return (Set(prices.compactMap { $0 }), Set(changes.compactMap { $0 }))
  }

  @Test("a snapshot shows one price and one change, whichever of ticker, trade and pulse moved last")
  func onePrice() throws {
    let world = World()
    Self.ticker(last: 1_000, open: 900, percent: Decimal64(mantissa: 11, scale: 0), high: 1_010, world)
    world.trade(id: 1, price: 1_000)
    #expect(try Self.shown(world) == (["100.0"], ["11.00"]))
    // Newer than the ticker, and within the 100 ms of the last pulse.
    world.trade(id: 2, price: 1_080)
    #expect(try Self.shown(world) == (["108.0"], ["20.00"]))
    let ticker = try #require(try Self.json(.snapshot(points: 24), world)["ticker"] as? [String: Any])
    #expect(ticker["high_24h"] as? String == "108.0" && ticker["change_24h"] as? String == "18.0")
    let pulse = try #require(try Self.json(.snapshot(points: 24), world)["pulse"] as? [String: Any])
    #expect(pulse["direction"] as? String == "up" && pulse["previous"] as? String == "100.0")
    // A venue that says a percentage and no opening price: that follows from it.
    Self.ticker(last: 1_000, open: nil, percent: Decimal64(mantissa: 11, scale: 0), world)
    #expect(try Self.shown(world) == (["108.0"], ["19.87"]))
    // The ticker knows a price that no trade has told for a while.
    world.now = world.now + 6 * Microseconds.second
    Self.ticker(last: 1_200, open: 1_000, world)
    #expect(try Self.shown(world) == (["120.0"], ["20.00"]))
  }

  @Test("whatever comes, a snapshot's parts agree", arguments: testSeeds(8))
  func agreement(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let world = World()
    for step in 0..<60 {
      world.now = world.now + Int64.random(in: 0...2_000_000, using: &random)
      let price = Int64.random(in: 900...1_100, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let open: Int64? = Bool.random(using: &random) ? 1_000 : nil
        let percent = Bool.random(using: &random) ? Decimal64(mantissa: price - 1_000, scale: 1) : nil
        Self.ticker(last: price, open: open, percent: percent, world)
      case 1: world.quote(price - 1, price + 1)
      default: world.trade(id: UInt64(step), price: price)
      }
      let shown = try Self.shown(world)
      #expect(shown.prices.count <= 1 && shown.changes.count <= 1, "step \(step): \(shown)")
    }
  }

  @Test("equal tags mean equal texts, at every moment and after every change", arguments: testSeeds(8))
  func tags(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let views: [MarketView] = [
      .snapshot(points: 96), .snapshot(points: 1_440), .ticker, .trades(limit: 3), .sparkline(points: 24),
      .book(depth: 1), .book(depth: 0), .sparkline(.hour, points: 360), .sparkline(.all, points: 50),
    ]
    let world = World(quotesFromBook: true)
    var known = views.map { _ in [UInt64: String]() }
    var texts = 0
    for step in 0..<120 {
      if Int.random(in: 0..<3, using: &random) > 0 {
        world.now = world.now + Int64.random(in: 0...200_000_000, using: &random)
      }
      let price = Int64.random(in: 990...1_010, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: Self.ticker(last: price, open: 1_000, world)
      case 1: world.trade(id: UInt64(step), price: price)
      case 2: world.book(0, .snapshot, bids: [(price - 1, 5)], asks: [(price + 1, 5)])
      case 3: world.book(0, .delta, bids: [(980, Int64(step % 3))], asks: [])
      default: break
      }
      for (index, view) in views.enumerated() {
        let tag = world.publishers[0].tag(of: view, at: Self.route, now: world.now)
        let made = world.publishers[0].text(of: view, at: Self.route, now: world.now)
        #expect(made?.tag == tag)
        guard let tag, let text = made.map({ String(decoding: $0.fields, as: UTF8.self) }) else { continue }
        if let before = known[index][tag] {
          #expect(before == text, "step \(step), \(view)")
        } else {
          known[index][tag] = text
          texts += 1
        }
      }
    }
    // The other way round, where it can be told: a text that came again has the tag it had.
    #expect(texts > 100)
    for index in [2, 3, 5] { #expect(Set(known[index].values).count > known[index].count / 2) }
  }

  @Test("neither time nor the messages of others change a tag while a market rests")
  func stillness() {
    let world = World(instruments: 2, quotesFromBook: true)
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    world.trade(id: 1, price: 15)
    let views: [MarketView] = [
      .snapshot(points: 24), .ticker, .trades(limit: 50), .sparkline(points: 24), .book(depth: 10),
    ]
    let before = views.map { world.publishers[0].tag(of: $0, at: Self.route, now: world.now) }
    for _ in 0..<20 {
      world.now = world.now + Microseconds.second
      world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)], instrument: 1)
    }
    #expect(views.map { world.publishers[0].tag(of: $0, at: Self.route, now: world.now) } == before)
    let other = StreamPublisher(loop: 0, loops: 1, epoch: "k8")
    _ = other.add(market: world.markets[0], venue: "kraken")
    #expect(other.tag(of: .ticker, at: Self.route, now: world.now) != before[1], "another run has other counters")
  }
}

@Suite("The list of instruments over HTTP")
struct InstrumentListTests {
  private static func text(_ list: InstrumentList) -> String {
    var list = list
    list.sort()
    var out = ByteBuffer()
    list.append(0..<list.entries.count, to: &out)
    return out.description
  }

  @Test("is that of the venue and the query, in order, with the state of book or feed")
  func list() {
    let world = World(instruments: 3)
    let directory = world.hubs[0].directory
    func list(_ venue: String?, _ query: String?, _ feeds: [FeedStatus], _ grant: Grant = .everything) -> InstrumentList
    {
      InstrumentList(directory, feeds, venue: venue, query: query, grant: grant)
    }
    let live = [FeedStatus(venue: "kraken", state: .live, since: world.now)]
    #expect(
      Self.text(list("kraken", "bTc", live))
        == #"{"symbol":"kraken:BTC-USD","venue":"kraken","venue_symbol":"A0/USD","base":"BTC","quote":"USD","price_increment":"0.1","state":"live"}"#
    )
    #expect(list("kraken", "a1/u", live).entries.map(\.instrument.symbol) == ["kraken:A1-USD"])
    #expect(list(nil, nil, live).entries.count == 3 && list(nil, nil, live).venues == ["kraken"])
    #expect(list("coinbase", nil, live).entries.isEmpty && list(nil, "zz", live).entries.isEmpty)
    let one = Grant(subject: "x", symbols: [SymbolRules(["kraken:A2-USD"])!])
    #expect(list(nil, nil, live, one).entries.map(\.instrument.symbol) == ["kraken:A2-USD"])

    var lost = live
    lost[0].state = .reconnecting
    lost[0].source = .simulated
    #expect(Self.text(list("kraken", "btc", lost)).hasSuffix(#""state":"reconnecting","simulated":true}"#))
    var syncing = live
    syncing[0].state = .syncing
    #expect(Self.text(list("kraken", "btc", syncing)).hasSuffix(#""state":"live"}"#))
    let tags = [live, lost].flatMap { feeds in
      [list(nil, nil, feeds), list("kraken", nil, feeds), list(nil, "btc", feeds), list(nil, nil, feeds, one)].map(
        \.tag)
    }
    #expect(Set(tags).count == 6, "a list of the same instruments in the same state has the same tag")
    var aged = live
    aged[0].lastMessage = world.now
    #expect(list(nil, nil, aged).tag == list(nil, nil, live).tag)
  }
}

@Suite("The state of data over HTTP")
struct DataStateTests {
  private static func text(_ state: DataState) -> String {
    var out = ByteBuffer()
    state.append(to: &out)
    return out.description
  }

  @Test("tells nothing that moves while a feed lives, or while it stays dead")
  func states() {
    let since = Timestamp(microseconds: 5)
    let heard = Timestamp(microseconds: 7)
    func state(_ state: FeedState, _ source: DataSource = .live, failure: String? = nil) -> String {
      Self.text(
        DataState(
          venue: "kraken", state: state, since: since, lastMessage: heard, source: source, failure: failure))
    }
    #expect(state(.live) == #","state":"live""#)
    #expect(state(.syncing) == #","state":"syncing","since":5"#)
    for dead in [FeedState.connecting, .stale, .reconnecting, .disconnected, .maintenance] {
      #expect(state(dead) == #","state":"\#(dead.rawValue)","since":5,"last_message":7"#)
    }
    #expect(state(.live, .simulated) == #","state":"live","simulated":true"#)
    #expect(state(.live, .replayed) == #","state":"live","simulated":true,"replayed":true"#)
    #expect(state(.live, failure: "refused") == #","state":"live","failed":"refused""#)
  }

  @Test(
    "a symbol that is missing is not ready before its venue has told its markets, and unknown after; three get guesses")
  func missing() {
    let world = World()
    let hub = world.hubs[0]
    hub.directory.venues.append("okx")
    var lookup = SymbolLookup()
    let early = hub.explainMissing("okx:BTC-USDT", &lookup)
    #expect(early.code == .notReady && early.retry && early.retryAfterMilliseconds == 1_000)
    for number in [0, 2, 4, 6] {
      let error = hub.explainMissing("kraken:BTC-USX", &lookup)
      #expect(error.code == .unknownSymbol)
      #expect(error.hint?.contains("did you mean kraken:BTC-USD") == (number < 3), "\(error)")
      // Another case is no search: it is answered however many there are.
      let lower = hub.explainMissing("kraken:btc-usd", &lookup)
      #expect(lower.hint?.contains("did you mean kraken:BTC-USD") == true, "\(lower)")
    }
  }
}
