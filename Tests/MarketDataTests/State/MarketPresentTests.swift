import Bytes
import MarketData
import Testing

@Suite("What a market has, as changes")
struct MarketPresentTests {
  @Test("each instrument is there, with the state of its book, and nothing that was published before")
  func present() {
    let market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
    var changes = MarketChanges()
    market.appendPresent(to: &changes)
    #expect(changes.items.isEmpty)
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    var batch = EventBatch()
    for index in 0..<3 {
      batch.append(
        instrument: Instrument(
          id: InstrumentID(index), venue: "test", venueSymbol: "I\(index)", base: "B\(index)", quote: "USD",
          priceScale: 2, sizeScale: 4))
    }
    // The first is live, the second was, the third never.
    for index in 0..<2 {
      batch.bids.append(PriceLevel(price: 100, size: 1))
      batch.asks.append(PriceLevel(price: 101, size: 1))
      batch.events.append(
        .book(
          BookEvent(
            instrument: InstrumentID(index), kind: .snapshot, bidRange: index..<(index + 1),
            askRange: index..<(index + 1), time: now, checksum: nil)))
    }
    batch.events.append(.bookReset(InstrumentID(1), .gap))
    market.apply(batch, now: now, into: &changes)
    changes.removeAll()
    market.appendPresent(to: &changes)
    var seen: [String] = []
    for item in changes.items {
      switch item {
      case .instrument(let id): seen.append("instrument \(id.index)")
      case .bookState(let id, let state): seen.append("\(state == .live ? "live" : "syncing") \(id.index)")
      case .bookSnapshot(let id): seen.append("book \(id.index)")
      default: seen.append("another")
      }
    }
    #expect(seen == ["instrument 0", "live 0", "book 0", "instrument 1", "syncing 1", "instrument 2"])
  }
}
