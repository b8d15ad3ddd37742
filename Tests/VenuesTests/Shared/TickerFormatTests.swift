import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("24 h figures in a venue's format")
struct TickerFormatTests {
  private static func ticker(_ text: String, _ format: TickerFormat) -> (ticker: Ticker?, error: FeedError?) {
    let (_, receive) = FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      let object = try reader.rawValue("ticker")
      var ticker = Ticker(
        instrument: InstrumentID(try instruments.index("s", in: reader.reader(object))),
        time: Timestamp(microseconds: 7))
      var figures = reader.reader(object)
      try instruments.readFigures(&figures, format, into: &ticker)
      batch.events.append(.ticker(ticker))
    }
    let got = receive(text)
    guard case .ticker(let ticker)? = got.batch.last else { return (nil, got.error) }
    return (ticker, got.error)
  }

  private static let whole = TickerFormat(
    last: "l", bid: "b", ask: "a", open: "o", high: "h", low: "w", volume: "v", quoteVolume: "q", vwap: "x",
    change: "c", changePercent: "p")

  @Test("each figure by its name, whatever stands before its market's name")
  func names() throws {
    let got = Self.ticker(
      #"{"l":"1.5","b":1,"a":"2","o":"1.25","h":3,"w":"0.5","v":"1000.125","q":1500,"s":"BTCUSD","x":"1.4","c":"-0.25","p":"-20.5"}"#,
      Self.whole)
    let ticker = try #require(got.ticker, "\(got.error?.detail ?? "")")
    #expect(
      [ticker.last, ticker.bid, ticker.ask, ticker.open, ticker.high, ticker.low] == [150, 100, 200, 125, 300, 50])
    #expect(ticker.volume == Decimal64(mantissa: 1_000_125, scale: 3))
    #expect(ticker.quoteVolume == Decimal64(mantissa: 1_500, scale: 0))
    #expect(ticker.vwap == Decimal64(mantissa: 14, scale: 1) && ticker.change == Decimal64(mantissa: -25, scale: 2))
    #expect(ticker.changePercent == Decimal64(mantissa: -205, scale: 1))
  }

  @Test("a change that is printed as a fraction is a hundred times as many percent")
  func fraction() throws {
    let format = TickerFormat(changePercent: "p", isFraction: true)
    let change = try #require(Self.ticker(#"{"s":"BTCUSD","p":"0.0196"}"#, format).ticker?.changePercent)
    #expect(change == Decimal64(mantissa: 196, scale: 2), "\(change)")
  }

  @Test("a figure without a name is none; what is null, no number or too long for the scale is nil")
  func missing() throws {
    let few = try #require(Self.ticker(#"{"s":"BTCUSD","l":"1.5","h":"2","":"9"}"#, TickerFormat(last: "l")).ticker)
    #expect(few.last == 150 && few.high == nil && few.volume == nil)
    let odd = try #require(
      Self.ticker(#"{"s":"BTCUSD","l":null,"b":"","h":"1.005","v":"x","q":"1e40"}"#, Self.whole).ticker)
    #expect(odd.last == nil && odd.bid == nil && odd.high == nil && odd.volume == nil && odd.quoteVolume == nil)
  }

  @Test("figures of nobody, or of a market that was not subscribed, are refused")
  func market() {
    #expect(Self.ticker(#"{"l":"1"}"#, Self.whole).error?.detail == "ticker without field s")
    #expect(Self.ticker(#"{"s":"ETHUSD","l":"1"}"#, Self.whole).error?.kind == .unknownSymbol)
  }
}
