import Bytes
import MarketData

@testable import PubSub

/// Publishers and hubs on some loops with a mailbox between each two: what a gateway does, without sockets or clocks.
final class World {
  enum Mail {
    case command(PublisherCommand)
    case delivery(Delivery)
    case session(SessionMessage)
  }
  let loops: Int
  var now = Timestamp(microseconds: 1_790_000_000_000_000)
  let markets: [Market]
  let publishers: [StreamPublisher]
  let hubs: [SubscriberHub]
  /// By receiving loop, in order.
  var mail: [[Mail]]
  var clients: [ModelClient] = []
  var closed: [(client: ClientID, loop: Int, code: UInt16, reason: String)] = []
  /// Tokens that hubs ask about.
  var asked: [(client: ClientID, loop: Int, token: String)] = []
  var controls: [(client: ClientID, loop: Int, number: UInt32, request: ControlRequest, grant: Grant)] = []
  var changes = MarketChanges()
  /// Called with the loop when its market has changed.
  var onChanges: (Int) -> Void = { _ in }
  /// Tells the names of sessions from those of another run.
  private var run: UInt64 = 0

  init(
    loops: Int = 1, instruments: Int = 1, limits: ClientLimits = ClientLimits(), bookDepthLimit: Int? = nil,
    quotesFromBook: Bool = false, tickerInterval: Int64? = nil, liquidations: LiquidationFeed = .none,
    remembers: Bool = true, past: Past? = nil
  ) {
    self.loops = loops
    markets = (0..<loops).map { _ in
      Market(
        configuration: .init(
          quotesFromBook: quotesFromBook, bookDepthLimit: bookDepthLimit, checksum: nil,
          tickerInterval: tickerInterval, liquidations: liquidations))
    }
    let numbering = past?.numbering ?? KeptNumbering(epoch: "k7")
    publishers = (0..<loops).map {
      StreamPublisher(loop: $0, loops: loops, numbering: numbering, remembers: remembers)
    }
    if let past {
      now = past.now
      for market in markets { market.bridgesTrades = true }
    }
    hubs = (0..<loops).map {
      SubscriberHub(loop: $0, loops: loops, identity: .init(node: "gw-a", version: "1.0"), limits: limits)
    }
    mail = Array(repeating: [], count: loops)
    var directory = Directory()
    for loop in 0..<loops {
      let venue = World.venue(loop)
      directory.venues.append(venue)
      _ = publishers[loop].add(market: markets[loop], venue: venue)
      for index in 0..<instruments {
        let instrument = Instrument(
          id: InstrumentID(index), venue: venue, venueSymbol: "A\(index)/USD", base: index == 0 ? "BTC" : "A\(index)",
          quote: "USD", priceScale: 1, sizeScale: 8, priceIncrement: Decimal64(mantissa: 1, scale: 1))
        apply(loop) { $0.append(instrument: instrument) }
        directory.entries[instrument.symbol] = DirectoryEntry(
          loop: loop, market: 0, instrument: instrument, bookState: .live)
      }
    }
    for (loop, hub) in hubs.enumerated() {
      hub.restore(past?.sessions.filter { $0.loop == loop } ?? [], now: now, into: &scratch)
      hub.directory = directory
      hub.feeds = (0..<loops).map { FeedStatus(venue: World.venue($0), state: .live, since: now) }
      hub.advance(to: now, into: &scratch)
    }
    if let past {
      restore(past)
    } else {
      now = now + 2 * Microseconds.second
      run(milliseconds: 2000)
    }
  }
  private var scratch: [HubAction] = []

  static func venue(_ loop: Int) -> String { ["kraken", "coinbase", "bybit"][loop] }

  func client(on loop: Int = 0, from address: ClientAddress? = nil, isBinary: Bool = false) -> ModelClient {
    let id = hubs[loop].open(
      secret: SessionSecret(high: run, low: UInt32(clients.count)), address: address, isBinary: isBinary, now: now)
    let client = ModelClient(world: self, loop: loop, id: id, isBinary: isBinary)
    clients.append(client)
    return client
  }

  /// Lists a perpetual, `kraken:BTC-USD-PERP`, on a loop.
  func listPerpetual(_ loop: Int = 0) -> InstrumentID {
    let id = InstrumentID(markets[loop].instruments.count)
    let instrument = Instrument(
      id: id, venue: World.venue(loop), venueSymbol: "PF_XBTUSD", base: "BTC", quote: "USD", kind: .perpetual,
      priceScale: 1, sizeScale: 8)
    apply(loop) { $0.append(instrument: instrument) }
    for hub in hubs {
      hub.directory.update(DirectoryEntry(loop: loop, market: 0, instrument: instrument, bookState: .live))
    }
    return id
  }

  // MARK: Another run

  /// What one run leaves to the next.
  struct Past {
    var now: Timestamp
    var numbering: KeptNumbering
    var streams: [KeptStream]
    var sessions: [KeptSession]
    /// The last trades, by loop.
    var trades: [[Trade]]
  }

  /// The end of the run; nothing may happen in this world afterwards.
  func end() -> Past {
    var streams: [KeptStream] = []
    for publisher in publishers {
      var out: [Delivery] = []
      streams += publisher.keep(now: now, into: &out)
      post(out)
    }
    let highest = publishers.map(\.highestSeq).max() ?? 0
    return Past(
      now: now,
      numbering: KeptNumbering(epoch: publishers[0].epoch, highest: highest, numbers: Set(streams.map(\.number))),
      streams: streams, sessions: hubs.flatMap { $0.keepSessions(now: now) },
      trades: publishers.map { Array($0.lastTrades(of: InstrumentID(0), market: 0).trades) })
  }

