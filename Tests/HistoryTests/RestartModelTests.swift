import Bytes
import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import History

/// A venue, and a gateway's market and data file over many runs, beside a list of all trades.
private final class RestartWorld {
  /// How a venue shows which trades this run continues with.
  enum Style: CaseIterable {
    /// It sends its last fifty trades at the start.
    case resends
    /// It numbers its trades.
    case counts
    case neither
  }

  struct Sent {
    var trade: Trade
    /// When it reaches a gateway that is connected.
    var arrival: Timestamp
  }

  static let symbol = "kraken:ZEC-USD"
  static let second = Microseconds.second
  /// The interval of the loop's ticks and the delay of the store's writer, µs.
  static let tick = 50 * Microseconds.millisecond
  static let writerDelay = 250 * Microseconds.millisecond

  let style: Style
  var random: SeededGenerator
  let path: String
  let id = InstrumentID(0)
  var now = Timestamp(microseconds: 1_790_000_000_000_000)
  var venue: [Sent] = []
  private var price: Int64 = 10_000
  private var nextTrade: Timestamp
  /// Trades of the venue that have reached this run.
  private var delivered = 0

  // The run.
  var store: HistoryStore!
  var market: Market!
  private var changes = MarketChanges()
  private var batch = HistoryBatch()
  private var observation = ObservationNews()
  private var pastAt: Timestamp?
  /// When the venue connects again; nil while the connection stands.
  private var connectsAt: Timestamp?
  /// Ids of the trades that the run has, restored ones included, and of those that it has published, in order.
  var seen: Set<UInt64> = []
  /// When this run got each of its trades.
  private var gotten: [UInt64: Timestamp] = [:]
  var published: [Trade] = []
  private var handed: (seen: Set<UInt64>, published: [Trade])?
  private var durable: (seen: Set<UInt64>, published: [Trade]) = ([], [])
  private var handedAt = Timestamp.distantPast

  init(_ style: Style, seed: UInt64, path: String) {
    self.style = style
    self.path = path
    random = SeededGenerator(seed: seed)
    nextTrade = now
  }

  private func draw(_ limit: UInt64) -> Int64 { Int64(random.next() % limit) }

  // MARK: The venue

  private func makeTrades() {
    while nextTrade <= now {
      price = max(9_000, price + draw(41) - 20)
      let number = UInt64(venue.count + 1)
      let trade = Trade(
        instrument: id, id: TradeID(number), price: price, size: draw(1_000) + 1, side: draw(2) == 0 ? .buy : .sell,
        time: nextTrade)
      let arrival = max(nextTrade + 5_000 + draw(200_000), venue.last?.arrival ?? .distantPast)
      venue.append(Sent(trade: trade, arrival: arrival))
      // Bursts, and silences that are longer than a restart.
      nextTrade = nextTrade + 1_000 + (draw(20) == 0 ? draw(40_000_000) : draw(4) == 0 ? draw(3_000_000) : draw(90_000))
    }
  }

  /// Lets the venue trade while no gateway runs.
  func pass(_ time: Int64) {
    now = now + time
    makeTrades()
  }

  // MARK: A run

  func start() throws {
    store = try HistoryStore(
      file: DataFile(path: path, parts: SchemaPart.all, stamp: nil), retention: Retention(minute: nil))
    try store.begin(now: now)
    (seen, published) = durable
    handed = nil
    batch = HistoryBatch()
    (observation, handedAt, connectsAt) = (ObservationNews(), now, nil)
    gotten = [:]
    if store.knows(Self.symbol) { observation.expectPast() }
    market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
    market.bridgesTrades = true
    let instrument = Instrument(
      id: id, venue: "kraken", venueSymbol: "ZEC/USD", base: "ZEC", quote: "USD", priceScale: 2, sizeScale: 8)
    var events = EventBatch()
    events.append(instrument: instrument)
    apply(events)
    batch.instruments = [.init(symbol: Self.symbol, instrument: instrument)]
    makeTrades()
    pastAt = now + draw(600_000)
    resent = []
    connect()
  }

  /// Trades under way to nobody are lost.
  private func connect() {
    connectsAt = nil
    delivered = venue.firstIndex { $0.arrival > now } ?? venue.count
    guard style == .resends else { return }
    var events = EventBatch()
    for sent in venue[..<delivered].suffix(50) {
      var trade = sent.trade
      trade.isBacklog = true
      events.events.append(.trade(trade))
      get(trade)
    }
    apply(events)
  }

