import HTTP1
import MarketData
import PubSub
import TestSupport
import Testing

@testable import HTTPAPI

@Suite("What is known of markets on the asker's loop")
struct KnownPartsTests {
  private static let numbering = KeptNumbering(epoch: "k1")

  /// A market with one instrument, and its publisher.
  private struct Owner {
    let market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
    let publisher = StreamPublisher(loop: 0, loops: 1, numbering: KnownPartsTests.numbering)
    var now = Timestamp(microseconds: 1_790_000_000_000_000)

    init() {
      _ = publisher.add(market: market, venue: "kraken")
      let instrument = Instrument(
        id: InstrumentID(0), venue: "kraken", venueSymbol: "BTC/USD", base: "BTC", quote: "USD", priceScale: 1,
        sizeScale: 8, priceIncrement: nil)
      apply { $0.append(instrument: instrument) }
    }

    func apply(_ fill: (inout EventBatch) -> Void) {
      var batch = EventBatch()
      fill(&batch)
      var changes = MarketChanges()
      market.apply(batch, now: now, into: &changes)
      var out: [Delivery] = []
      publisher.publish(changes, market: 0, now: now, into: &out)
    }

    func trade(_ price: Int64) {
      apply {
        $0.events.append(
          .trade(
            Trade(
              instrument: InstrumentID(0), id: TradeID(UInt64(price)), price: price, size: 1, side: .buy, time: now)))
      }
    }

    func stamp(_ view: MarketView) -> PartStamp {
      publisher.stamp(of: view, at: MarketRoute(market: 0, instrument: InstrumentID(0)), now: now)!
    }
  }

  private static func key(_ view: MarketView, market: Int = 0) -> KnownParts.Key {
    KnownParts.Key(loop: 0, route: MarketRoute(market: market, instrument: InstrumentID(0)), view: view)
  }

  @Test("a part is known until its market changes or its time is over; its text, while the content is the same")
  func currency() {
    var owner = Owner()
    owner.trade(10)
    owner.now = owner.now + 1
    let parts = KnownParts()
    let key = Self.key(.ticker)
    #expect(parts.stamp(key, now: owner.now) == nil)
    let stamp = owner.stamp(.ticker)
    parts.keep(stamp, text: [1, 2], as: key)
    #expect(parts.stamp(key, now: owner.now)?.tag == stamp.tag && parts.text(key, tag: stamp.tag) == [1, 2])
    #expect(parts.stamp(Self.key(.trades(limit: 1)), now: owner.now) == nil)
    // Time alone: another minute begins, and nothing has changed after all.
    owner.now = stamp.validUntil
    #expect(parts.stamp(key, now: owner.now) == nil)
    parts.keep(owner.stamp(.ticker), as: key)
    #expect(parts.stamp(key, now: owner.now) != nil && parts.text(key, tag: stamp.tag) == [1, 2])
    owner.trade(11)
    #expect(parts.stamp(key, now: owner.now) == nil)
    parts.keep(owner.stamp(.ticker), as: key)
    #expect(parts.text(key, tag: stamp.tag) == nil && parts.text(key, tag: owner.stamp(.ticker).tag) == nil)
    #expect(parts.bytes == 0)
  }

  @Test("both bounds hold whatever is asked for, and the oldest go first")
  func bounds() {
    let owner = Owner()
    let parts = KnownParts()
    for number in 0..<(KnownParts.countLimit + 500) {
      let view = MarketView.trades(limit: 1)
      parts.keep(owner.stamp(view), as: Self.key(view, market: number))
    }
    #expect(parts.count == KnownParts.countLimit && parts.bytes == 0)
    let text = [UInt8](repeating: 7, count: 1 << 20)
    for number in 0..<40 {
      let view = MarketView.book(depth: number)
      parts.keep(owner.stamp(view), text: text, as: Self.key(view))
      #expect(parts.bytes <= KnownParts.byteLimit && parts.count <= KnownParts.countLimit)
    }
    #expect(parts.text(Self.key(.book(depth: 39)), tag: nil) == text)
    #expect(parts.text(Self.key(.book(depth: 0)), tag: nil) == nil)
  }