  private func restore(_ past: Past) {
    run = UInt64(past.now.microseconds)
    for stream in past.streams {
      publishers[Int(stream.number) % loops].restore(stream, until: now + 120 * Microseconds.second, now: now)
    }
    for loop in 0..<loops {
      let trades = past.trades[loop].map { trade in
        var old = trade
        old.isBacklog = true
        return old
      }
      publishers[loop].restore(trades, market: 0)
      changes.removeAll()
      markets[loop].bridge(after: trades, isCounted: false, of: InstrumentID(0), into: &changes)
      publish(loop)
    }
  }

  // MARK: The market

  func apply(_ loop: Int = 0, _ fill: (inout EventBatch) -> Void) {
    var batch = EventBatch()
    fill(&batch)
    changes.removeAll()
    markets[loop].apply(batch, now: now, into: &changes)
    publish(loop)
  }

  func publish(_ loop: Int) {
    var out: [Delivery] = []
    publishers[loop].publish(changes, market: 0, now: now, into: &out)
    onChanges(loop)
    post(out)
  }

  func trade(_ loop: Int = 0, id: UInt64 = 7781, price: Int64, size: Int64 = 1_000_000, side: TakerSide = .buy) {
    apply(loop) {
      $0.events.append(
        .trade(
          Trade(instrument: InstrumentID(0), id: TradeID(id), price: price, size: size, side: side, time: now)))
    }
  }

  func book(
    _ loop: Int = 0, _ kind: BookEvent.Kind, bids: [(Int64, Int64)], asks: [(Int64, Int64)], instrument: Int = 0
  ) {
    apply(loop) { batch in
      batch.bids = bids.map { PriceLevel(price: $0.0, size: $0.1) }
      batch.asks = asks.map { PriceLevel(price: $0.0, size: $0.1) }
      batch.events.append(
        .book(
          BookEvent(
            instrument: InstrumentID(instrument), kind: kind, bidRange: 0..<bids.count, askRange: 0..<asks.count,
            time: now)))
    }
  }

  func quote(_ bid: Int64, _ ask: Int64) {
    apply {
      $0.events.append(
        .quote(
          Quote(
            instrument: InstrumentID(0), bid: bid, bidSize: 50_000_000, ask: ask, askSize: 120_000_000, time: now)))
    }
  }

  // MARK: The mail

  func post(_ deliveries: [Delivery]) {
    for delivery in deliveries {
      switch delivery {
      case .frame(_, let set):
        for loop in 0..<loops where set & (1 << UInt64(loop)) != 0 { mail[loop].append(.delivery(delivery)) }
      case .joined(_, let loop, _), .snapshot(_, let loop, _), .nothing(_, let loop, _), .missed(_, let loop):
        mail[loop].append(.delivery(delivery))
      }
    }
  }

  func post(_ actions: [HubAction], from loop: Int) {
    for action in actions {
      switch action {
      case .command(let command, let target): mail[target].append(.command(command))
      case .session(let message, let target): mail[target].append(.session(message))
      case .close(let client, let code, let reason): closed.append((client, loop, code, reason))
      case .authenticate(let client, let token): asked.append((client, loop, token))
      case .control(let client, let number, let request, let grant):
        controls.append((client, loop, number, request, grant))
      }
    }
  }

  /// One loop takes up to `count` items of its mail.
  func step(_ loop: Int, count: Int = .max) {
    let items = mail[loop].prefix(count)
    mail[loop].removeFirst(items.count)
    var out: [Delivery] = []
    var actions: [HubAction] = []
    for item in items {
      switch item {
      case .command(let command): publishers[loop].perform(command, now: now, into: &out)
      case .delivery(let delivery): hubs[loop].deliver([delivery], now: now, into: &actions)
      case .session(let message): hubs[loop].receive(message, now: now, into: &actions)
      }
    }
    post(out)
    post(actions, from: loop)
  }

  /// Carries mail until there is none, without any client taking anything.
  func carry() {
    while mail.contains(where: { !$0.isEmpty }) { for loop in 0..<loops { step(loop) } }
  }

  /// Carries mail, and lets every client that is not stuck take all it has, until nothing moves.
  func settle() {
    repeat {
      carry()
      flush()
    } while mail.contains { !$0.isEmpty }
  }

  func flush() {
    for client in clients where !client.isStuck { client.take() }
    for hub in hubs { hub.removeDirty() }
  }

  func run(milliseconds: Int, step: Int = 100) {
    for _ in 0..<(milliseconds / step) {
      now = now + Int64(step) * Microseconds.millisecond
      tick()
      settle()
    }
  }

  /// The wall clock is set forward.
  func step(by step: Int64) {
    now = now + step
    for hub in hubs { hub.clockStepped(by: step) }
    for publisher in publishers { publisher.clockStepped(by: step) }
  }

  func tick() {
    for loop in 0..<loops {
      changes.removeAll()
      markets[loop].advance(to: now, into: &changes)
      publish(loop)
      var out: [Delivery] = []
      publishers[loop].advance(to: now, into: &out)
      post(out)
      var actions: [HubAction] = []
      hubs[loop].advance(to: now, into: &actions)
      post(actions, from: loop)
    }
  }
}
