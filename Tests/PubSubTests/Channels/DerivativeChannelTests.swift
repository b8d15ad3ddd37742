import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("Channels of perpetuals and dated futures")
struct DerivativeChannelTests {
  private static func decimal(_ mantissa: Int64, _ scale: UInt8) -> Decimal64 {
    Decimal64(mantissa: mantissa, scale: scale)
  }

  private static let symbol = "kraken:BTC-USD-PERP"

  private static func subscribe(_ world: World, _ channel: String, _ symbol: String = symbol) -> (ModelClient, [String])
  {
    let client = world.client()
    let texts = client.ask(
      #"{"op":"subscribe","id":2,"streams":[{"channel":"\#(channel)","symbols":["\#(symbol)"],"interval_ms":0}]}"#
    )
    return (client, texts)
  }

  private static func report(_ world: World, _ id: InstrumentID, _ fill: (inout DerivativeReport) -> Void) {
    var report = DerivativeReport(instrument: id, time: world.now)
    fill(&report)
    world.apply { $0.append(derivative: report) }
    world.settle()
  }

  @Test("derivative: each value with its source and age; what is unknown is absent")
  func derivative() {
    let world = World()
    let id = world.listPerpetual()
    let (client, texts) = Self.subscribe(world, "derivative")
    #expect(texts.count == 1, "nothing is known yet")
    Self.report(world, id) {
      $0.mark = .value(Self.decimal(6_412_345_678, 5))
      $0.fundingRate = .value(Self.decimal(-76, 6))
      $0.fundingInterval = .value(8 * Microseconds.hour)
      $0.nextFunding = .value(world.now + Microseconds.hour)
      $0.computed = .nextFunding
    }
    #expect(
      client.texts.last
        == #"{"type":"snapshot","channel":"derivative","symbol":"kraken:BTC-USD-PERP","stream":1,"seq":2,"reason":"subscribe","time":1790000004000000,"data":{"mark":"64123.45678","funding_rate":"-0.000076","funding_interval_s":28800,"next_funding":1790003604000000,"computed":["next_funding"],"as_of":{"mark":1790000004000000,"funding_rate":1790000004000000,"funding_interval_s":1790000004000000,"next_funding":1790000004000000}}}"#
    )
    world.now = world.now + 1_000_000
    Self.report(world, id) {
      $0.source = .polled
      $0.openInterest = .value(Self.decimal(2, 0))
    }
    #expect(client.texts.last?.contains(#""open_interest":"2","open_interest_quote":"128246.91356","#) == true)
    #expect(
      client.texts.last?.contains(#""polled":["open_interest"],"computed":["next_funding","open_interest_quote"]"#)
        == true)
    #expect(
      client.texts.last?.contains(#""open_interest":1790000005000000,"open_interest_quote":1790000004000000"#) == true)
    Self.report(world, id) {
      $0.fundingRate = .value(Self.decimal(-8, 6))
      $0.isContinuous = true
    }
    #expect(client.texts.last?.contains(#""continuous":true"#) == true)
    #expect(client.faults.isEmpty, "\(client.faults)")
  }

  @Test("what nothing has confirmed for long is not sent as the present value")
  func stale() {
    let world = World()
    let id = world.listPerpetual()
    Self.report(world, id) { $0.mark = .value(Self.decimal(1, 0)) }
    world.now = world.now + Derivative.patience + 1
    #expect(Self.subscribe(world, "derivative").1.count == 1)
    Self.report(world, id) { $0.index = .value(Self.decimal(2, 0)) }
    #expect(world.clients[0].texts.last?.contains(#""data":{"index":"2","as_of":{"index":"#) == true)
  }

