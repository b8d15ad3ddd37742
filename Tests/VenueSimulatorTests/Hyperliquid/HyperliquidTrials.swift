import MarketData

@testable import VenueSimulator
@testable import Venues

extension HyperliquidProtocol: VenueTrials {
  static let setups = [
    // Every message is the whole book to its depth, so that none is missed for long; late ones are known by their time.
    BookPropertyTests.Setup(
      "hyperliquid", ["BTC-USDC-PERP", "ETH-USDC", "ZEC-USDC-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 5, refusal: .byEnd, books: "book("))
  ]

  static let crowds = [
    CrowdTests.Crowd("hyperliquid", "USDC", .perpetual, count: 40)
  ]

  static var candleSheets: [CandleSheet] { [.hyperliquid] }
}

extension CandleSheet {
  static let hyperliquid = CandleSheet(
    venue: "hyperliquid", symbol: "BTC", names: ["1m", "5m", "15m", "1h", "4h", "1d"],
    request: { symbol, interval, from, to in
      Request(
        path: "/info",
        body: #"{"type":"candleSnapshot","req":{"coin":"\#(symbol)","interval":"\#(interval)","#
          + #""startTime":\#(from * 1_000),"endTime":\#(to * 1_000)}}"#)
    },
    rows: { $0 as? [Any] ?? [] },
    read: object(unit: 1, start: "t", names: ["o", "h", "l", "c", "v"], trades: "n"))
}
