import Bytes
import MarketData

/// Binance spot and USD-M futures: `depth@100ms` joined to REST snapshots, `trade`, `bookTicker`, and on spot
/// `ticker`, on the combined endpoint, without a key. A venue with two connections, as spot and futures have hosts of
/// their own.
///
/// Snapshots are asked for with `limit=1000` (weight 50): a thousand levels a side reach further than clients are
/// shown, and cost a fifth of the weight and of the bytes of 5,000. A level beyond it is unknown until it changes.
/// Where there are so many symbols that their snapshots would take longer than `startMinutes` of the weight limit,
/// they are of 500 or 100 levels.
package final class Binance: Dialect, RegisteredVenue {
  /// Stream names in one SUBSCRIBE, and the time between two: five messages a second are allowed, pings and pongs
  /// counted.
  static let namesPerRequest = 200
  static let requestInterval = 300 * Microseconds.millisecond
  /// Binance closes every connection after 24 h.
  static let lifetime = 24 * Microseconds.hour
  /// The pause that a refusal for too many messages costs.
  static let ratePause = 5 * Microseconds.second
  /// How long after `serverShutdown` the connection may last: ten minutes were promised once, and nothing is now.
  static let shutdownNotice = 10 * Microseconds.minute

  let market: BinanceMarket
  /// By index, whether `trade` came; `aggTrade`, which only recordings carry, then says nothing new.
  var hasTrades: [Bool] = []

  let facts: DialectFacts

  init(_ market: BinanceMarket) {
    self.market = market
    var facts = DialectFacts(
      channels: market.channels, book: .bridged,
      pacing: .init(
        grouping: .symbols(Self.namesPerRequest / market.channels.count), atOnce: 1, every: Self.requestInterval,
        limit: 512),
      salvage: [.init(mark: "\"depthUpdate\"", key: "\"s\"")])
    facts.bridge = .init(
      rule: market.rule, path: market.snapshotPath, read: market.readSnapshot,
      snapshots: market.snapshots, weightPerMinute: market.weightPerMinute, concurrency: 8,
      // Room for 1,000 levels a side: about 80 KB.
      bodyLimit: 1 << 20)
    facts.list = market.listing
    facts.volumes = [market.volumes]
    // The acknowledgement does not prove that a symbol exists.
    facts.silenceLimit = Microseconds.minute
    facts.countsTrades = true
    if market.tickerInterval == nil {
      let path = market.volumePath
      facts.witness = .init(
        // Weight 1 of 2,400 a minute.
        path: { "\(path)?symbol=\(URLText.percentEncoded($0.venueSymbol))" }, requestsPerMinute: 120,
        read: { (reader, instruments, figures) throws(FeedError) in
          try instruments.readFigures(&reader, TickerFormat(last: "lastPrice", volume: "volume"), into: &figures)
        })
    }
    facts.tradePages = market.trades
    if market.part == "usdm" { facts.derivativePolls = BinanceDerivatives.polls }
    self.facts = facts
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    let names: [String]
    var method = "SUBSCRIBE"
    switch request {
    // A bridged book is never subscribed again: a snapshot is what it lacks.
    case .topics(let topics, .unsubscribe) where topics.contains(where: { $0.channel == 0 }): return nil
    case .topics(let topics, let verb):
      method = verb.rawValue.uppercased()
      var all: [String] = []
      for topic in topics {
        all.append(instruments[topic.index].venueSymbol.lowercased() + "@" + facts.channels[topic.channel].name)
      }
      names = all
    case .canary(let symbol): names = ["\(symbol.lowercased())@\(market.canary)"]
    default: return nil
    }
    return #"{"method":"\#(method)","params":\#(JSONQuoting.array(names)),"id":\#(id)}"#
  }
}