  @Test("a memo holds until a part or a listing changes, and there are no more than there may be")
  func memos() throws {
    var owner = Owner()
    owner.trade(10)
    owner.now = owner.now + 1
    let hub = SubscriberHub(
      loop: 0, loops: 1, identity: .init(node: "a", version: "1"), limits: ClientLimits(), heartbeatSeconds: 5)
    hub.feeds = [FeedStatus(venue: "kraken", state: .live, since: owner.now)]
    let count = MemoCount()
    func memo() -> AnswerMemo? {
      AnswerMemo(
        tag: "\"a\"", stamps: [owner.stamp(.ticker), owner.stamp(.trades(limit: 5))], venues: ["kraken"],
        channels: [.ticker], listing: hub.listingRevision, count: count)
    }
    let first = try #require(memo())
    #expect(first.isCurrent(hub.listingRevision, now: owner.now))
    // Messages that come change nothing of what is said of a feed that lives.
    hub.feeds[0].lastMessage = owner.now
    #expect(first.isCurrent(hub.listingRevision, now: owner.now))
    hub.feeds[0].state = .stale
    #expect(!first.isCurrent(hub.listingRevision, now: owner.now))
    let second = try #require(memo())
    hub.feeds[0].lastMessage = owner.now + 5
    #expect(!second.isCurrent(hub.listingRevision, now: owner.now), "a stale feed tells when it was last heard")
    let third = try #require(memo())
    owner.trade(12)
    #expect(!third.isCurrent(hub.listingRevision, now: owner.now))
    let fourth = try #require(memo())
    #expect(!fourth.isCurrent(hub.listingRevision, now: owner.now + Microseconds.minute))
    var all = (0..<MemoCount.limit).map { _ in memo() }
    #expect(all.count { $0 == nil } == 4 && memo() == nil)
    all.removeAll()
    #expect(memo() != nil)
    withExtendedLifetime((first, second, third, fourth)) {}
  }
}

@Suite("Requests that come again")
struct RememberedRequestTests {
  @Test("only the same octets are the same request, wherever it is cut or followed by others")
  func octets() throws {
    let hub = SubscriberHub(
      loop: 0, loops: 1, identity: .init(node: "a", version: "1"), limits: ClientLimits(), heartbeatSeconds: 5)
    let memo = try #require(
      AnswerMemo(
        tag: "\"a\"", stamps: [], venues: [], channels: [], listing: hub.listingRevision, count: MemoCount()))
    let head = HTTPRequestHead(method: "GET", target: "/v1/instruments", fields: HTTPFields())
    let text = "GET /v1/instruments HTTP/1.1\r\nHost: a\r\n\r\n"
    let octets = try #require(Array(text.utf8).withUnsafeBytes { RememberedRequest.octets($0, head, body: []) })
    let known = RememberedRequest(octets, head, memo)
    func rest(_ input: String) -> Int? {
      Array(input.utf8).withUnsafeBytes { bytes in
        var input = bytes
        return known.take(&input) ? input.count : nil
      }
    }
    #expect(rest(text) == 0 && rest(text + "GET /") == 5 && rest(text + text) == text.utf8.count)
    #expect(rest(String(text.dropLast())) == nil && rest("") == nil)
    #expect(rest(text.replacing("Host: a", with: "Host: b")) == nil && rest("\r\n" + text) == nil)
    for (method, body, length) in [("POST", [], 10), ("GET", [1], 10), ("GET", [], 2_000)] as [(String, [UInt8], Int)] {
      let other = HTTPRequestHead(method: method, target: "/", fields: HTTPFields())
      let bytes = [UInt8](repeating: 65, count: length)
      #expect(bytes.withUnsafeBytes { RememberedRequest.octets($0, other, body: body) } == nil)
    }
  }
}
