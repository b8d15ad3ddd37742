import MarketData
import Testing

@testable import PubSub

@Suite("The facts of channels")
struct ChannelFactsTests {
  /// The channel without the facts that it only has if it is one of markets.
  private static func unrelated(_ facts: ChannelFacts) -> Bool {
    facts.source == .market || facts.hears.isEmpty && facts.composites == .none && !facts.isBook
  }

  @Test("fit together: who shares a stream, what it is named by, and what it hears")
  func consistent() {
    var ranks: Set<UInt8> = []
    for channel in ChannelName.allCases {
      let facts = channel.facts
      #expect(Self.unrelated(facts), "\(channel)")
      #expect(!channel.type.data.update.isEmpty && !channel.type.data.snapshot.isEmpty, "\(channel)")
      guard facts.source == .market else { continue }
      #expect(facts.names == .symbols && facts.audience == .everyone && !facts.hears.isEmpty, "\(channel)")
      #expect(ranks.insert(facts.rank).inserted, "\(channel): two channels with the rank \(facts.rank)")
    }
  }

  @Test("a stream is of its channel's class; of a composite market it shows a document, unless that has a state")
  func classes() {
    let markets: [ChannelName: PublishedStream.Type] = [
      .trades: TradesStream.self, .quote: QuoteStream.self, .ticker: TickerStream.self, .pulse: PulseStream.self,
      .book: BookStream.self, .sparkline: SparklineStream.self, .candles: CandlesStream.self,
      .status: StatusStream.self, .topic: TopicStream.self, .derivative: DerivativeStream.self,
      .liquidations: LiquidationsStream.self,
    ]
    func type(_ channel: ChannelName, _ symbol: String) -> PublishedStream.Type {
      let key = StreamKey(channel: channel, symbol: symbol)
      return Swift.type(of: PublishedStream.make(StreamStart(id: StreamID(rawValue: 1), seq: 0, key: key)))
    }
    for channel in ChannelName.allCases {
      #expect(type(channel, "kraken:BTC-USD") == markets[channel] ?? DocumentStream.self, "\(channel)")
      guard channel.isOfComposites else { continue }
      let isOfState = [.book, .sparkline, .candles].contains(channel)
      #expect(type(channel, "composite:BTC-USD") == (isOfState ? markets[channel] : DocumentStream.self), "\(channel)")
    }
  }

  @Test("each kind of change reaches the streams that it concerns, in one order")
  func hears() {
    let market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
    var changes = MarketChanges()
    var batch = EventBatch()
    batch.append(
      instrument: Instrument(
        id: InstrumentID(0), venue: "kraken", venueSymbol: "A", base: "A", quote: "B", priceScale: 1, sizeScale: 1))
    market.apply(batch, now: Timestamp(microseconds: 1), into: &changes)
    let instrument = PublishedInstrument(state: market[InstrumentID(0)])
    let channels = ChannelName.allCases.filter(\.isOfMarket)
    let streams = (channels + channels).enumerated().compactMap { index, channel in
      PublishedStream.make(
        StreamStart(
          id: StreamID(rawValue: UInt32(index)), seq: 0, key: StreamKey(channel: channel, symbol: "kraken:A-B")))
        as? MarketStream
    }
    for stream in streams { instrument.add(stream) }
    func listeners(_ change: MarketChange) -> [ChannelName] {
      instrument.groups.filter { !$0.hears.isDisjoint(with: change.target.kind) }.map(\.channel)
    }
    let id = InstrumentID(0)
    #expect(listeners(.trades(id, 0..<1)) == [.trades, .candles])
    #expect(listeners(.tradeGap(id, 0..<1)) == [.trades])
    #expect(listeners(.tradesMissing(id, hole: 0)) == [.trades, .candles])
    #expect(listeners(.bookState(id, .absent)) == [.book, .quote])
    #expect(listeners(.bookSnapshot(id)) == [.book])
    #expect(listeners(.ticker(id)) == [.ticker, .sparkline])
    #expect(listeners(.derivative(id)) == [.derivative])
    #expect(listeners(.liquidations(id, 0..<1)) == [.liquidations])
    #expect(listeners(.past(id)) == [.ticker, .sparkline, .candles])
    #expect(listeners(.channel(id, .trades, .live)) == [.trades, .quote, .pulse, .ticker])
    #expect(instrument.groups.allSatisfy { $0.streams.count == 2 })
    for stream in streams { instrument.remove(stream) }
    #expect(!instrument.hasStreams)
  }
}