  @Test("liquidations: both sides, which price it is, and whether the venue tells of all")
  func liquidations() {
    for (feed, isComplete, state) in [
      (LiquidationFeed.complete, "true", "live"), (.sampled, "false", "live"), (.none, "false", "unavailable"),
    ] {
      let world = World(liquidations: feed)
      let id = world.listPerpetual()
      let (client, texts) = Self.subscribe(world, "liquidations")
      #expect(texts.first?.contains("\"state\":\"\(state)\"") == true, "\(texts)")
      #expect(texts.last?.contains("\"data\":{\"liquidations\":[],\"complete\":\(isComplete)}") == true, "\(texts)")
      world.apply {
        $0.events.append(
          .liquidation(
            Liquidation(
              instrument: id, position: .long, price: Self.decimal(21_436, 6), priceKind: .bankruptcy,
              size: Self.decimal(6_666, 0), time: world.now)))
        $0.events.append(
          .liquidation(
            Liquidation(
              instrument: id, id: TradeID(7), position: .short, price: Self.decimal(5, 1), priceKind: .fill,
              size: Self.decimal(4, 0), time: world.now)))
      }
      world.settle()
      let rows =
        #""liquidations":[{"position":"long","side":"sell","price":"0.021436","price_kind":"bankruptcy","size":"6666","value":"142.892376","time":1790000004000000},{"id":"7","position":"short","side":"buy","price":"0.5","price_kind":"fill","size":"4","value":"2.0","time":1790000004000000}]"#
      #expect(client.texts.last?.hasSuffix("\"data\":{\(rows)}}") == true, "\(client.texts.last ?? "")")
      #expect(client.texts.count == 3, "one message for both")
      let (_, later) = Self.subscribe(world, "liquidations")
      #expect(later.last?.contains("{\(rows),\"complete\":\(isComplete)}") == true)
      #expect(client.faults.isEmpty, "\(client.faults)")
    }
  }

  @Test("a spot market has neither channel, and the refusal says so; a pattern leaves it out")
  func spot() {
    let world = World()
    _ = world.listPerpetual()
    for channel in ["derivative", "liquidations"] {
      let (_, texts) = Self.subscribe(world, channel, "kraken:BTC-USD")
      #expect(texts.last?.contains(#""code":"unknown_channel""#) == true, "\(texts)")
      #expect(texts.last?.contains("is a spot market, which has no channel `\(channel)`") == true)
      let (_, all) = Self.subscribe(world, channel, "kraken:*")
      #expect(all.first?.contains(#""total":1"#) == true && all.first?.contains(Self.symbol) == true, "\(all)")
      let (_, composite) = Self.subscribe(world, channel, "composite:BTC-USD")
      let reason = channel == "derivative" ? "is a spot market" : "composite markets have no channel"
      #expect(composite.last?.contains(reason) == true, "\(composite)")
    }
  }

  @Test("what subscribers want is told once, all of it, and that nobody wants it any more")
  func demands() {
    let world = World()
    let id = world.listPerpetual()
    let publisher = world.publishers[0]
    let route = MarketRoute(market: 0, instrument: id)
    #expect(publisher.takeMarketDemands().isEmpty)
    let (first, _) = Self.subscribe(world, "derivative")
    #expect(publisher.takeMarketDemands() == [MarketDemand(route: route, wishes: .derivative)])
    #expect(publisher.takeMarketDemands().isEmpty)
    let (second, _) = Self.subscribe(world, "liquidations")
    #expect(publisher.takeMarketDemands() == [MarketDemand(route: route, wishes: [.derivative, .liquidations])])
    let (third, _) = Self.subscribe(world, "derivative")
    #expect(publisher.takeMarketDemands().isEmpty, "the stream runs already")
    _ = first.ask("{\"op\":\"unsubscribe\",\"all\":true}")
    world.settle()
    #expect(publisher.takeMarketDemands().isEmpty)
    _ = third.ask("{\"op\":\"unsubscribe\",\"all\":true}")
    world.settle()
    #expect(publisher.takeMarketDemands() == [MarketDemand(route: route, wishes: .liquidations)])
    _ = second.ask("{\"op\":\"unsubscribe\",\"all\":true}")
    world.settle()
    #expect(publisher.takeMarketDemands() == [MarketDemand(route: route, wishes: [])])
    #expect(publisher.wishes(at: route).isEmpty)
  }
}
