import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("The text of each channel")
struct ChannelTests {
  static let start = 1_790_000_004_000_000

  private func subscribe(_ world: World, _ item: String) -> (ModelClient, [String]) {
    let client = world.client()
    return (client, client.ask("{\"op\":\"subscribe\",\"id\":2,\"streams\":[\(item)]}"))
  }

  @Test("book: snapshot with spread, then exactly the levels that changed")
  func book() {
    let world = World()
    world.book(0, .snapshot, bids: [(641_234, 50_000_000), (641_230, 1)], asks: [(641_236, 120_000_000)])
    let (client, texts) = subscribe(world, "{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"]}")
    #expect(
      texts == [
        #"{"type":"subscribed","id":2,"total":1,"ok":[{"stream":1,"channel":"book","symbol":"kraken:BTC-USD","depth":25,"interval_ms":0,"price_increment":"0.1","epoch":"k7","seq":1,"state":"live"}],"failed":[]}"#,
        #"{"type":"snapshot","channel":"book","symbol":"kraken:BTC-USD","stream":1,"seq":1,"reason":"subscribe","time":1790000004000000,"data":{"state":"live","bids":[["64123.4","0.50000000"],["64123.0","0.00000001"]],"asks":[["64123.6","1.20000000"]],"spread":"0.2","spread_pct":"0.0003","time":1790000004000000}}"#,
      ])
    world.book(0, .delta, bids: [(641_230, 0), (641_235, 7)], asks: [])
    world.settle()
    #expect(
      client.texts.last
        == #"{"type":"update","channel":"book","symbol":"kraken:BTC-USD","stream":1,"prev":1,"seq":2,"time":1790000004000000,"data":{"bids":[["64123.5","0.00000007"],["64123.0","0"]],"asks":[],"time":1790000004000000}}"#
    )
  }

  @Test("trades: all live trades of a batch in one message; a snapshot shows the recent ones")
  func trades() {
    let world = World()
    world.trade(id: 1, price: 641_230)
    let (client, texts) = subscribe(world, "{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}")
    #expect(
      texts.last
        == #"{"type":"snapshot","channel":"trades","symbol":"kraken:BTC-USD","stream":1,"seq":1,"reason":"subscribe","time":1790000004000000,"data":{"trades":[{"id":"1","price":"64123.0","size":"0.01000000","side":"buy","time":1790000004000000}]}}"#
    )
    world.apply { batch in
      for (id, side) in [(UInt64(2), TakerSide.buy), (3, .sell)] {
        batch.events.append(
          .trade(
            Trade(
              instrument: InstrumentID(0), id: TradeID(id), price: 641_235, size: 5, side: side, time: world.now)))
      }
    }
    world.settle()
    #expect(
      client.texts.last
        == #"{"type":"update","channel":"trades","symbol":"kraken:BTC-USD","stream":1,"prev":1,"seq":2,"time":1790000004000000,"data":{"trades":[{"id":"2","price":"64123.5","size":"0.00000005","side":"buy","time":1790000004000000},{"id":"3","price":"64123.5","size":"0.00000005","side":"sell","time":1790000004000000}]}}"#
    )
  }

  @Test("quote: both sides, and the empty one left out")
  func quote() {
    let world = World()
    let (client, texts) = subscribe(world, "{\"channel\":\"quote\",\"symbols\":[\"kraken:BTC-USD\"]}")
    #expect(texts.count == 1, "nothing is known yet")
    world.quote(641_234, 641_236)
    world.settle()
    #expect(
      client.texts.last
        == #"{"type":"snapshot","channel":"quote","symbol":"kraken:BTC-USD","stream":1,"seq":2,"reason":"subscribe","time":1790000004000000,"data":{"bid":"64123.4","bid_size":"0.50000000","ask":"64123.6","ask_size":"1.20000000","time":1790000004000000}}"#
    )
    world.apply {
      $0.events.append(
        .quote(Quote(instrument: InstrumentID(0), bid: 0, bidSize: 0, ask: 641_236, askSize: 1, time: world.now)))
    }
    world.settle()
    #expect(
      client.texts.last?.hasSuffix(#""data":{"ask":"64123.6","ask_size":"0.00000001","time":1790000004000000}}"#)
        == true)
  }

  @Test("ticker: the venue's figures; what follows from others is worked out; the unknown is absent")
  func ticker() {
    let world = World()
    var ticker = Ticker(instrument: InstrumentID(0), time: world.now)
    ticker.last = 641_235
    ticker.open = 650_000
    ticker.volume = Decimal64(mantissa: 12345, scale: 2)
    ticker.trades = 99
    world.apply { $0.events.append(.ticker(ticker)) }
    let (_, texts) = subscribe(world, "{\"channel\":\"ticker\",\"symbols\":[\"kraken:BTC-USD\"]}")
    #expect(
      texts.last
        == #"{"type":"snapshot","channel":"ticker","symbol":"kraken:BTC-USD","stream":1,"seq":1,"reason":"subscribe","time":1790000004000000,"data":{"last":"64123.5","open_24h":"65000.0","volume_24h":"123.45","change_24h":"-876.5","change_pct_24h":"-1.35","trades_24h":99,"source":"venue","time":1790000004000000}}"#
    )
  }

  @Test("pulse: direction, previous price and changes")
  func pulse() {
    let world = World()
    world.trade(price: 641_200)
    let (client, texts) = subscribe(world, "{\"channel\":\"pulse\",\"symbols\":[\"kraken:BTC-USD\"]}")
    #expect(
      texts.last
        == #"{"type":"snapshot","channel":"pulse","symbol":"kraken:BTC-USD","stream":1,"seq":1,"reason":"subscribe","time":1790000004000000,"data":{"price":"64120.0","change_pct_24h":"0.00","merged":1,"time":1790000004000000}}"#
    )
    world.now = world.now + 200_000
    world.trade(price: 641_235)
    world.settle()
    #expect(
      client.texts.last
        == #"{"type":"update","channel":"pulse","symbol":"kraken:BTC-USD","stream":1,"prev":1,"seq":2,"time":1790000004200000,"data":{"direction":"up","price":"64123.5","previous":"64120.0","change_pct":"0.0055","change_pct_24h":"0.01","merged":1,"time":1790000004200000}}"#
    )
  }

  @Test("candles: the last ones, then each that changes, and a closed one once")
  func candles() {
    let world = World()
    world.trade(price: 641_200)
    let (client, texts) = subscribe(
      world, "{\"channel\":\"candles\",\"symbols\":[\"kraken:BTC-USD\"],\"interval\":\"1m\",\"interval_ms\":0}")
    #expect(
      texts.first?.contains(#""channel":"candles","symbol":"kraken:BTC-USD","interval":"1m","interval_ms":0"#) == true)
    let open =
      #"{"time":1789999980000000,"open":"64120.0","high":"64120.0","low":"64120.0","close":"64120.0","volume":"#
    #expect(texts.last?.contains(#""data":{"interval":"1m","candles":["# + open) == true)
    #expect(texts.last?.contains(#""trades":1,"closed":false,"rev":0,"source":"partial"}]}}"#) == true)
    world.trade(price: 641_235)
    world.settle()
    #expect(client.texts.last?.contains(#""type":"update","channel":"candles""#) == true)
    #expect(client.texts.last?.contains(#""high":"64123.5","low":"64120.0","close":"64123.5""#) == true)
    #expect(client.texts.last?.contains(#""trades":2,"closed":false"#) == true)
    // The minute ends at 1790000040; its candle closes a second later, beside the one that is open then.
    world.run(milliseconds: 37_000)
    let closed = client.texts.filter { $0.contains(#""closed":true"#) }
    #expect(closed.count == 1)
    #expect(closed.first?.contains(#"{"time":1790000040000000,"open":"64123.5""#) == true)
    #expect(
      closed.first?.contains(#""volume":"0.00000000","quote_volume":"0.00000000","trades":0,"closed":false"#) == true)
    world.run(milliseconds: 5_000)
    #expect(client.texts.filter { $0.contains(#""closed":true"#) }.count == 1)
  }

  @Test("sparkline: every range has its own stream, with what it covers", arguments: ChartRange.allCases)
  func ranges(range: ChartRange) {
    let world = World()
    world.trade(price: 641_200)
    let (_, texts) = subscribe(
      world, "{\"channel\":\"sparkline\",\"symbols\":[\"kraken:BTC-USD\"],\"range\":\"\(range.name)\",\"points\":50}")
    #expect(texts.first?.contains("\"range\":\"\(range.name)\",\"points\":50") == true)
    #expect(texts.last?.contains("\"data\":{\"range\":\"\(range.name)\",\"from\":") == true)
    #expect(texts.last?.contains(#""covered_from":1790000004000000,"gaps":[]}}"#) == true)
  }

  @Test("sparkline: points from the first trade on, then the newest point as it moves")
  func sparkline() {
    let world = World()
    world.trade(price: 641_200)
    let (client, texts) = subscribe(
      world, "{\"channel\":\"sparkline\",\"symbols\":[\"kraken:BTC-USD\"],\"points\":96,\"interval_ms\":0}")
    #expect(
      texts.last
        == #"{"type":"snapshot","channel":"sparkline","symbol":"kraken:BTC-USD","stream":1,"seq":1,"reason":"subscribe","time":1790000004000000,"data":{"range":"24h","from":1789999200000000,"step_s":900,"points":["64120.0"],"open":"64120.0","trend":"flat","change":"0.0","change_pct":"0.00","covered_from":1790000004000000,"gaps":[]}}"#
    )
    world.trade(price: 641_235)
    world.settle()
    #expect(
      client.texts.last
        == #"{"type":"update","channel":"sparkline","symbol":"kraken:BTC-USD","stream":1,"prev":1,"seq":2,"time":1790000004000000,"data":{"index":0,"price":"64123.5","from":1789999200000000,"open":"64120.0","trend":"up","change":"3.5","change_pct":"0.01"}}"#
    )
  }

  @Test("status: every feed, again when something other than an age changed")
  func status() {
    let world = World()
    let client = world.client()
    var feed = FeedStatus(venue: "coinbase", state: .reconnecting, since: world.now)
    feed.attempt = 3
    feed.reason = "closed by the venue (1006)"
    feed.lastMessage = world.now - 9_120_000
    feed.gapFrom = world.now - 9_120_000
    var out: [Delivery] = []
    world.publishers[0].publish(status: [feed], now: world.now, into: &out)
    let texts = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"status\"}]}")
    #expect(
      texts.last
        == #"{"type":"snapshot","channel":"status","stream":1,"seq":1,"reason":"subscribe","time":1790000004000000,"data":{"feeds":[{"venue":"coinbase","state":"reconnecting","indicator":"reconnecting","since":1790000004000000,"attempt":3,"reason":"closed by the venue (1006)","age_ms":9120,"gap":{"from":1789999994880000,"backfilled":false}}]}}"#
    )
    feed.lastMessage = world.now
    world.publishers[0].publish(status: [feed], now: world.now, into: &out)
    #expect(out.isEmpty, "only the age changed")
    feed.attempt = 4
    world.publishers[0].publish(status: [feed], now: world.now, into: &out)
    #expect(out.count == 1)
  }
}
