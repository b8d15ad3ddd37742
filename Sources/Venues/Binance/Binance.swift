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
package final class Binance: Dialect {
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
  /// By place, whether `trade` came; `aggTrade`, which only recordings carry, then says nothing new.
  var hasTrades: [Bool] = []
  private var asksWholeList = false

  init(_ market: BinanceMarket) {
    self.market = market
    var facts = DialectFacts(
      channels: market.streams.map { .init($0) }, book: .bridged,
      pacing: .init(
        grouping: .symbols(Self.namesPerRequest / market.streams.count), atOnce: 1, every: Self.requestInterval,
        limit: 512),
      salvage: [.init(mark: "\"depthUpdate\"", key: "\"s\"")])
    facts.bridge = .init(
      rule: market.rule, snapshots: market.snapshots, weightPerMinute: market.weightPerMinute, concurrency: 8,
      // Room for 1,000 levels a side: about 80 KB.
      bodyLimit: 1 << 20)
    facts.volumePaths = [.init(market.volumePath)]
    // Room for the whole list of instruments (some 16 MB for 3,000 symbols), asked for if the short one is refused.
    facts.listLimit = 32 << 20
    // The acknowledgement does not prove that a symbol exists.
    facts.silenceLimit = Microseconds.minute
    facts.countsTrades = true
    super.init(facts)
  }

  override func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    let names: [String]
    switch request {
    case .subscribe(let topics):
      var all: [String] = []
      for topic in topics {
        all.append(instruments[topic.place].venueSymbol.lowercased() + "@" + facts.channels[topic.channel].name)
      }
      names = all
    case .canary(let symbol): names = ["\(symbol.lowercased())@\(market.canary)"]
    // A bridged book is never subscribed again: a snapshot is what it lacks.
    default: return nil
    }
    return #"{"method":"SUBSCRIBE","params":\#(JSONText.array(names)),"id":\#(id)}"#
  }

  override func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    try readMessage(message, &instruments, &hearing, into: &batch)
  }

  // MARK: Lists

  /// A name that the venue does not know fails the whole request, a list of one name too many is refused whole, and a
  /// URL has its limit too: then the whole list is asked for.
  override func listPath(_ query: ListQuery) -> String? {
    asksWholeList = query.failed == 400 || (asksWholeList && query.failed != nil)
    let names = query.symbols.map { URLText.percentEncoded($0.base + $0.quote) }
    guard market.selectsSymbols, !asksWholeList, !query.isWhole, !names.isEmpty, names.count <= 100 else {
      return market.infoPath
    }
    return market.infoPath + "?symbols=%5B" + names.map { "%22\($0)%22" }.joined(separator: ",") + "%5D"
  }

  override func readList(_ body: RawSpan) throws(FeedError) -> ListPage {
    let list = try readMarkets(body)
    // Half of what the venue says an address may use; other programs share the address.
    return ListPage(markets: list.markets, weightPerMinute: list.weightPerMinute.map { $0 / 2 })
  }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readTickers(body, into: &volumes)
  }

  // MARK: Snapshots

  override func snapshotPath(_ instrument: Instrument, levels: Int) -> String {
    "\(market.depthPath)?symbol=\(URLText.percentEncoded(instrument.venueSymbol))&limit=\(levels)"
  }

  override func readSnapshot(
    _ body: RawSpan, _ place: Int, _ instruments: inout InstrumentTable, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    try readOrderBook(body, place, &instruments, into: &batch)
  }
}
