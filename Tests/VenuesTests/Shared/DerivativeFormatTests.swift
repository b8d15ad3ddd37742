import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("What venues say of derivatives")
struct DerivativeFormatTests {
  /// What a dialect makes of messages about markets that it knows by these names.
  static func read(
    _ dialect: any Dialect, _ names: [String], quote: String = "USDT",
    contract: Decimal64 = Decimal64(mantissa: 1, scale: 0),
    now: Timestamp = Timestamp(milliseconds: 1_790_000_000_000), _ messages: String...
  ) throws -> EventBatch {
    var table = InstrumentTable()
    var batch = EventBatch()
    for name in names {
      let kind: Instrument.Kind =
        name.contains("-25DEC26") || name.contains("_2") ? .future(expiry: "20261225") : .perpetual
      _ = table.add(
        ListedMarket(
          venueSymbol: name, symbol: FeedSymbol(base: name, quote: quote, kind: kind), priceScale: 8, sizeScale: 6,
          contractSize: contract), venue: "test", into: &batch)
    }
    batch.removeAll()
    var outcome = MessageOutcome()
    for message in messages {
      outcome.begin(now: now)
      let bytes = Array(message.utf8)
      try dialect.read(bytes.span.bytes, &table, &outcome, into: &batch)
    }
    return batch
  }

  static func decimal(_ text: String) -> Decimal64 {
    let bytes = Array(text.utf8)
    return try! DecimalText.parse(bytes.span.bytes)
  }

  static func liquidations(_ batch: borrowing EventBatch) -> [Liquidation] {
    batch.events.compactMap { if case .liquidation(let liquidation) = $0 { liquidation } else { nil } }
  }

  // MARK: Bybit

  @Test("Bybit: one side of the open interest, or half of both; a change says nothing of what it leaves out")
  func bybit() throws {
    let batch = try Self.read(
      Bybit("linear"), ["BTCUSDT"],
      #"{"topic":"tickers.BTCUSDT","type":"snapshot","ts":1790000000000,"data":{"symbol":"BTCUSDT","lastPrice":"17216.00","markPrice":"17217.33","indexPrice":"17227.36","openInterest":"137489.522","openInterestValue":"2367202471.82","singleOpenInterest":"68744.761","singleOpenInterestValue":"1183601235.91","fundingRate":"-0.000212","nextFundingTime":"1790006400000","fundingIntervalHour":"8","fundingCap":"0.005"}}"#,
      #"{"topic":"tickers.BTCUSDT","type":"delta","ts":1790000000100,"data":{"symbol":"BTCUSDT","openInterest":"137489.523"}}"#
    )
    let (first, second) = (batch.derivatives[0], batch.derivatives[1])
    #expect(first.mark.value == Self.decimal("17217.33") && first.index.value == Self.decimal("17227.36"))
    #expect(first.fundingRate.value == Self.decimal("-0.000212"))
    #expect(first.fundingInterval.value == 8 * Microseconds.hour)
    #expect(first.nextFunding.value == Timestamp(milliseconds: 1_790_006_400_000))
    #expect(first.openInterest.value == Self.decimal("68744.761"))
    #expect(first.openInterestQuote.value == Self.decimal("1183601235.91"))
    #expect(!first.confirmsOthers && !first.isContinuous)
    // A frame without the newer key, of an odd number of contracts.
    #expect(second.openInterest.value == Self.decimal("68744.7615") && second.confirmsOthers)
    #expect(second.mark.value == nil && second.fundingRate.value == nil)
    #expect(second.time == Timestamp(milliseconds: 1_790_000_000_100))
  }

  @Test("Bybit: all keys of funding are empty on a dated contract")
  func bybitDated() throws {
    let batch = try Self.read(
      Bybit("linear"), ["BTCUSDT-25DEC26"],
      #"{"topic":"tickers.BTCUSDT-25DEC26","type":"snapshot","ts":1790000000000,"data":{"symbol":"BTCUSDT-25DEC26","markPrice":"17217.33","indexPrice":"","fundingRate":"","nextFundingTime":"","fundingIntervalHour":"","fundingCap":""}}"#
    )
    var derivative = Derivative(instrument: InstrumentID(0))
    _ = derivative.take(batch.derivatives[0])
    #expect(derivative.mark != nil && derivative.index == nil && derivative.fundingRate == nil)
    #expect(derivative.nextFunding == nil && derivative.fundingInterval == nil)
  }

