/// One of the streams that carry data; names of others are acknowledged and stay silent.
enum BinanceStream: Hashable {
  case trade
  case aggregateTrade
  case bookTicker
  case ticker
  case miniTicker
  /// All changes of the book, every 100 ms or every second.
  case depth(isFast: Bool)
  /// The best 5, 10 or 20 levels, every 100 ms or every second.
  case partialDepth(levels: Int, isFast: Bool)
  /// The best levels of futures, every 500 ms, in the shape of an update.
  case futuresDepth(levels: Int)

  static let all: [BinanceStream] =
    [.trade, .aggregateTrade, .bookTicker, .ticker, .miniTicker, .depth(isFast: true), .depth(isFast: false)]
    + [5, 10, 20].flatMap { [.partialDepth(levels: $0, isFast: true), .partialDepth(levels: $0, isFast: false)] }
    + [5, 10, 20].map { .futuresDepth(levels: $0) }

  /// What follows `btcusdt@`.
  var suffix: String {
    switch self {
    case .trade: "trade"
    case .aggregateTrade: "aggTrade"
    case .bookTicker: "bookTicker"
    case .ticker: "ticker"
    case .miniTicker: "miniTicker"
    case .depth(let isFast): isFast ? "depth@100ms" : "depth"
    case .partialDepth(let levels, let isFast): isFast ? "depth\(levels)@100ms" : "depth\(levels)"
    case .futuresDepth(let levels): "depth\(levels)@500ms"
    }
  }

  init?(suffix: Substring) {
    guard let stream = Self.all.first(where: { $0.suffix == suffix || $0.suffix + "@1000ms" == suffix }) else {
      return nil
    }
    self = stream
  }
}
