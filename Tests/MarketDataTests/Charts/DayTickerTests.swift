import Bytes
import MarketData
import Testing

@Suite struct DayTickerTests {
  private let instrument = Instrument(
    id: .init(0), venue: "test", venueSymbol: "BTCUSD", base: "BTC", quote: "USD", priceScale: 2, sizeScale: 4)
  private let now = Timestamp(microseconds: 1_700_000_000_000_000)

  private var figures: WindowFigures {
    var figures = WindowFigures()
    figures.open = 10_000
    figures.high = 10_300
    figures.low = 9_933
    figures.last = 9_933
    figures.volume = 70_000
    figures.quoteVolume = 703_320_000
    figures.trades = 3
    return figures
  }

  private func day(_ venue: Ticker?, coveredFrom: Timestamp? = nil) -> DayTicker {
    DayTicker(
      venue: venue, figures: figures, lastPrice: 9_933,
      quote: Quote(instrument: .init(0), bid: 9_930, bidSize: 1, ask: 0, askSize: 0, time: now), instrument: instrument,
      coveredFrom: coveredFrom, now: now)
  }

  @Test("the gateway's own ticker has every figure, rounded once")
  func own() {
    let day = day(nil, coveredFrom: now - 5)
    #expect(day.source == .gateway && day.own.isEmpty && day.coveredFrom == now - 5)
    let ticker = day.ticker
    #expect(ticker.last == 9_933 && ticker.open == 10_000 && ticker.high == 10_300 && ticker.low == 9_933)
    #expect(ticker.bid == 9_930 && ticker.ask == nil)
    #expect(ticker.volume == Decimal64(mantissa: 70_000, scale: 4))
    #expect(ticker.quoteVolume == Decimal64(mantissa: 703_320_000, scale: 6))
    // 703.32 / 7 = 100.474…
    #expect(ticker.vwap == Decimal64(mantissa: 10_047, scale: 2))
    #expect(ticker.change == Decimal64(mantissa: -67, scale: 2))
    #expect(ticker.changePercent == Decimal64(mantissa: -67, scale: 2))
    #expect(ticker.trades == 3)
  }

  @Test("a venue that says everything is left alone")
  func whole() {
    var venue = Ticker(instrument: .init(0), time: now)
    (venue.last, venue.bid, venue.ask, venue.open, venue.high, venue.low) = (
      10_100, 10_099, 10_101, 9_000, 11_000, 8_000
    )
    venue.volume = Decimal64(mantissa: 5, scale: 0)
    venue.quoteVolume = Decimal64(mantissa: 500, scale: 0)
    venue.vwap = Decimal64(mantissa: 100, scale: 0)
    venue.change = Decimal64(mantissa: 11, scale: 0)
    venue.changePercent = Decimal64(mantissa: 122, scale: 1)
    venue.trades = 77
    let day = day(venue, coveredFrom: now - 5)
    #expect(day.source == .venue && day.own.isEmpty && day.coveredFrom == nil)
    #expect(day.ticker.open == 9_000 && day.ticker.trades == 77 && day.ticker.bid == 10_099)
    #expect(day.ticker.changePercent == Decimal64(mantissa: 122, scale: 1))
  }

  @Test("what follows from the venue's figures comes before the gateway's own")
  func derived() {
    // As Kraken: no open, no quote volume, no count.
    var venue = Ticker(instrument: .init(0), time: now)
    (venue.last, venue.high, venue.low) = (10_100, 11_000, 8_000)
    venue.change = Decimal64(mantissa: 55, scale: 1)
    venue.volume = Decimal64(mantissa: 20_000, scale: 4)
    venue.vwap = Decimal64(mantissa: 10_050, scale: 2)
    let day = day(venue, coveredFrom: now - 5)
    #expect(day.ticker.open == 9_550)
    #expect(day.ticker.changePercent == Decimal64(mantissa: 576, scale: 2))
    #expect(day.ticker.quoteVolume == Decimal64(mantissa: 201_000_000, scale: 6))
    #expect(day.ticker.trades == 3)
    #expect(day.source == .mixed && day.own == .trades && day.coveredFrom == now - 5)
  }

  @Test("a venue that says nearly nothing is filled, and the change goes with the open")
  func filled() {
    // As Coinbase, but less.
    var venue = Ticker(instrument: .init(0), time: now)
    venue.last = 10_100
    venue.volume = Decimal64(mantissa: 20_000, scale: 4)
    venue.quoteVolume = Decimal64(mantissa: 20_100, scale: 2)
    let day = day(venue)
    #expect(day.ticker.open == 10_000 && day.ticker.change == Decimal64(mantissa: 100, scale: 2))
    #expect(day.ticker.vwap == Decimal64(mantissa: 10_050, scale: 2))
    #expect(day.own == [.open, .high, .low, .change, .trades])
  }

  @Test("the sum of quotes belongs to the venue's volume, however short the gateway's own day is")
  func averages() {
    var venue = Ticker(instrument: .init(0), time: now)
    venue.last = 10_100
    venue.volume = Decimal64(mantissa: 2_000, scale: 0)
    let day = day(venue, coveredFrom: now - 5)
    // 2,000 × 100.47, not the 703.32 that the gateway saw.
    #expect(day.ticker.quoteVolume == Decimal64(mantissa: 20_094_000, scale: 2))
    #expect(day.ticker.vwap == Decimal64(mantissa: 10_047, scale: 2))
    #expect(day.own.contains([.quoteVolume, .vwap]) && !day.own.contains(.volume))
  }

  @Test("a day without trades has no prices but the last, and zero volume")
  func quiet() {
    let ticker = WindowFigures().ticker(of: instrument, lastPrice: 10_000, quote: nil, now: now)
    #expect(ticker.last == 10_000 && ticker.open == nil && ticker.change == nil && ticker.vwap == nil)
    #expect(ticker.volume?.mantissa == 0 && ticker.trades == 0)
  }
}
