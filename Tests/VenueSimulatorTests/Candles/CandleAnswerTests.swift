import Bytes
import Foundation
import MarketData
import TestTraits
import Testing

@testable import VenueSimulator

/// The candles that each simulated venue answers with, read by what is known of the venue and compared with what its
/// market did.
@Suite("Candles by REST", .longComputation)
struct CandleAnswerTests {
  /// Some quiet minutes after the day that a market has behind it: with a bar under way, and minutes without a trade.
  private static func quiet(_ name: String) throws -> SimulatedVenue {
    let venue = try makeVenue(name, seed: 8, rate: 2)
    for _ in 0..<4 {
      venue.advance(to: venue.now + 20 * Microseconds.second)
      venue.skip(to: venue.now + 4 * Microseconds.minute)
    }
    venue.advance(to: venue.now + 47 * Microseconds.second)
    return venue
  }

  private static func state(_ venue: SimulatedVenue, _ sheet: CandleSheet) throws -> InstrumentMarket {
    let names = ["XBTUSD": "BTC/USD"]
    let wanted = names[sheet.symbol] ?? sheet.symbol
    let asked = sheet.request("", "1", 0, 0)
    let isContract =
      asked.path.hasPrefix("/fapi/") || asked.path.contains("/mix/") || asked.query.contains { $0.value == "linear" }
    return try #require(
      venue.market.instruments.first {
        $0.instrument.venueSymbol == wanted && (!isContract || $0.instrument.kind != .spot)
      })
  }

  /// What the market did in [`start`, `start` + `length`), from its minutes; nil if it was not traded.
  private func expected(
    _ minutes: [SimulatedDay.Minute], _ instrument: SimulatedInstrument, _ start: Int64
  ) -> ReadCandle? {
    let traded = minutes.filter { $0.trades > 0 }
    guard let first = traded.first, let last = traded.last else { return nil }
    let price = Double(DecimalText.power(instrument.priceScale))
    let contract = Double(instrument.contractSize.mantissa) / Double(DecimalText.power(instrument.contractSize.scale))
    let size = Double(DecimalText.power(instrument.sizeScale)) / contract
    let high = traded.map(\.high).max() ?? 0
    let low = traded.map(\.low).min() ?? 0
    let volume: Int64 = traded.reduce(0) { $0 + $1.volume }
    let trades: Int64 = traded.reduce(0) { $0 + $1.trades }
    return ReadCandle(
      start: start * 1_000, open: Double(first.open) / price, high: Double(high) / price, low: Double(low) / price,
      close: Double(last.close) / price, volume: Double(volume) / size, trades: trades)
  }

  private func isAlike(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)) }

  private func compare(_ read: ReadCandle, _ wanted: ReadCandle, _ name: Comment) {
    #expect(isAlike(read.open, wanted.open) && isAlike(read.close, wanted.close), name)
    #expect(isAlike(read.high, wanted.high) && isAlike(read.low, wanted.low), name)
    #expect(isAlike(read.volume, wanted.volume), name)
    if let trades = read.trades { #expect(trades == wanted.trades, name) }
  }

  @Test("bars say what was traded, in the fields, the order and the units of the venue", arguments: CandleSheet.all)
  func trueBars(_ sheet: CandleSheet) throws {
    let venue = try Self.quiet(sheet.venue)
    let state = try Self.state(venue, sheet)
    let first = state.day.minutes(last: 1_440).start.rawValue / Microseconds.second
    let now = venue.now.rawValue / Microseconds.second
    for (length, name) in zip(CandleSheet.lengths, sheet.names) where length < 86_400 {
      guard let name else { continue }
      let running = now / length * length
      // Not more than the smallest page there is.
      let oldest = max((first + length - 1) / length * length, running - 90 * length)
      let rows = try #require(sheet.ask(venue, name, oldest, running), "\(sheet) \(name)")
      let starts: [Int64] = rows.map { $0.start }
      let ordered = sheet.isNewestFirst ? starts.sorted(by: >) : starts.sorted()
      #expect(starts == ordered, "\(sheet)")
      let read = Dictionary(rows.map { ($0.start, $0) }) { first, _ in first }
      var quiet = 0
      for open in stride(from: oldest, to: running, by: Int(length)) {
        let comment: Comment = "\(sheet) \(name) at \(open)"
        let minutes = (open / 60..<(open + length) / 60).map { state.day.minute($0) }
        let bar = expected(minutes, state.instrument, open)
        let row = read[open * 1_000]
        guard let bar else {
          quiet += 1
          // A venue that fills has a flat row; Hyperliquid's come late.
          guard sheet.isFilled else {
            #expect(row == nil, comment)
            continue
          }
          if let row {
            #expect(row.volume == 0 && row.open == row.close && row.high == row.low, comment)
          } else {
            #expect(sheet.venue == "hyperliquid" && open >= running - 2 * length, comment)
          }
          continue
        }
        compare(try #require(row, comment), bar, comment)
        if let isClosed = row?.isClosed { #expect(isClosed, comment) }
      }
      if length == 60 { #expect(quiet > 0, "the market was never quiet: the test says nothing of gaps") }
      // The bar under way.
      if let last = read[running * 1_000] {
        #expect(sheet.hasRunning)
        if let isClosed = last.isClosed { #expect(!isClosed) }
      } else {
        #expect(!sheet.hasRunning || !sheet.isFilled || sheet.venue == "hyperliquid", "\(sheet) \(name)")
      }
    }
  }

  @Test("a day's bar is its hours', and begins when the venue's days do", arguments: CandleSheet.all)
  func days(_ sheet: CandleSheet) throws {
    let venue = try Self.quiet(sheet.venue)
    let now = venue.now.rawValue / Microseconds.second
    let (hour, day) = (try #require(sheet.names[3]), try #require(sheet.names[5]))
    let begin = (now - sheet.dayOffset * 3_600) / 86_400 * 86_400 + sheet.dayOffset * 3_600
    let days = try #require(sheet.ask(venue, day, begin - 4 * 86_400, begin - 86_400))
    let hours = try #require(sheet.ask(venue, hour, begin - 4 * 86_400, begin - 3_600)).sorted { $0.start < $1.start }
    for back in 1...4 {
      let open = (begin - Int64(back) * 86_400) * 1_000
      let bar = try #require(days.first { $0.start == open }, "\(sheet)")
      let parts = hours.filter { ($0.start - open) / 1_000 >= 0 && ($0.start - open) / 1_000 < 86_400 }
      #expect(parts.count == 24, "\(sheet)")
      guard parts.count == 24 else { continue }
      var sum = parts[0]
      for part in parts.dropFirst() {
        sum.high = max(sum.high, part.high)
        sum.low = min(sum.low, part.low)
        sum.close = part.close
        sum.volume += part.volume
        sum.trades = sum.trades.map { $0 + (part.trades ?? 0) }
      }
      compare(bar, sum, "\(sheet)")
    }
  }

  /// One wrong thing after the other, each told apart from a right answer by what is read.
  @Test("each fault makes the next answer wrong in its way, and the one after it right", arguments: CandleSheet.all)
  func faults(_ sheet: CandleSheet) throws {
    let venue = try Self.quiet(sheet.venue)
    let now = venue.now.rawValue / Microseconds.second
    let name = try #require(sheet.names[3])
    let running = now / 3_600 * 3_600
    let (from, to) = (running - 20 * 3_600, running - 3_600)
    func ask() -> [ReadCandle]? { sheet.ask(venue, name, from, to) }
    /// Windows alone are compared: some venues answer with more than was asked for.
    func within(_ rows: [ReadCandle]?) -> [ReadCandle] {
      (rows ?? []).filter { $0.start >= from * 1_000 && $0.start <= to * 1_000 }
    }
    func waited() { venue.advance(to: venue.now + 5 * Microseconds.second) }
    let right = try #require(ask())
    #expect(within(right).count == 20)
    for fault in CandleFault.allCases {
      try venue.inject(Fault(.candles, candles: fault))
      let comment: Comment = "\(sheet) \(fault)"
      waited()
      let response = CandleSheet.answer(venue, sheet.request(sheet.symbol, name, from, to))
      let json = CandleSheet.json(response.body)
      let raw = json.map(sheet.rows) ?? []
      let rows = raw.compactMap(sheet.read)
      switch fault {
      case .empty: #expect(raw.isEmpty && response.status == 200, comment)
      case .ragged:
        // A column that is shorter than the others spoils all of them.
        if sheet.venue == "deribit" {
          #expect(raw.isEmpty, comment)
        } else {
          #expect(rows.count == raw.count - 1, comment)
        }
      case .holes: #expect(rows.count < right.count && within(rows).allSatisfy(right.contains), comment)
      case .overlapping: #expect(Set(rows.map(\.start)).count < rows.count, comment)
      case .limited:
        #expect(raw.isEmpty && (response.status == 429 || response.body.contains("oo many")), comment)
      case .lying: #expect(rows.contains { $0.start > now * 1_000 }, comment)
      }
      waited()
      #expect(within(ask()) == within(right), "\(sheet) after \(fault)")
    }
    #expect(venue.faultsInjected == CandleFault.allCases.count)
  }

  @Test("a fault of candles is written and read as text")
  func text() throws {
    #expect(try Fault(parsing: "candles=ragged@5/10") == Fault(.candles, candles: .ragged, at: 5, every: 10))
    #expect(throws: FaultError.self) { try Fault(parsing: "candles") }
    #expect(throws: FaultError.self) { try Fault(parsing: "candles=odd") }
  }
}
