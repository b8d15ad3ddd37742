import Bytes
import Foundation
import HTTP1
import MarketData
import PubSub
import TestSupport
import Testing

@testable import Compatibility

/// A market, its publisher and a hub with clients of other protocols, on a manual clock.
final class DialectWorld {
  var now = Timestamp(microseconds: 1_790_000_000_000_000)
  let market = Market(configuration: .init(quotesFromBook: true, bookDepthLimit: nil, checksum: nil))
  let publisher = StreamPublisher(loop: 0, loops: 1, epoch: "k7")
  let hub: SubscriberHub
  var clients: [DialectClient] = []
  /// The end of each connection that the hub closed.
  var closed: [ClientID: (code: UInt16, reason: String)] = [:]
  private var changes = MarketChanges()

  /// - Parameter source: of the feed's prices.
  init(venue: String = "kraken", quote: String = "USD", source: DataSource = .live, limits: ClientLimits = .init()) {
    hub = SubscriberHub(loop: 0, loops: 1, identity: .init(node: "gw", version: "1"), limits: limits)
    _ = publisher.add(market: market, venue: venue)
    var directory = Directory()
    directory.venues = [venue]
    for (index, base) in ["BTC", "ETH"].enumerated() {
      let instrument = Instrument(
        id: InstrumentID(index), venue: venue, venueSymbol: "\(base)/\(quote)", base: base, quote: quote,
        priceScale: 1, sizeScale: 8, priceIncrement: Decimal64(mantissa: 1, scale: 1))
      apply { $0.append(instrument: instrument) }
      directory.entries[instrument.symbol] = DirectoryEntry(
        loop: 0, market: 0, instrument: instrument, bookState: .live)
    }
    hub.directory = directory
    var feed = FeedStatus(venue: venue, state: .live, since: now)
    feed.source = source
    hub.feeds = [feed]
    run(milliseconds: 1000)
  }

  /// Connects a client of a path, with everything allowed that a demo allows unless `settings` say otherwise.
  func connect(_ path: String, _ settings: CompatibilitySettings = .demo, grant: Grant = .everything) -> DialectClient {
    let head = HTTPRequestHead(method: "GET", target: path, fields: HTTPFields([]))
    guard let session = CompatibilityPort(settings).stream(head) else { preconditionFailure("no stream at \(path)") }
    let id = hub.open(secret: SessionSecret([UInt8](repeating: 7, count: 12)), grant: grant, dialect: session, now: now)
    let client = DialectClient(world: self, id: id)
    clients.append(client)
    act { hub.greetDialect(id, now: now, into: &$0) }
    settle()
    return client
  }

  // MARK: The market

  func apply(_ fill: (inout EventBatch) -> Void) {
    var batch = EventBatch()
    fill(&batch)
    changes.removeAll()
    market.apply(batch, now: now, into: &changes)
    publish()
  }

  func book(_ kind: BookEvent.Kind, bids: [(Int64, Int64)], asks: [(Int64, Int64)]) {
    apply { batch in
      batch.bids = bids.map { PriceLevel(price: $0.0, size: $0.1) }
      batch.asks = asks.map { PriceLevel(price: $0.0, size: $0.1) }
      batch.events.append(
        .book(
          BookEvent(
            instrument: InstrumentID(0), kind: kind, bidRange: 0..<bids.count, askRange: 0..<asks.count, time: now)))
    }
  }

  func loseSync() { apply { $0.events.append(.bookReset(InstrumentID(0), .gap)) } }

  func trade(_ id: TradeID, _ price: Int64, _ size: Int64 = 1_000_000, _ side: TakerSide = .buy) {
    apply {
      $0.events.append(
        .trade(Trade(instrument: InstrumentID(0), id: id, price: price, size: size, side: side, time: now)))
    }
  }

  /// A book of some levels, and a trade.
  func open() {
    book(
      .snapshot, bids: (0..<12).map { (640_000 - Int64($0) * 5, 50_000_000 + Int64($0)) },
      asks: (0..<12).map { (640_001 + Int64($0) * 5, 120_000_000 + Int64($0)) })
    trade(TradeID(17), 640_001, 25_000_000)
    settle()
  }

  var state: InstrumentState { market.instruments[0] }

  // MARK: Time and mail