  /// Loses the connection for up to 20 s.
  private func disconnect() {
    connectsAt = now + 100_000 + draw(draw(3) == 0 ? 20_000_000 : 2_000_000)
    changes.removeAll()
    market.disconnect(into: &changes)
    note()
  }

  /// Notes that this run has got a trade, which is published when its past is known.
  private func get(_ trade: Trade) {
    let number = trade.id.number ?? 0
    gotten[number] = min(gotten[number] ?? now, now)
    guard trade.isBacklog else { return }
    if pastAt == nil { seen.insert(number) } else { resent.insert(number) }
  }

  /// What the venue has sent again before the past was known.
  private var resent: Set<UInt64> = []

  private func restorePast() throws {
    pastAt = nil
    changes.removeAll()
    guard store.knows(Self.symbol), let stored = try store.restore(Self.symbol, now: now) else {
      return begin()
    }
    let past = InstrumentPast(stored, of: market[id].instrument, now: now)
    observation.begin(after: past.end)
    past.restore(market, id, now: now, into: &changes)
    let told = past.latest?.trades(of: market[id].instrument) ?? []
    changes.removeAll()
    if told.isEmpty { return begin() }
    market.bridge(after: told, isCounted: style == .counts, of: id, into: &changes)
    note()
  }

  /// The first trades of all: those that the venue sends at the start are counted, and not published.
  private func begin() {
    market.beginWithoutPast(of: id, into: &changes)
    seen.formUnion(resent)
    note()
  }

  private func apply(_ events: borrowing EventBatch) {
    changes.removeAll()
    market.apply(events, now: now, into: &changes)
    note()
  }

  private func note() {
    for item in changes.items {
      switch item {
      case .trades(_, let range): for trade in changes.trades[range] { publish(trade) }
      case .tradeGap(_, let range): for trade in changes.trades[range] { publish(trade) }
      case .candles(_, let range):
        for candle in changes.candles[range]
        where candle.interval == .minute && candle.isClosed && candle.volume > 0 && candle.source != .venue {
          observe()
          batch.minutes.append(.init(symbol: Self.symbol, candle: StoredCandle(candle, of: market[id].instrument)))
        }
        takeLatest()
      default: break
      }
    }
  }

  private func publish(_ trade: Trade) {
    seen.insert(trade.id.number ?? 0)
    published.append(trade)
  }

  private func takeLatest() {
    guard pastAt == nil, market[id].lastTrade != nil else { return }
    batch.latest = []
    batch.appendLatest(market, id, as: Self.symbol, trades: published.suffix(50), now: now)
    handed = (seen, published)
  }

  private func observe() {
    _ = observation.take(market, id, as: Self.symbol, now: now, into: &batch)
  }

  private func handOver() {
    observe()
    takeLatest()
    handedAt = now
  }

  private func flush() throws {
    try store.write(batch, now: now, complete: handedAt)
    batch = HistoryBatch()
    if let handed { durable = handed }
    handed = nil
  }

  func run(_ time: Int64) throws {
    let end = now + time
    while now < end {
      now = now + Self.tick
      makeTrades()
      if let connectsAt {
        if now >= connectsAt { connect() }
      } else if draw(400) == 0 {
        disconnect()
      }
      while connectsAt == nil, delivered < venue.count, venue[delivered].arrival <= now {
        var events = EventBatch()
        events.events.append(.trade(venue[delivered].trade))
        get(venue[delivered].trade)
        delivered += 1
        apply(events)
      }
      if let pastAt, now >= pastAt { try restorePast() }
      changes.removeAll()
      if now >= market.nextDeadline { market.advance(to: now, into: &changes) }
      note()
      if now.microseconds % Self.second < Self.tick { handOver() }
      if (now.microseconds - Self.writerDelay) % Self.second < Self.tick { try flush() }
    }
  }

  func kill() { store.file.close() }

  func end() throws {
    handOver()
    try flush()
    try store.end(now: now)
    store.file.close()
  }

  // MARK: The model

  /// What is missing although the run had got it more than 2 s before a kill at `time`.
  func lost(before time: Timestamp, _ ids: Set<UInt64>) -> [UInt64] {
    ids.subtracting(durable.seen).filter { gotten[$0] ?? .distantPast < time - 2 * Self.second }.sorted()
  }

  var isWaiting: Bool { pastAt != nil }
}

@Suite("Restarts beside a naive model")
struct RestartModelTests {
  private struct NaiveCandle: Equatable {
    var open, high, low, close: Int64
    var volume: Int128
    var trades: Int64

