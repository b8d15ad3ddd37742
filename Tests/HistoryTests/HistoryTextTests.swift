import MarketData
import TestSupport
import Testing

@testable import History

@Suite("Candles as text")
struct HistoryTextTests {
  private let candle = StoredCandle(
    start: StoreWorld.time(60), open: 4_823, high: 4_900, low: 7, close: 4_823, volume: 123_456_789,
    quoteVolume: Int128(Int64.max) * 10, trades: nil, priceScale: 2, sizeScale: 8, quality: .mixed)

  @Test("a line of either format has every digit, and says nothing of what is not known")
  func lines() {
    let time = HistoryText.time(StoreWorld.time(60))
    #expect(
      HistoryText.line("kraken:ZEC-USD", .minute, candle, .csv)
        == "kraken:ZEC-USD,1m,\(time),48.23,49.00,0.07,48.23,1.23456789,9223372036.8547758070,,mixed")
    #expect(
      HistoryText.line("kraken:ZEC-USD", .minute, candle, .ndjson)
        == #"{"symbol":"kraken:ZEC-USD","interval":"1m","time":"\#(time)","open":"48.23","high":"49.00","low":"0.07","#
        + #""close":"48.23","volume":"1.23456789","quote_volume":"9223372036.8547758070","source":"mixed"}"#)
  }

  @Test("what was exported is taken in again as it was", arguments: [HistoryText.Format.csv, .ndjson])
  func roundTrip(format: HistoryText.Format) throws {
    let (one, other) = (try TemporaryFolder(), try TemporaryFolder())
    let (from, to) = (try StoreWorld.store(one), try StoreWorld.store(other))
    for store in [from, to] { try store.write(.observed("ZEC", 0), now: StoreWorld.time(0)) }
    for minute in 0..<40 {
      try from.write(
        .minute("ZEC", StoreWorld.candle(minute * 60, trades: minute % 2 == 0 ? nil : 3)),
        now: StoreWorld.time(minute * 60 + 66))
    }
    var importer = HistoryImport(store: to, now: StoreWorld.time(2_500))
    let range = StoreWorld.time(0)..<StoreWorld.time(9_000)
    try importer.take(HistoryText.header)
    for resolution in Resolution.allCases {
      _ = try from.forEachCandle(of: StoreWorld.symbol("ZEC"), resolution, in: range) {
        try importer.take(HistoryText.line(StoreWorld.symbol("ZEC"), resolution, $0, format) + "\r")
      }
    }
    try importer.finish()
    #expect(importer.problems == [])
    #expect(importer.taken == 42)
    for resolution in Resolution.allCases {
      #expect(
        try to.candles(of: StoreWorld.symbol("ZEC"), resolution, in: range)?.candles
          == from.candles(of: StoreWorld.symbol("ZEC"), resolution, in: range)?.candles)
    }
    #expect(try to.inconsistencies() == [])
  }

  @Test(
    "a line that cannot be is left out, and told",
    arguments: [
      "kraken:ZEC-USD,1m,2026-09-02T02:00:00Z,1,2,1,1,5,,", "kraken:ZEC-USD,5m,2026-09-02T02:00:00Z,1,2,1,1,5,,,own",
      "kraken:ABC-USD,1m,2026-09-02T02:00:00Z,1,2,1,1,5,,,own", "kraken:ZEC-USD,1m,yesterday,1,2,1,1,5,,,own",
      "kraken:ZEC-USD,1m,2026-09-02T02:00:01Z,1,2,1,1,5,,,own",
      "kraken:ZEC-USD,1m,2026-09-02T02:00:00Z,1,0.5,1,1,5,,,own",
      "kraken:ZEC-USD,1m,2026-09-02T02:00:00Z,1,2,1,1.234,5,,,own",
      "kraken:ZEC-USD,1m,2026-09-02T02:00:00Z,,2,1,1,5,,,own",
      "kraken:ZEC-USD,1m,2026-09-02T02:00:00Z,1,2,0,1,-5,,,own", #"{"symbol":"kraken:ZEC-USD"}"#, #"{"#,
    ])
  func impossible(line: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreWorld.store(folder)
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    var importer = HistoryImport(store: store, now: StoreWorld.time(0))
    try importer.take(line)
    try importer.take("kraken:ZEC-USD,1m,2026-09-02T02:00:00Z,1,2,1,1,5,,,")
    try importer.finish()
    #expect(importer.taken == 1)
    #expect(importer.problems.count == 1)
  }

  @Test("whatever a field of a line is, it is taken or told, and what is taken can be summed up")
  func extremes() throws {
    let folder = try TemporaryFolder()
    let store = try StoreWorld.store(folder)
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    let fields = ["2026-09-02T02:00:00Z", "1", "2", "1", "1", "5", "5", "3"]
    let times = [
      "292277026596-12-04T15:30:07Z", "-292277022657-01-27T08:29:52Z", "10000-01-01T00:00:00Z", "9999-12-31T23:59:00Z",
      "1969-12-31T23:59:00Z", "0000-01-01T00:00:00Z", "99999999-01-01T00:00:00Z",
    ]
    var importer = HistoryImport(store: store, now: StoreWorld.time(0))
    for index in fields.indices {
      for value in NumericExtremes.texts + times {
        var changed = fields
        changed[index] = value
        try importer.take("kraken:ZEC-USD,1m,\(changed.joined(separator: ",")),venue")
        changed[0] = index == 0 ? value : "2026-09-02T02:01:00Z"
        try importer.take("kraken:ZEC-USD,1m,\(changed.joined(separator: ",")),venue")
        try importer.finish()
      }
    }
    #expect(importer.taken > 0 && importer.lines > importer.taken)
    #expect(try store.inconsistencies() == [])
    for kept in try store.kept() {
      #expect(kept.first >= Timestamp(microseconds: 0) && HistoryText.time(kept.last) < "9999-12-31T23:59:59Z")
    }
  }

  @Test("counts of trades that add up to more than there is room for are not known")
  func counts() {
    let parts = [0, 60].map { StoreWorld.candle($0, trades: .max) }
    let hour = StoredCandle.combined(parts, start: StoreWorld.time(0), quality: .own)
    #expect(hour?.volume == 10 && hour?.trades == nil)
  }

  @Test("intervals without a trade are filled where they were observed, and nowhere else")
  func filled() {
    let range = HistoryRange(
      candles: [StoreWorld.candle(60, close: 111), StoreWorld.candle(240), StoreWorld.candle(600)],
      coveredFrom: StoreWorld.time(30),
      gaps: [HistoryGap(start: StoreWorld.time(310), end: StoreWorld.time(400), filled: nil)])
    let filled = range.filled(.minute, until: StoreWorld.time(750))
    #expect(
      filled.map { ($0.start - StoreWorld.origin) / Microseconds.second }
        == [60, 120, 180, 240, 420, 480, 540, 600, 660])
    #expect(filled[1].open == 111 && filled[1].low == 111 && filled[1].volume == 0 && filled[1].trades == 0)
    #expect(filled[4].close == 110)
    let late = HistoryRange(candles: range.candles, coveredFrom: StoreWorld.time(500), gaps: [])
    #expect(
      late.filled(.minute, until: StoreWorld.time(600)).map { ($0.start - StoreWorld.origin) / Microseconds.second }
        == [60, 240, 540, 600])
  }
}