  @Test("Bybit: a liquidation names the side of the position, and its bankruptcy price")
  func bybitLiquidation() throws {
    let frame =
      #"{"topic":"allLiquidation.COTIUSDT","type":"snapshot","ts":1789669871912,"data":[{"T":1789669871606,"s":"COTIUSDT","S":"Sell","v":"6666","p":"0.021436"},{"T":1789669871607,"s":"COTIUSDT","S":"Buy","v":"1","p":"0.02"}]}"#
    let found = Self.liquidations(try Self.read(Bybit("linear"), ["COTIUSDT"], frame))
    #expect(found.map(\.position) == [.short, .long] && found.map(\.orderSide) == [.buy, .sell])
    #expect(found[0].price == Self.decimal("0.021436") && found[0].priceKind == .bankruptcy)
    #expect(found[0].size == Self.decimal("6666") && found[0].time == Timestamp(milliseconds: 1_789_669_871_606))
    for (from, to) in [
      ("\"S\":\"Sell\"", "\"S\":\"Short\""), (",\"p\":\"0.021436\"", ""), ("\"v\":\"6666\"", "\"v\":\"x\""),
    ] {
      #expect(throws: FeedError.self) {
        _ = try Self.read(Bybit("linear"), ["COTIUSDT"], frame.replacing(from, with: to))
      }
    }
  }

  // MARK: Deribit

  @Test("Deribit: funding is per 8 h and continuous; without it there is none")
  func deribit() throws {
    let batch = try Self.read(
      Deribit(), ["BTC_USDC-PERPETUAL"], quote: "USDC",
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"ticker.BTC_USDC-PERPETUAL.agg2","data":{"timestamp":1790000000000,"instrument_name":"BTC_USDC-PERPETUAL","stats":{"high":1,"low":1},"mark_price":64123.4567,"index_price":64120.1,"current_funding":-2.1714e-4,"funding_8h":1.7e-5,"open_interest":1132.37}}}"#,
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"ticker.BTC_USDC-PERPETUAL.agg2","data":{"timestamp":1790000000001,"instrument_name":"BTC_USDC-PERPETUAL","mark_price":64123.4,"stats":{}}}}"#
    )
    let report = batch.derivatives[0]
    #expect(report.fundingRate.value == Self.decimal("-0.00021714") && report.isContinuous)
    #expect(report.fundingInterval.value == 8 * Microseconds.hour && report.nextFunding.value == nil)
    #expect(report.openInterest.value == Self.decimal("1132.37") && report.mark.value == Self.decimal("64123.4567"))
    #expect(report.computed == .fundingInterval)
    #expect(batch.derivatives[1].fundingInterval.value == nil && !batch.derivatives[1].isContinuous)
  }

  @Test("Deribit: the key of a trade says who was liquidated; both are two")
  func deribitLiquidation() throws {
    func trade(_ word: String, _ direction: String) -> String {
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC_USDC-PERPETUAL.100ms","data":[{"trade_seq":1,"trade_id":"7","timestamp":1790000000000,"price":9598.5,"instrument_name":"BTC_USDC-PERPETUAL","direction":"\#(direction)","amount":0.5,"liquidation":"\#(word)"}]}}"#
    }
    func positions(_ word: String, _ direction: String) throws -> [Liquidation] {
      let batch = try Self.read(Deribit(), ["BTC_USDC-PERPETUAL"], quote: "USDC", trade(word, direction))
      #expect(batch.events.contains { if case .trade = $0 { true } else { false } }, "it stays a trade")
      return Self.liquidations(batch)
    }
    #expect(try positions("T", "sell").map(\.position) == [.long])
    #expect(try positions("T", "buy").map(\.position) == [.short])
    #expect(try positions("M", "sell").map(\.position) == [.short])
    #expect(try positions("MT", "sell").map(\.position) == [.long, .short])
    #expect(try positions("none", "sell").isEmpty)
    let one = try positions("T", "sell")[0]
    #expect(one.priceKind == .fill && one.id.text == "7" && one.value?.trimmed == Self.decimal("4799.25"))
  }

  // MARK: Hyperliquid, Bitget

  @Test("Hyperliquid: funding per hour, settled at the next full hour")
  func hyperliquid() throws {
    let batch = try Self.read(
      Hyperliquid(), ["BTC"], quote: "USDC", now: Timestamp(milliseconds: 1_790_003_599_999),
      #"{"channel":"activeAssetCtx","data":{"coin":"BTC","ctx":{"funding":"0.0000125","openInterest":"32221.48","prevDayPx":"84000.0","dayNtlVlm":"1","premium":null,"oraclePx":"84143.0","markPx":"84150.5","midPx":null,"impactPxs":null,"dayBaseVlm":"1"}}}"#
    )
    let report = try #require(batch.derivatives.first)
    #expect(report.fundingRate.value == Self.decimal("0.0000125"))
    #expect(report.fundingInterval.value == Microseconds.hour)
    #expect(report.nextFunding.value == Timestamp(milliseconds: 1_790_006_400_000))
    #expect(report.mark.value == Self.decimal("84150.5") && report.index.value == Self.decimal("84143.0"))
    #expect(report.openInterest.value == Self.decimal("32221.48"))
    #expect(report.computed == [.fundingInterval, .nextFunding])
  }

  @Test("Bitget: a market without a next settlement has no funding")
  func bitget() throws {
    func frame(_ next: String) -> String {
      #"{"action":"snapshot","arg":{"instType":"USDT-FUTURES","channel":"ticker","instId":"BTCUSDT"},"data":[{"instId":"BTCUSDT","lastPr":"27000.5","markPrice":"27000.1","indexPrice":"25702.4","fundingRate":"0.000006","nextFundingTime":"\#(next)","holdingAmount":"7543.11","ts":"1695794271400"}],"ts":1695794271407}"#
    }
    let report = try Self.read(Bitget("usdt"), ["BTCUSDT"], frame("1695801600000")).derivatives[0]
    #expect(
      report.fundingRate.value == Self.decimal("0.000006") && report.openInterest.value == Self.decimal("7543.11"))
    #expect(report.nextFunding.value == Timestamp(milliseconds: 1_695_801_600_000))
    let dated = try Self.read(Bitget("usdt"), ["BTCUSDT"], frame("0")).derivatives[0]
    #expect(dated.fundingRate.value == nil && dated.nextFunding.value == nil && dated.mark.value != nil)
  }

  // MARK: Binance, OKX

  @Test("Binance: mark, index and funding of the running interval; dated contracts have none")
  func binance() throws {
    let batch = try Self.read(
      Binance(.usdm), ["BTCUSDT", "BTCBUSD_210129"],
      #"{"stream":"btcusdt@markPrice@1s","data":{"e":"markPriceUpdate","E":1562305380000,"s":"BTCUSDT","p":"11794.15000000","i":"11784.62659091","P":"11784.25641265","r":"0.00038167","T":1562306400000,"st":3}}"#,
      #"{"stream":"btcbusd_210129@markPrice@1s","data":{"e":"markPriceUpdate","E":1609830121004,"s":"BTCBUSD_210129","p":"31799.27730000","P":"31235.82439517","i":"31307.03400000","r":"0.00000000","T":0}}"#
    )
    let (perpetual, dated) = (batch.derivatives[0], batch.derivatives[1])
    #expect(perpetual.mark.value == Self.decimal("11794.15") && perpetual.index.value == Self.decimal("11784.62659091"))
    #expect(perpetual.fundingRate.value == Self.decimal("0.00038167"))
    #expect(perpetual.nextFunding.value == Timestamp(milliseconds: 1_562_306_400_000))
    #expect(perpetual.time == Timestamp(milliseconds: 1_562_305_380_000))
    #expect(dated.mark.value != nil && dated.fundingRate.value == nil && dated.nextFunding.value == nil)
  }

  @Test("Binance: the order of a liquidation, at what was paid or at its limit")
  func binanceLiquidation() throws {
    func frame(_ paid: String, _ side: String = "BUY") -> String {
      #"{"e":"forceOrder","E":1789672236702,"o":{"s":"COTIUSDT","S":"\#(side)","o":"LIMIT","f":"IOC","q":"288183","p":"0.0220482","ap":"\#(paid)","X":"FILLED","l":"288183","z":"288183","T":1789672235690}}"#
    }
    let found = Self.liquidations(try Self.read(Binance(.usdm), ["COTIUSDT"], frame("0.0219120"), frame("0", "SELL")))
    #expect(found.map(\.position) == [.short, .long])
    #expect(found[0].price == Self.decimal("0.021912") && found[0].priceKind == .fill)
    #expect(found[1].price == Self.decimal("0.0220482") && found[1].priceKind == .order)
    #expect(found[0].size == Self.decimal("288183") && found[0].time == Timestamp(milliseconds: 1_789_672_235_690))
    #expect(try Self.liquidations(Self.read(Binance(.usdm), ["BTCUSDT"], frame("1"))).isEmpty, "not followed")
    #expect(throws: FeedError.self) { _ = try Self.read(Binance(.usdm), ["COTIUSDT"], frame("1", "LONG")) }
  }

  @Test("OKX: `fundingTime` is the next settlement, the interval is the time to the one after it")
  func okx() throws {
    let batch = try Self.read(
      OKX(), ["BTC-USDT-SWAP"], contract: Decimal64(mantissa: 1, scale: 2),
      #"{"arg":{"channel":"open-interest","instId":"BTC-USDT-SWAP"},"data":[{"instId":"BTC-USDT-SWAP","instType":"SWAP","oi":"2216113.01000000309","oiCcy":"22161.1301000000309","oiUsd":"1939251795.54769270396321","ts":"1743041250440"}]}"#,
      #"{"arg":{"channel":"funding-rate","instId":"BTC-USDT-SWAP"},"data":[{"formulaType":"noRate","fundingRate":"0.0001875391284828","fundingTime":"1700726400000","instId":"BTC-USDT-SWAP","nextFundingRate":"","nextFundingTime":"1700755200000","settFundingRate":"0.0001699799259033","ts":"1700724675402"}]}"#,
      #"{"arg":{"channel":"mark-price","instId":"BTC-USDT-SWAP"},"data":[{"instType":"SWAP","instId":"BTC-USDT-SWAP","markPx":"42310.6","ts":"1630049139746"}]}"#,
      #"{"arg":{"channel":"index-tickers","instId":"BTC-USDT"},"data":[{"instId":"BTC-USDT","idxPx":"0.1","high24h":"0.5","ts":"1597026383085"}]}"#
    )
    #expect(batch.derivatives.count == 4)
    #expect(batch.derivatives[0].openInterest.value == Self.decimal("22161.1301000000309"))
    let funding = batch.derivatives[1]
    #expect(funding.fundingRate.value == Self.decimal("0.0001875391284828") && funding.predictedRate.value == nil)
    #expect(funding.nextFunding.value == Timestamp(milliseconds: 1_700_726_400_000))
    #expect(funding.fundingInterval.value == 8 * Microseconds.hour && funding.computed == .fundingInterval)
    #expect(batch.derivatives[2].mark.value == Self.decimal("42310.6"))
    #expect(
      batch.derivatives[3].index.value == Self.decimal("0.1") && batch.derivatives[3].instrument == InstrumentID(0))
  }

  @Test("OKX: liquidations of all contracts; sizes are in contracts, the price is that of the bankruptcy")
  func okxLiquidation() throws {
    let batch = try Self.read(
      OKX(), ["CNPY-USDT-SWAP"], contract: Decimal64(mantissa: 10, scale: 0),
      #"{"arg":{"channel":"liquidation-orders","instType":"SWAP"},"data":[{"instId":"CNPY-USDT-SWAP","instFamily":"CNPY-USDT","instType":"SWAP","details":[{"bkLoss":"0","bkPx":"0.4162","ccy":"","posSide":"short","side":"buy","sz":"2137","ts":"1789669898955"},{"bkPx":"0.4","posSide":"long","side":"","sz":"1","ts":"1789669898956"}]},{"instId":"BTC-USDT-SWAP","details":[{"bkPx":"1","posSide":"long","side":"sell","sz":"1","ts":"1"}]}]}"#
    )
    let found = Self.liquidations(batch)
    #expect(found.map(\.position) == [.short, .long])
    #expect(found[0].size == Self.decimal("21370") && found[0].priceKind == .bankruptcy)
    #expect(found[0].price == Self.decimal("0.4162") && found[0].time == Timestamp(milliseconds: 1_789_669_898_955))
  }
}