    init?(_ trades: some Sequence<Trade>) {
      let all = trades.sorted { $0.time < $1.time }
      guard let first = all.first, let last = all.last else { return nil }
      (open, close) = (first.price, last.price)
      high = all.map(\.price).max() ?? 0
      low = all.map(\.price).min() ?? 0
      volume = all.reduce(0) { $0 + Int128($1.size) }
      self.trades = Int64(all.count)
    }

    init(_ candle: Candle) {
      (open, high, low, close) = (candle.open, candle.high, candle.low, candle.close)
      (volume, trades) = (candle.volume, candle.trades ?? -1)
    }
  }

  /// Every candle, the figures of the day and the last trades are those of the seen trades.
  private func compare(_ world: RestartWorld, _ seed: UInt64) -> (own: Int, partial: Int) {
    guard !world.isWaiting, world.market[world.id].lastPrice != nil else { return (0, 0) }
    let state = world.market[world.id]
    let seen = world.venue.lazy.map(\.trade).filter { world.seen.contains($0.id.number ?? 0) }
    var counts = (own: 0, partial: 0)
    for interval in [CandleInterval.minute, .fiveMinutes] {
      let candles = state.candles(
        interval, from: world.now - Microseconds.hour, to: .distantFuture, limit: 100, now: world.now)
      let wanted = Dictionary(grouping: seen) { interval.start(of: $0.time) }
      let shown = Dictionary(uniqueKeysWithValues: candles.filter { $0.volume > 0 }.map { ($0.time, $0) })
      let first = interval.start(of: world.now - Microseconds.hour + (interval.length - 1))
      for (time, trades) in wanted where time >= first {
        #expect(shown[time].map(NaiveCandle.init) == NaiveCandle(trades), "seed \(seed), \(interval.name) at \(time)")
      }
      for (time, candle) in shown {
        #expect(wanted[time] != nil, "seed \(seed): a candle of no trade")
        guard interval == .minute else { continue }
        guard candle.source == .own else { counts.partial += 1; continue }
        counts.own += 1
        let all = world.venue.filter { interval.start(of: $0.trade.time) == time && $0.arrival <= world.now }
        #expect(
          all.allSatisfy { world.seen.contains($0.trade.id.number ?? 0) },
          "seed \(seed): a candle that lacks trades is called whole")
      }
    }
    let day = Array(seen)
    let figures = state.dayFigures(now: world.now)
    #expect(figures.trades == Int64(day.count), "seed \(seed)")
    #expect(figures.volume == day.reduce(0) { $0 + Int128($1.size) }, "seed \(seed)")
    #expect(figures.high == day.map(\.price).max(), "seed \(seed)")
    #expect(figures.open == day.min { $0.time < $1.time }?.price, "seed \(seed)")
    #expect(state.lastPrice == day.max { $0.time < $1.time }?.price, "seed \(seed)")
    let last = LatestState(world.market, world.id, as: "", trades: world.published.suffix(50), now: world.now)
    #expect(last?.trades.map(\.id) == world.published.suffix(50).map(\.id.text))
    return counts
  }

  @Test(
    "after 50 kills and ends: candles, figures and last trades are those of all trades but the last 2 s",
    .longComputation, arguments: testSeeds(6))
  func restarts(seed: UInt64) throws {
    for style in RestartWorld.Style.allCases {
      let folder = NSTemporaryDirectory() + "tidegate-restart-" + UUID().uuidString
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let world = RestartWorld(style, seed: seed, path: folder + "/history.sqlite")
      var random = SeededGenerator(seed: seed ^ 0x5EED)
      var counts = (own: 0, partial: 0)
      try world.start()
      for round in 0..<50 {
        // Mostly within a minute; sometimes over the end of one or more.
        try world.run(Int64(random.next() % (round % 7 == 0 ? 140_000_000 : 25_000_000)) + 500_000)
        let found = compare(world, seed)
        counts = (counts.own + found.own, counts.partial + found.partial)
        let (seen, time) = (world.seen, world.now)
        if random.next() % 3 == 0 {
          try world.end()
          #expect(world.lost(before: .distantFuture, seen) == [], "seed \(seed): an orderly end lost trades")
        } else {
          world.kill()
          #expect(world.lost(before: time, seen) == [], "seed \(seed): a kill lost more than 2 s")
        }
        world.pass(Int64(random.next() % (round % 9 == 0 ? 130_000_000 : 9_000_000)) + 100_000)
        try world.start()
      }
      #expect(counts.own > 0 && counts.partial > 0, "nothing was compared")
    }
  }
}
