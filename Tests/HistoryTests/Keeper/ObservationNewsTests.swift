import MarketData
import Testing

@testable import History

@Suite("What the data file learns of an observation")
struct ObservationNewsTests {
  /// A market of one instrument, and what was appended for the data file.
  private struct Scene: ~Copyable {
    let market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
    let id = InstrumentID(0)
    let origin = Timestamp(microseconds: 1_790_000_000_000_000)
    var news = ObservationNews()
    var batch = HistoryBatch()
    private var changes = MarketChanges()

    init(bridgesTrades: Bool) {
      market.bridgesTrades = bridgesTrades
      var events = EventBatch()
      events.append(
        instrument: Instrument(
          id: id, venue: "kraken", venueSymbol: "ZEC/USD", base: "ZEC", quote: "USD", priceScale: 2, sizeScale: 8))
      market.apply(events, now: origin, into: &changes)
    }

    func time(_ second: Int64) -> Timestamp { origin + second * Microseconds.second }

    /// A trade whose number is its second.
    func trade(_ second: Int64, isBacklog: Bool = false) -> Trade {
      Trade(
        instrument: id, id: TradeID(UInt64(second)), price: 100, size: 1, side: .buy, time: time(second),
        isBacklog: isBacklog)
    }

    mutating func apply(_ trade: Trade, at second: Int64) {
      var events = EventBatch()
      events.events.append(.trade(trade))
      market.apply(events, now: time(second), into: &changes)
    }

    mutating func disconnect() { market.disconnect(into: &changes) }

    mutating func goOn(after trade: Trade) {
      market.bridge(after: [trade], isCounted: false, of: id, into: &changes)
    }

    mutating func take(at second: Int64) {
      _ = news.take(market, id, as: "kraken:ZEC-USD", now: time(second), into: &batch)
    }

    /// The observations as seconds, the ends of observations below 0.
    var observations: [Int64] {
      batch.observations.map { ($0.isObserved ? 1 : -1) * (($0.time - origin) / Microseconds.second) }
    }
  }

  @Test("a connection that was lost and made again since the last look is a gap, from a second before its end")
  func interrupted() {
    var scene = Scene(bridgesTrades: false)
    scene.apply(scene.trade(10), at: 10)
    scene.take(at: 11)
    scene.apply(scene.trade(20), at: 20)
    scene.disconnect()
    scene.apply(scene.trade(21), at: 21)
    scene.take(at: 22)
    scene.take(at: 23)
    #expect(scene.observations == [11, -19, 22])
  }

  @Test("an observation that began and ended since the last look was none")
  func short() {
    var scene = Scene(bridgesTrades: false)
    scene.apply(scene.trade(10), at: 10)
    scene.disconnect()
    scene.take(at: 11)
    #expect(scene.observations == [])
  }

  @Test("trades that join the run before end the gap between the two")
  func joined() {
    var scene = Scene(bridgesTrades: true)
    scene.news.expectPast()
    scene.apply(scene.trade(10, isBacklog: true), at: 20)
    scene.apply(scene.trade(15, isBacklog: true), at: 20)
    scene.take(at: 21)
    #expect(scene.batch.junctions.isEmpty)
    scene.news.begin(after: scene.time(9))
    scene.goOn(after: scene.trade(10))
    scene.take(at: 22)
    scene.take(at: 23)
    #expect(scene.batch.junctions.map(\.start) == [scene.time(9)])
    // Without a live trade, trades of the last second may be under way.
    #expect(scene.batch.junctions.map(\.end) == [scene.time(19)])
    #expect(scene.observations == [])
  }

  @Test("trades that do not join the run before divide its gap, so that the next run joins the later part alone")
  func divided() {
    var scene = Scene(bridgesTrades: true)
    scene.news.expectPast()
    scene.news.begin(after: scene.time(9))
    scene.goOn(after: scene.trade(10))
    scene.apply(scene.trade(15, isBacklog: true), at: 20)
    scene.take(at: 22)
    scene.take(at: 23)
    #expect(scene.batch.junctions.isEmpty)
    #expect(scene.observations == [22, -22])
  }
}
