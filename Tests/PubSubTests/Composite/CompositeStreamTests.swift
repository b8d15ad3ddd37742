import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("Composite markets on the stream") struct CompositeStreamTests {
  private static func subscribe(_ channels: [String], _ symbol: String = "composite:BTC-USD") -> String {
    let items = channels.map { #"{"channel":"\#($0)","symbols":["\#(symbol)"]}"# }
    return #"{"op":"subscribe","id":1,"streams":[\#(items.joined(separator: ","))]}"#
  }

  private static func data(_ text: String?) -> [String: Any] {
    guard let text, let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
      return [:]
    }
    return object["data"] as? [String: Any] ?? [:]
  }

  /// The newest `data` of a channel that a client was sent.
  private static func newest(_ channel: String, _ client: ModelClient) -> [String: Any] {
    data(client.texts.last { $0.contains("\"channel\":\"\(channel)\"") && $0.contains("\"data\":") })
  }

  private static func state(_ world: World, _ venue: String, _ state: FeedState) {
    for hub in world.hubs {
      hub.feeds = hub.feeds.map { feed in
        var feed = feed
        if feed.venue == venue { feed.state = state }
        return feed
      }
    }
  }

  @Test("the best of each side with its venue; who is stale leaves, who is back comes back, one alone says so")
  func life() {
    let world = World(loops: 2)
    let composites = CompositeWorld(world)
    world.book(0, .snapshot, bids: [(641_230, 5)], asks: [(641_240, 6)])
    world.book(1, .snapshot, bids: [(641_220, 2)], asks: [(641_235, 1)])
    world.quote(641_230, 641_240)
    world.apply(1) {
      $0.events.append(
        .quote(
          Quote(
            instrument: InstrumentID(0), bid: 641_220, bidSize: 2, ask: 641_235, askSize: 1, time: world.now)))
    }
    let client = world.client(on: 1)
    let reply = client.ask(Self.subscribe(["quote", "ticker", "pulse"]))
    #expect(reply.of("subscribed").first?.contains("\"failed\":[]") == true, "\(reply)")
    #expect(client.texts.of("snapshot").isEmpty)
    // Nothing is shown before all members are known.
    composites.tick(handing: [0])
    #expect(client.texts.of("snapshot").isEmpty)
    composites.tick()
    var quote = Self.newest("quote", client)
    #expect(quote["state"] as? String == "live" && quote["bid_venue"] as? String == "kraken")
    #expect(quote["ask"] as? String == "64123.5" && quote["ask_venue"] as? String == "coinbase")
    let seen = client.texts.of("update").count
    composites.tick()
    world.run(milliseconds: 300)
    #expect(client.texts.of("update").count == seen, "what does not change is not told again")
    Self.state(world, "coinbase", .stale)
    composites.board.feedsChanged()
    composites.show()
    quote = Self.newest("quote", client)
    #expect(quote["state"] as? String == "single" && quote["ask_venue"] as? String == "kraken", "\(quote)")
    #expect((quote["absent"] as? [[String: String]]) == [["venue": "coinbase", "reason": "stale"]])
    Self.state(world, "kraken", .reconnecting)
    composites.board.feedsChanged()
    composites.show()
    quote = Self.newest("quote", client)
    #expect(quote["state"] as? String == "unavailable" && quote["bid"] == nil)
    Self.state(world, "coinbase", .live)
    composites.board.feedsChanged()
    composites.show()
    #expect(Self.newest("quote", client)["bid_venue"] as? String == "coinbase")
    // A later client begins with what the others see.
    let second = world.client(on: 0)
    let texts = second.ask(Self.subscribe(["quote"]))
    #expect(Self.data(texts.of("snapshot").first)["bid_venue"] as? String == "coinbase")
    client.leave()
    second.leave()
    world.run(milliseconds: 200)
    composites.tick()
    #expect(composites.board.isEmpty)
    #expect(client.faults.isEmpty && second.faults.isEmpty)
  }

  @Test("what a composite has not, and symbols that are none, are refused with the reason")
  func refusals() {
    let world = World(loops: 2)
    let client = world.client()
    func failure(_ channel: String, _ symbol: String) -> String {
      client.ask(Self.subscribe([channel], symbol)).of("subscribed").last ?? ""
    }
    let trades = failure("trades", "composite:BTC-USD")
    #expect(trades.contains("\"code\":\"unknown_channel\"") && trades.contains("each venue has its own"), "\(trades)")
    #expect(failure("quote", "composite:*").contains("name each one"))
    #expect(failure("quote", "composite:NO-USD").contains("no venue has NO-USD"))
    #expect(failure("rate", "ZEC").contains("\"code\":\"unknown_symbol\""))
    #expect(failure("rate", "*-USD").contains("\"code\":\"unknown_symbol\""))
    #expect(failure("rate", "ZEC-USD").contains("\"failed\":[]"))
  }

  @Test("a token that does not allow the symbol gets neither a composite nor a conversion")
  func grants() throws {
    let world = World(loops: 2)
    world.hubs[0].asksForTokens = true
    let client = world.client()
    client.authorize(Grant(subject: "a", symbols: [try #require(SymbolRules(["kraken:*"]))]))
    for (channel, symbol) in [("quote", "composite:BTC-USD"), ("rate", "BTC-USD")] {
      let reply = client.ask(Self.subscribe([channel], symbol)).of("subscribed").first ?? ""
      #expect(reply.contains("\"code\":\"forbidden\""), "\(reply)")
    }
    client.authorize(Grant(subject: "a", symbols: [try #require(SymbolRules(["*:BTC-USD"]))]))
    let reply = client.ask(Self.subscribe(["quote"])).of("subscribed").last ?? ""
    #expect(reply.contains("\"failed\":[]"), "\(reply)")
    // A narrower grant ends the rate.
    client.authorize(.everything)
    #expect(client.ask(Self.subscribe(["rate"], "BTC-USD")).of("subscribed").last?.contains("\"failed\":[]") == true)
    client.authorize(Grant(subject: "a", symbols: [try #require(SymbolRules(["*:BTC-USD"]))]))
    world.settle()
    #expect(client.notices.contains { $0["code"] as? String == "forbidden" && ($0["streams"] as? [Int])?.count == 1 })
  }

  /// One venue as a naive model keeps it.
  private struct Naive {
    var bid: Int64?
    var ask: Int64?
    var last: (price: Int64, time: Timestamp)?
    var isLive = true
  }

  @Test("under seeds, what clients see is what a model works out from every venue at every step", arguments: 1...12)
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let world = World(loops: 3)
    let composites = CompositeWorld(world)
    let client = world.client(on: 2)
    let late = world.client(on: 1)
    client.send(Self.subscribe(["quote", "ticker", "pulse"]))
    world.settle()
    var venues = [Naive](repeating: Naive(), count: 3)
    var pulsePrice: Int64?
    var id: UInt64 = 1
    for step in 0..<300 {
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let loop = Int.random(in: 0..<3, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1:
          let bid = Int64.random(in: 1_000...1_010, using: &random)
          let ask = bid + Int64.random(in: 1...5, using: &random)
          (venues[loop].bid, venues[loop].ask) = (bid, ask)
          world.apply(loop) {
            $0.events.append(
              .quote(
                Quote(instrument: InstrumentID(0), bid: bid, bidSize: 5, ask: ask, askSize: 7, time: world.now)))
          }
        case 2, 3:
          let price = Int64.random(in: 1_000...1_015, using: &random)
          world.now = world.now + 1
          id += 1
          venues[loop].last = (price, world.now)
          world.trade(loop, id: id, price: price)
        default:
          venues[loop].isLive.toggle()
          Self.state(world, World.venue(loop), venues[loop].isLive ? .live : .stale)
          composites.board.feedsChanged()
        }
      }
      world.run(milliseconds: 100)
      composites.tick()
      world.run(milliseconds: 1_000)
      if step == 150 {
        late.send(Self.subscribe(["quote", "ticker"]))
        world.settle()
        composites.tick()
      }
      composites.tick()
      let live = venues.enumerated().filter { $1.isLive && ($1.bid != nil || $1.last != nil) }
        .map { (name: World.venue($0), $1) }.sorted { $0.name < $1.name }
      func text(_ value: Int64?) -> String? { value.map { "\($0 / 10).\($0 % 10)" } }
      let bid = live.compactMap(\.1.bid).max()
      let ask = live.compactMap(\.1.ask).min()
      var last: (price: Int64, time: Timestamp)?
      for trade in live.compactMap(\.1.last) where last.map({ trade.time > $0.time }) ?? true { last = trade }
      for watcher in step > 150 ? [client, late] : [client] {
        let quote = Self.newest("quote", watcher)
        #expect(quote["bid"] as? String == text(bid), "seed \(seed) step \(step) \(quote)")
        #expect(quote["ask"] as? String == text(ask), "seed \(seed) step \(step) \(quote)")
        #expect(quote["bid_venue"] as? String == live.first { $0.1.bid == bid && bid != nil }?.name)
        #expect(quote["ask_venue"] as? String == live.first { $0.1.ask == ask && ask != nil }?.name)
        #expect(quote["venues"] as? [String] == live.map(\.name), "seed \(seed) step \(step)")
        #expect(
          quote["state"] as? String == (live.isEmpty ? "unavailable" : live.count == 1 ? "single" : "live"),
          "seed \(seed) step \(step)")
        let ticker = Self.newest("ticker", watcher)
        #expect(ticker["last"] as? String == text(last?.price), "seed \(seed) step \(step) \(ticker)")
      }
      // The last price always arrives; while there is none the last pulse stands.
      if let last { pulsePrice = last.price }
      #expect(Self.newest("pulse", client)["price"] as? String == text(pulsePrice), "seed \(seed) step \(step)")
    }
    #expect(client.faults.isEmpty && late.faults.isEmpty, "seed \(seed): \(client.faults)")
  }

  @Test("a thousand composites take turns, and none is left out")
  func turns() {
    let world = World(instruments: 1_000)
    let composites = CompositeWorld(world)
    for index in 0..<1_000 {
      let symbol = index == 0 ? "composite:BTC-USD" : "composite:A\(index)-USD"
      composites.board.want(.quote, of: symbol)
      _ = composites.board.setMembers(world.hubs[0].members(ofComposite: symbol), of: symbol)
      composites.board.take(nil, of: "kraken:\(index == 0 ? "BTC" : "A\(index)")-USD")
    }
    var shown: Set<String> = []
    for turn in 1...5 {
      composites.board.advance(
        to: world.now, judge: { _ in },
        into: .init(show: { name, _ in shown.insert(name.name) }, publish: { _, _, _ in }))
      #expect(shown.count == turn * CompositeBoard.atOnce)
    }
    #expect(!composites.board.isDirty && composites.board.made == 1_000)
  }
}

@Suite("Conversions on the stream") struct RateBoardTests {
  private let now = Timestamp(microseconds: 1_790_000_000_000_000)

  private func part(_ venue: String, _ base: String, _ quote: String, _ bid: Int64, _ ask: Int64) -> QuotePart {
    let instrument = Instrument(
      id: InstrumentID(0), venue: venue, venueSymbol: "x", base: base, quote: quote, priceScale: 2, sizeScale: 2)
    return QuotePart(
      market: VenueMarket(
        instrument: instrument, isLive: true,
        quote: Quote(instrument: InstrumentID(0), bid: bid, bidSize: 1, ask: ask, askSize: 1, time: now)))
  }

  @Test("a rate is told when it differs, with its path; without one it says why; a second stream begins with it")
  func life() {
    var board = RateBoard()
    var shown: [String] = []
    func advance(_ parts: [QuotePart]) {
      board.begin()
      board.advance(ConversionTable(parts.map(\.market)), parts) { name, document in
        var out = ByteBuffer()
        document.append(now: now + 120_000, to: &out)
        shown.append(String(decoding: out.takeBytes(), as: UTF8.self))
      }
    }
    #expect(!board.want("ZEC") && board.want("ZEC-USD"))
    var parts = [part("kraken", "ZEC", "BTC", 100, 100), part("coinbase", "BTC", "USD", 4_000_000, 4_000_000)]
    advance(parts)
    #expect(
      shown == [
        #"{"base":"ZEC","quote":"USD","rate":"40000","path":["kraken:ZEC-BTC","coinbase:BTC-USD"],"state":"live","age_ms":120}"#
      ])
    advance(parts)
    #expect(shown.count == 1, "what does not change is not told again")
    board.want("ZEC-USD")
    advance(parts)
    #expect(shown.count == 2)
    parts[1].source = .simulated
    advance(parts)
    #expect(shown.last?.contains(#""state":"live","simulated":true,"age_ms""#) == true)
    parts[0].market.isLive = false
    advance(parts)
    #expect(shown.last?.contains(#""state":"unavailable","reason":"no live market has the asset ZEC""#) == true)
    board.release("ZEC-USD")
    #expect(board.isEmpty)
    advance(parts)
    #expect(shown.count == 4)
  }

  @Test("many conversions take turns, each worked out once a table")
  func turns() {
    var board = RateBoard()
    let count = 3 * RateBoard.atOnce + 5
    for index in 0..<count { board.want("A\(index)-USD") }
    board.begin()
    var shown: [String: Int] = [:]
    var turns = 0
    while !board.isDone {
      turns += 1
      // Those that come and go meanwhile do no harm.
      if turns == 2 { board.release("A3-USD") }
      board.advance(ConversionTable([VenueMarket]()), []) { name, _ in shown[name.name, default: 0] += 1 }
    }
    #expect(turns == 4 && shown.count == count && shown.values.allSatisfy { $0 == 1 })
  }
}
