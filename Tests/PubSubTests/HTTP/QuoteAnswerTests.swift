import Bytes
import Testing

@testable import MarketData
@testable import PubSub

@Suite("Quotes of several venues over HTTP") struct QuoteAnswerTests {
  private static let route = MarketRoute(market: 0, instrument: InstrumentID(0))

  /// The parts of the first market of each loop, as a hub judges them.
  private func parts(_ world: World, loops: Int, depth: Int = 0) -> [QuotePart] {
    (0..<loops).compactMap { loop in
      var part = world.publishers[loop].quotePart(at: Self.route, depth: depth, hasFigures: true, now: world.now)
      if part != nil { world.hubs[0].judge(&part!) }
      return part
    }
  }

  private func text(_ body: [UInt8]?) -> String? { body.map { String(decoding: $0, as: UTF8.self) } }

  @Test("the members of a composite are the spot markets of its name")
  func members() {
    let world = World(loops: 2)
    let symbols = world.hubs[0].directory.entries.keys.sorted()
    let name = symbols[0].drop { $0 != ":" }
    let found = world.hubs[0].members(ofComposite: "composite\(name)").map(\.instrument.symbol)
    #expect(found == symbols.filter { $0.hasSuffix(name) } && found.count == 2)
    for symbol in ["composite:*", "composite:NO-USD", symbols[0], "composite", "*\(name)"] {
      #expect(world.hubs[0].members(ofComposite: symbol).isEmpty, "\(symbol)")
    }
  }

  @Test("a market alone is shown with its levels; a feed that is not live makes it none")
  func one() {
    let world = World()
    world.book(0, .snapshot, bids: [(641_230, 5), (641_220, 7)], asks: [(641_240, 6)])
    world.quote(641_230, 641_240)
    world.trade(price: 641_235)
    let body = text(QuoteAnswer.quote("kraken:BTC-USD", parts(world, loops: 1, depth: 1), depth: 1, isComposite: false))
    #expect(body?.hasPrefix(#"{"symbol":"kraken:BTC-USD","state":"live""#) == true)
    #expect(body?.contains(#""bid":"64123.0","bid_size":"#) == true)
    #expect(body?.contains(#""last":"64123.5","last_time":"#) == true)
    #expect(body?.contains(#""bids":[["64123.0","0.00000005"]],"asks":[["64124.0","0.00000006"]]"#) == true)
    #expect(body?.contains("venue") == false)
    var stale = FeedStatus(venue: "kraken", state: .stale, since: world.now)
    stale.source = .simulated
    world.hubs[0].feeds = [stale]
    #expect(QuoteAnswer.quote("kraken:BTC-USD", parts(world, loops: 1), depth: 0, isComposite: false) == nil)
    #expect(parts(world, loops: 1).map(\.market.reason) == ["stale"])
  }

  @Test("all venues together: the best of each side with its venue, levels added up, and one alone says so")
  func composite() {
    let world = World(loops: 2)
    world.book(0, .snapshot, bids: [(641_230, 5)], asks: [(641_240, 6)])
    world.book(1, .snapshot, bids: [(641_230, 2), (641_200, 9)], asks: [(641_240, 1)])
    world.quote(641_230, 641_240)
    world.trade(1, price: 641_235)
    func body() -> String? {
      text(QuoteAnswer.quote("composite:BTC-USD", parts(world, loops: 2, depth: 2), depth: 2, isComposite: true))
    }
    #expect(body()?.hasPrefix(#"{"symbol":"composite:BTC-USD","state":"live","bid":"64123.0""#) == true)
    #expect(body()?.contains(#""bid_venue":"kraken""#) == true)
    #expect(body()?.contains(#""last":"64123.5","last_venue":"coinbase""#) == true)
    #expect(body()?.contains(#""venues":["coinbase","kraken"],"absent":[]"#) == true)
    #expect(
      body()?.contains(
        #""bids":[["64123.0","0.00000007",["coinbase","kraken"]],["64120.0","0.00000009",["coinbase"]]],"#
          + #""asks":[["64124.0","0.00000007",["coinbase","kraken"]]]"#) == true)
    // A book out of sync takes its venue out with the very next answer.
    world.apply(1) { $0.events.append(.bookReset(InstrumentID(0), .gap)) }
    #expect(body()?.contains(#""state":"single""#) == true)
    #expect(body()?.contains(#""venues":["kraken"],"absent":[{"venue":"coinbase","reason":"sequence gap"}]"#) == true)
    world.book(1, .snapshot, bids: [(641_250, 2)], asks: [(641_260, 1)])
    #expect(body()?.contains(#""venues":["coinbase","kraken"],"absent":[]"#) == true)
  }

  @Test("a rate has its path and the time of its oldest price")
  func rate() {
    let oldest = Timestamp(milliseconds: 1_000_000)
    let conversion = Conversion(
      rate: Decimal64(mantissa: 48, scale: 0), path: ["a:ZEC-BTC", "b:BTC-USD"], oldest: oldest)
    #expect(
      text(QuoteAnswer.rate(conversion, base: "ZEC", quote: "USD", source: .simulated))
        == #"{"base":"ZEC","quote":"USD","rate":"48","path":["a:ZEC-BTC","b:BTC-USD"],"time":1000000000,"state":"live","simulated":true}"#
    )
  }
}