  func run(milliseconds: Int, step: Int = 100) {
    for _ in 0..<(milliseconds / step) {
      now = now + Int64(step) * Microseconds.millisecond
      changes.removeAll()
      market.advance(to: now, into: &changes)
      publish()
      var out: [Delivery] = []
      publisher.advance(to: now, into: &out)
      deliver(out)
      act { hub.advance(to: now, into: &$0) }
      settle()
    }
  }

  private func publish() {
    var out: [Delivery] = []
    publisher.publish(changes, market: 0, now: now, into: &out)
    deliver(out)
  }

  private func deliver(_ deliveries: [Delivery]) {
    guard !deliveries.isEmpty else { return }
    act { hub.deliver(deliveries, now: now, into: &$0) }
  }

  func act(_ body: (inout [HubAction]) -> Void) {
    var actions: [HubAction] = []
    body(&actions)
    for action in actions {
      switch action {
      case .command(let command, _):
        var out: [Delivery] = []
        publisher.perform(command, now: now, into: &out)
        deliver(out)
      case .close(let client, let code, let reason):
        clients.first { $0.id == client }?.takeRest()
        closed[client] = (code, reason)
      default: Issue.record("unexpected \(action)")
      }
    }
  }

  /// Every client that is not stuck takes what it has.
  func settle() {
    for client in clients where !client.isStuck { client.take() }
    hub.removeDirty()
  }
}

/// One client: what it says, and the messages that it got.
final class DialectClient {
  unowned let world: DialectWorld
  let id: ClientID
  var isStuck = false
  private(set) var messages: [String] = []
  private var frames: [SharedBytes] = []

  init(world: DialectWorld, id: ClientID) {
    self.world = world
    self.id = id
  }

  var end: (code: UInt16, reason: String)? { world.closed[id] }

  /// Sends a message; returns what came because of it.
  @discardableResult
  func send(_ text: String) -> [String] {
    let before = messages.count
    let bytes = Array(text.utf8)
    world.act { world.hub.receive(bytes.span.bytes, from: id, now: world.now, into: &$0) }
    world.settle()
    return Array(messages[before...])
  }

  /// What came since the last call.
  func news() -> [String] {
    defer { messages.removeAll() }
    return messages
  }

  func take() {
    guard world.closed[id] == nil else { return }
    world.act { world.hub.take(from: id, byteLimit: .max, now: world.now, into: &frames, actions: &$0) }
    read()
  }

  func takeRest() {
    world.hub.takeControl(from: id, into: &frames)
    read()
  }

  /// Frames hold one message each, or several.
  private func read() {
    for frame in frames {
      withExtendedLifetime(frame) {
        var rest = frame.unsafeBytes[...]
        while rest.count > 1 {
          let length = Int(rest[rest.startIndex + 1])
          let (size, header): (Int, Int) =
            switch length {
            case 126: (rest.dropFirst(2).prefix(2).reduce(0) { $0 << 8 | Int($1) }, 4)
            case 127: (rest.dropFirst(2).prefix(8).reduce(0) { $0 << 8 | Int($1) }, 10)
            default: (length, 2)
            }
          messages.append(String(decoding: rest.dropFirst(header).prefix(size), as: UTF8.self))
          rest = rest.dropFirst(header + size)
        }
      }
    }
    frames.removeAll()
  }
}

/// A transcript beside a test, which a change of any message changes. With `TIDEGATE_UPDATE_DOCUMENTS=1`, the test
/// writes it.
struct Golden {
  private(set) var lines: [String] = []

  mutating func note(_ what: String, _ messages: [String]) {
    lines.append("# \(what)")
    lines += messages
  }

  func check(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Golden/\(name).txt")
    let wanted = lines.joined(separator: "\n") + "\n"
    if environment("TIDEGATE_UPDATE_DOCUMENTS") == "1" {
      try wanted.write(to: file, atomically: true, encoding: .utf8)
    }
    let kept = try String(contentsOf: file, encoding: .utf8)
    let pairs = zip(kept.split(separator: "\n"), wanted.split(separator: "\n")).enumerated()
    if let (index, (one, other)) = pairs.first(where: { $1.0 != $1.1 }) {
      Issue.record("line \(index + 1): \(other) and not \(one)", sourceLocation: sourceLocation)
    }
    #expect(kept == wanted, sourceLocation: sourceLocation)
  }
}

/// Decoded JSON.
func json(_ text: String) throws -> [String: Any] {
  try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}
