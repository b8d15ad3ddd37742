import MarketData
import Testing

@testable import History

@Suite("The store of candles")
struct HistoryStoreTests {
  private let folder: TemporaryFolder
  private let store: HistoryStore
  private let zec = StoreWorld.symbol("ZEC")

  init() throws {
    folder = try TemporaryFolder()
    store = try StoreWorld.store(folder)
    try store.begin(now: StoreWorld.time(0))
  }

  private func all(_ resolution: Resolution, _ store: HistoryStore? = nil) throws -> HistoryRange {
    try #require(
      try (store ?? self.store).candles(
        of: zec, resolution, in: StoreWorld.time(-400 * 86_400)..<StoreWorld.time(86_400)))
  }

  @Test("a candle comes back as it was, sums beyond 64 bits and unknown numbers included")
  func roundTrip() throws {
    let wide = StoreWorld.candle(60, volume: Int128(Int64.max) * 1_000, quoteVolume: Int128(Int64.max) * -5_000_000)
    let bare = StoreWorld.candle(120, quoteVolume: nil, trades: nil, revision: 3)
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    try store.write(.minute("ZEC", wide), now: StoreWorld.time(121))
    try store.write(.minute("ZEC", bare), now: StoreWorld.time(181))
    #expect(try all(.minute).candles == [wide, bare])
    #expect(try all(.minute).coveredFrom == StoreWorld.time(0))
    #expect(try all(.minute).gaps == [])
  }

  @Test("a minute in which the gateway began, or lost the instrument, is partial; a venue's candle takes its place")
  func partial() throws {
    try store.write(.observed("ZEC", 30), now: StoreWorld.time(30))
    for second in [0, 60, 120, 180] {
      if second == 120 { try store.write(.observed("ZEC", 130, false), now: StoreWorld.time(130)) }
      if second == 120 { try store.write(.observed("ZEC", 150), now: StoreWorld.time(150)) }
      try store.write(.minute("ZEC", StoreWorld.candle(second)), now: StoreWorld.time(second + 61))
    }
    #expect(try all(.minute).candles.map(\.quality) == [.partial, .own, .partial, .own])
    #expect(
      try all(.minute).gaps == [HistoryGap(start: StoreWorld.time(130), end: StoreWorld.time(150), filled: nil)])
    let missing = try store.missing(zec, .minute, in: StoreWorld.time(-120)..<StoreWorld.time(240))
    #expect(missing == [StoreWorld.time(-120)..<StoreWorld.time(60), StoreWorld.time(120)..<StoreWorld.time(180)])

    let venue = stride(from: -120, to: 240, by: 60).map { StoreWorld.candle($0, close: 111, quality: .venue) }
    try store.write(.delivery("ZEC", .minute, venue, covers: -120..<240), now: StoreWorld.time(245))
    #expect(try all(.minute).candles.map(\.quality) == [.venue, .venue, .venue, .own, .venue, .own])
    #expect(try all(.minute).gaps == [])
    #expect(try all(.minute).coveredFrom == StoreWorld.time(-120))
    #expect(try store.missing(zec, .minute, in: StoreWorld.time(-120)..<StoreWorld.time(240)) == [])
  }

  @Test("a venue's candles that end before the gateway began leave a gap of that moment, and are not asked for again")
  func joined() throws {
    try store.write(.observed("ZEC", 7_256), now: StoreWorld.time(7_256))
    try store.write(.delivery("ZEC", .minute, [], covers: 3_600..<7_200), now: StoreWorld.time(7_260))
    try store.write(.delivery("ZEC", .minute, [], covers: 0..<3_600), now: StoreWorld.time(7_261))
    try store.write(.delivery("ZEC", .quarter, [], covers: -9_000..<7_200), now: StoreWorld.time(7_262))
    try store.write(.delivery("ZEC", .hour, [], covers: -90_000..<3_600), now: StoreWorld.time(7_263))
    func missing(_ resolution: Resolution, from start: Int) throws -> [Range<Timestamp>] {
      try store.missing(zec, resolution, in: StoreWorld.time(start)..<StoreWorld.time(7_260))
    }
    #expect(try missing(.minute, from: 0) == [StoreWorld.time(7_200)..<StoreWorld.time(7_260)])
    #expect(try missing(.quarter, from: -9_000) == [StoreWorld.time(7_200)..<StoreWorld.time(8_100)])
    #expect(try missing(.hour, from: -90_000) == [StoreWorld.time(7_200)..<StoreWorld.time(10_800)])
    #expect(try all(.hour).coveredFrom == StoreWorld.time(-90_000))
  }

  @Test("a late trade's candle replaces the one before, and what was computed from it is computed again")
  func revised() throws {
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    for minute in 0..<15 {
      try store.write(.minute("ZEC", StoreWorld.candle(minute * 60)), now: StoreWorld.time(minute * 60 + 61))
    }
    #expect(try all(.quarter).candles.isEmpty)
    try store.write(HistoryBatch(), now: StoreWorld.time(906))
    let quarter = StoreWorld.candle(0, volume: 75, quoteVolume: 7_500, trades: 45)
    #expect(try all(.quarter).candles == [quarter])
    let late = StoreWorld.candle(300, high: 500, volume: 6, quoteVolume: 1_000, trades: 4, revision: 1)
    try store.write(.minute("ZEC", late), now: StoreWorld.time(910))
    #expect(try all(.minute).candles.contains(late))
    #expect(
      try all(.quarter).candles == [StoreWorld.candle(0, high: 500, volume: 76, quoteVolume: 8_000, trades: 46)])
  }

  @Test("the time between two runs is a gap, from the last moment that the first one wrote")
  func killed() throws {
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    try store.write(.minute("ZEC", StoreWorld.candle(60)), now: StoreWorld.time(121))
    // Nothing ends the run.
    let again = try StoreWorld.store(folder)
    #expect(try again.begin(now: StoreWorld.time(300)) == StoreWorld.time(121))
    #expect(
      try all(.minute, again).gaps == [HistoryGap(start: StoreWorld.time(120), end: .distantFuture, filled: nil)])
    try again.write(.observed("ZEC", 310), now: StoreWorld.time(310))
    #expect(
      try all(.minute, again).gaps
        == [HistoryGap(start: StoreWorld.time(120), end: StoreWorld.time(310), filled: nil)])
    // What a venue knows of a part of it closes that part.
    try again.write(.delivery("ZEC", .minute, [], covers: 120..<240), now: StoreWorld.time(320))
    #expect(
      try all(.minute, again).gaps
        == [HistoryGap(start: StoreWorld.time(240), end: StoreWorld.time(310), filled: nil)])
  }

  @Test("an end that was said is where the gap begins")
  func ended() throws {
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    try store.end(now: StoreWorld.time(50))
    let again = try StoreWorld.store(folder)
    #expect(try again.begin(now: StoreWorld.time(300)) == StoreWorld.time(50))
  }

  @Test("what was newest comes back")
  func latest() throws {
    var batch = HistoryBatch.observed("ZEC", 0)
    let state = LatestState(
      symbol: zec, time: StoreWorld.time(70), priceScale: 2, sizeScale: 8,
      trade: .init(id: "a-1", price: 4_823, size: 5, isBuy: true, time: StoreWorld.time(69)),
      minutes: [
        .init(
          candle: StoreWorld.candle(0, quoteVolume: nil, trades: nil, quality: .partial), closeTime: StoreWorld.time(59)
        ),
        .init(
          candle: StoreWorld.candle(
            60, volume: Candle.volumeLimit, quoteVolume: Candle.volumeLimit, quality: .partial, revision: 3),
          closeTime: StoreWorld.time(69)),
      ])
    batch.latest = [state]
    try store.write(batch, now: StoreWorld.time(70))
    let restored = try #require(try StoreWorld.store(folder).restore(zec, now: StoreWorld.time(75)))
    #expect(restored.latest == state)
  }

  @Test("old candles go by their resolution's own time, and what went is not called missing")
  func retention() throws {
    let folder = try TemporaryFolder()
    let store = try StoreWorld.store(
      folder, retention: Retention(minute: Microseconds.hour, quarter: 2 * Microseconds.hour, hour: nil, day: nil))
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    for minute in 0..<300 {
      try store.write(.minute("ZEC", StoreWorld.candle(minute * 60)), now: StoreWorld.time(minute * 60 + 66))
    }
    #expect(try all(.minute, store).candles.map(\.start).first == StoreWorld.time(240 * 60))
    #expect(try all(.minute, store).coveredFrom == StoreWorld.time(240 * 60))
    #expect(try all(.quarter, store).candles.map(\.start).first == StoreWorld.time(180 * 60))
    #expect(try all(.hour, store).candles.map(\.start) == (0..<5).map { StoreWorld.time($0 * 3_600) })
    #expect(try all(.hour, store).candles.allSatisfy { $0.quality == .own && $0.trades == 180 })
    // A change in what is left must not make a whole hour of a rest of it.
    try store.write(.minute("ZEC", StoreWorld.candle(239 * 60, revision: 1)), now: StoreWorld.time(300 * 60 + 7))
    #expect(try all(.hour, store).candles.allSatisfy { $0.quality == .own && $0.trades == 180 })
  }

  @Test("wider scales later do not change what is kept, and candles of both are summed")
  func scales() throws {
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    try store.write(.minute("ZEC", StoreWorld.candle(0)), now: StoreWorld.time(61))
    var wider = StoreWorld.candle(60)
    wider = try #require(wider.rescaled(priceScale: 4, sizeScale: 9))
    #expect(wider.open == 10_000)
    #expect(wider.quoteVolume == 500_000)
    try store.write(.minute("ZEC", wider), now: StoreWorld.time(121))
    try store.write(HistoryBatch(), now: StoreWorld.time(910))
    let quarter = try #require(try all(.quarter).candles.first)
    #expect(
      quarter == StoreWorld.candle(0, volume: 10, quoteVolume: 1_000, trades: 6).rescaled(priceScale: 4, sizeScale: 9))
    #expect(StoreWorld.candle(0, open: 101).rescaled(priceScale: 1, sizeScale: 8) == nil)
    #expect(StoreWorld.candle(0, open: .max / 5).rescaled(priceScale: 3, sizeScale: 8) == nil)
  }

  @Test("what names an unknown instrument is left out and counted")
  func unknown() throws {
    #expect(try store.write(.minute("ZEC", StoreWorld.candle(0)), now: StoreWorld.time(61)) == 1)
    #expect(try store.candles(of: zec, .minute, in: StoreWorld.time(0)..<StoreWorld.time(60)) == nil)
    #expect(try store.restore(zec, now: StoreWorld.time(61)) == nil)
  }

  @Test("a damaged file is replaced while it is in use, and the run goes on in the empty one")
  func damaged() throws {
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    _ = try store.replaceDamaged(stamp: "now", now: StoreWorld.time(10))
    #expect(store.symbols == [])
    #expect(try store.write(.minute("ZEC", StoreWorld.candle(60)), now: StoreWorld.time(121)) == 1)
    try store.write(.observed("ZEC", 130), now: StoreWorld.time(130))
    try store.write(.minute("ZEC", StoreWorld.candle(180)), now: StoreWorld.time(241))
    #expect(try all(.minute).candles == [StoreWorld.candle(180)])
    #expect(folder.names.contains("history.sqlite.damaged-now"))
  }

  @Test("pages of a limit are the oldest or the newest, both in the order of time")
  func pages() throws {
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    for minute in 0..<6 {
      try store.write(.minute("ZEC", StoreWorld.candle(minute * 60)), now: StoreWorld.time(minute * 60 + 61))
    }
    func page(_ range: Range<Int>, newest: Bool) throws -> [Int64]? {
      try store.candles(
        of: zec, .minute, in: StoreWorld.time(range.lowerBound)..<StoreWorld.time(range.upperBound), limit: 2,
        newest: newest)?.candles.map { ($0.start - StoreWorld.origin) / Microseconds.second }
    }
    #expect(try page(0..<360, newest: false) == [0, 60])
    #expect(try page(0..<360, newest: true) == [240, 300])
    #expect(try page(1..<300, newest: false) == [60, 120])
    #expect(try page(1..<301, newest: true) == [240, 300])
    #expect(try page(61..<61, newest: true) == [])
  }
}
