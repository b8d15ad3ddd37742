import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("A channel of the venue that dies alone")
struct SilenceTests {
  private static func subscribe(_ channel: String, interval: Int = 0) -> String {
    #"{"op":"subscribe","streams":[{"channel":"\#(channel)","symbols":["kraken:BTC-USD"],"interval_ms":\#(interval)}]}"#
  }

  private func ticker(_ world: World, last: Int64) {
    world.apply {
      var ticker = Ticker(instrument: InstrumentID(0), time: world.now)
      ticker.last = last
      ticker.volume = Decimal64(mantissa: last, scale: 0)
      $0.events.append(.ticker(ticker))
    }
    world.settle()
  }

  private func world() -> World {
    let world = World(tickerInterval: Microseconds.second)
    ticker(world, last: 641_234)
    world.trade(id: 1, price: 641_234)
    world.settle()
    world.run(milliseconds: 200)
    return world
  }

  /// Lets tickers tell of trades that do not come, until they are silent.
  private func silenceTrades(_ world: World) {
    for second in 1...20 as ClosedRange<Int64> where !world.markets[0][InstrumentID(0)].isSilent(.trades) {
      world.run(milliseconds: 1000)
      ticker(world, last: 641_234 + second)
    }
    #expect(world.markets[0][InstrumentID(0)].isSilent(.trades))
  }

  @Test(
    "is told on trades, pulse and ticker at once, whatever their rate, and is over with the next trade",
    arguments: [0, 1000, 5000])
  func trades(interval: Int) throws {
    let world = world()
    let client = world.client()
    for channel in ["trades", "pulse", "ticker"] { _ = client.ask(Self.subscribe(channel, interval: interval)) }
    silenceTrades(world)
    let reason = #""state":"syncing","reason":"no trades although the venue trades""#
    let time = world.now.microseconds
    let told = client.texts.filter { $0.contains(reason) && $0.contains(#""time":\#(time)"#) }
    #expect(told.contains { $0.hasSuffix(#""data":{"trades":[],\#(reason)}}"#) }, "\(client.texts.suffix(4))")
    #expect(
      told.contains { $0.hasSuffix(#""data":{"price":"64123.4","merged":0,"time":\#(time),\#(reason)}}"#) },
      "\(client.texts.suffix(4))")
    #expect(told.contains { $0.contains(#""channel":"ticker""#) && $0.hasSuffix("\(reason)}}") })

    // Who comes meanwhile learns it, too.
    let late = world.client()
    for channel in ["trades", "pulse", "ticker"] {
      let texts = late.ask(Self.subscribe(channel, interval: interval))
      #expect(texts.last?.contains(reason) == true, "\(texts)")
    }

    world.trade(id: 2, price: 641_300)
    world.settle()
    #expect(client.texts.contains { $0.contains(#""data":{"trades":[],"state":"live"}}"#) })
    #expect(client.texts.contains { $0.contains(#""merged":0"#) && $0.hasSuffix(#""state":"live"}}"#) })
    let count = client.texts.count
    world.run(milliseconds: 6000)
    ticker(world, last: 641_300)
    world.run(milliseconds: 6000)
    #expect(client.texts.dropFirst(count).allSatisfy { !$0.contains("syncing") })
    #expect(client.texts.contains { $0.contains(#""channel":"ticker""#) && $0.contains(#""last":"64130.0""#) })
    #expect(client.faults.isEmpty && late.faults.isEmpty)
  }

  @Test("a ticker says so on its own stream alone")
  func tickers() {
    let world = world()
    let client = world.client()
    for channel in ["trades", "pulse", "ticker"] { _ = client.ask(Self.subscribe(channel)) }
    for number in 2...12 as ClosedRange<UInt64> {
      world.run(milliseconds: 1000)
      world.trade(id: number, price: 641_234)
      world.settle()
    }
    let reason = #""state":"syncing","reason":"no ticker although the market trades""#
    let told = client.texts.filter { $0.contains(reason) }
    #expect(!told.isEmpty && told.allSatisfy { $0.contains(#""channel":"ticker""#) }, "\(told)")
    ticker(world, last: 641_234)
    #expect(client.texts.last?.contains("syncing") == false)
    #expect(client.faults.isEmpty)
  }

  @Test("a quote goes, as one of a book that is out of sync does, and comes back as a snapshot")
  func quotes() throws {
    let world = world()
    world.book(0, .snapshot, bids: [(641_234, 5)], asks: [(641_236, 5)])
    world.quote(641_234, 641_236)
    world.settle()
    let client = world.client()
    _ = client.ask(Self.subscribe("quote"))
    for step in 1...12 as ClosedRange<Int64> {
      world.run(milliseconds: 1000)
      world.book(0, .snapshot, bids: [(641_234 + step, 5)], asks: [(641_336 + step, 5)])
      world.settle()
    }
    let data = #""data":{"state":"syncing","reason":"no quotes although the book moves","time":"#
    let told = client.texts.last { $0.contains(#""channel":"quote""#) }
    #expect(told?.contains(data) == true, "\(client.texts.suffix(2))")
    let late = world.client()
    _ = late.ask(Self.subscribe("quote"))
    world.quote(641_246, 641_348)
    world.settle()
    for one in [client, late] {
      let text = try #require(one.texts.last)
      #expect(text.contains(#""type":"snapshot""#) && text.contains(#""bid":"64124.6""#), "\(text)")
      #expect(one.faults.isEmpty)
    }
  }

  @Test("status lists it by symbol, for those who may see the symbol")
  func status() {
    var feed = FeedStatus(venue: "kraken", state: .live, since: Timestamp(microseconds: 5))
    feed.silent = [
      "kraken:ZEC-USD": MarketChannels(.quote), "kraken:BTC-USD": [MarketChannels(.trades), MarketChannels(.ticker)],
    ]
    var out = ByteBuffer(capacity: 256)
    StatusChannel.append([feed], now: Timestamp(microseconds: 5), to: &out)
    let text = String(decoding: Array(out.unsafeBytes), as: UTF8.self)
    #expect(
      text.hasSuffix(#","silent":{"kraken:BTC-USD":["trades","ticker"],"kraken:ZEC-USD":["quote"]}}]}"#), "\(text)")
  }
}
