import Alerts
import Bytes
import Foundation
import HTTP1
import History
import MarketData
import Venues

@testable import Gateway
@testable import HTTPAPI

/// Zone files, histories, queries, candles and what two processes say to each other.
extension FuzzTarget {
  /// A zone file, and the local times of its zone.
  static let zoneFile = FuzzTarget(
    "zone-file", words: ["TZif2", "\nCET-1CEST,M3.5.0,M10.5.0/3\n", "\n<-03>3\n", ",J60/2"]
  ) {
    (bytes) throws(FuzzFailure) in
    let zone: TimeZoneRules
    do throws(TimeZoneFileError) { zone = try TimeZoneRules(tzif: Array(bytes)) } catch { return }
    let hours = LocalHours(from: 9 * 3_600, until: 8 * 3_600)
    let alarm = LocalAlarm(second: 86_399)
    for time in [0, 1, 1_795_348_800, 1_795_350_000, 1_806_000_000, 253_402_300_799] as [Int64] {
      let offset = zone.offset(at: time)
      try require(abs(Int64(offset)) < 200_000, "an offset of \(offset) s")
      let (first, second) = zone.moments(ofLocal: zone.local(time))
      try require(second.map { $0 > first } ?? true, "a second occurrence before the first")
      try require(zone.change(after: time).map { $0.time > time } ?? true, "a change that is not after its time")
      try require(hours.nextLook(after: time, in: zone) > time, "a look that is not after its time")
      try require(alarm.next(after: time, in: zone) > time, "an alarm that is not after its time")
      _ = hours.contains(time, in: zone)
    }
  }

  /// Lines of a history, CSV or NDJSON: what is taken is written and read again as it was.
  static let history = FuzzTarget(
    "history",
    words: [
      "symbol,interval,time,open,high,low,close,volume,quote_volume,trades,source", "kraken:BTC-USD,1m,",
      "2026-11-22T19:05:00Z", ",1.5", ",own", "\"time\":\"", "\"open\":\"1\"", "\"trades\":3", "9999-12-31T23:59:00Z",
      "e5",
    ]
  ) { (bytes) throws(FuzzFailure) in
    for line in bytes.lines.prefix(50) {
      let text = String(decoding: line, as: UTF8.self)
      guard let fields = HistoryText.fields(text, columns: HistoryText.columns) else { continue }
      for (price, size) in [(2, 8), (0, 0), (18, 18)] as [(UInt8, UInt8)] {
        guard case .success(let candle) = HistoryText.candle(fields, priceScale: price, sizeScale: size) else {
          continue
        }
        try require(Timestamp.readable.contains(candle.start), "a candle of another age")
        for format in [HistoryText.Format.csv, .ndjson] {
          let written = HistoryText.line("a:B-C", .minute, candle, format)
          guard let again = HistoryText.fields(written, columns: HistoryText.columns),
            case .success(let read) = HistoryText.candle(again, priceScale: price, sizeScale: size)
          else { throw FuzzFailure("its own line is refused: \(written)") }
          try requireSame(read, candle, "written and read it is another candle")
        }
        _ = candle.rescaled(priceScale: 18, sizeScale: 18)
      }
    }
  }

  /// The query of a request, as each route takes it.
  static let httpQuery = FuzzTarget(
    "http-query", maxLength: 512,
    words: [
      "limit=", "&from=", "&to=", "depth=full", "&points=96", "range=7d", "interval=1h", "%2B", "+5", "-1", "=", "&",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let target = "/v1/x?" + String(decoding: bytes, as: UTF8.self)
    let request = HTTPRequestHead(method: "GET", target: target, fields: HTTPFields([]))
    for route in RouteTable.clientPort.routes {
      do throws(RequestProblem) {
        let query = try RequestQuery(request, route.parameters, of: route.path)
        for parameter in route.parameters {
          switch parameter.form {
          case .number(let range):
            let number = try query.number(parameter.name, default: range.lowerBound)
            try Self.requireWithin(number, range)
          case .numberOr(let range, _):
            let number = try query.number(parameter.name, default: range.lowerBound, word: 0)
            if number != 0 { try Self.requireWithin(number, range) }
          case .ordinal(_, let last):
            try Self.requireWithin(try query.number(parameter.name, default: 0), 0...last)
          case .text, .oneOf, .flag: _ = query.texts(parameter.name)
          }
        }
      } catch {
        guard (400...499).contains(error.response.status), !error.response.body.isEmpty else {
          throw FuzzFailure("refused with \(error.response.status)")
        }
      }
    }
  }

  private static func requireWithin(_ number: Int, _ range: ClosedRange<Int>) throws(RequestProblem) {
    if !range.contains(number) { throw RequestProblem(response: .text("", status: 500)) }
  }

  /// A venue's answer to a request for candles: the first byte says whose, the rest is the body.
  static let candles = FuzzTarget(
    "candles",
    words: [
      "1788314400", "1788314400000", "\"1788314400000\"", "[[", "]]", "\"result\":{", "\"data\":[", "\"candles\":[",
      ",\"1.5\"",
      ",2.5", "\"ticks\":[", "e30", "-1",
    ]
  ) { (bytes) throws(FuzzFailure) in
    guard let first = bytes.first else { return }
    let venues = VenueRegistry.connections
    let venue = venues[Int(first) % venues.count]
    guard let format = venue.candles else { return }
    let start = Timestamp(microseconds: 1_788_314_400_000_000)
    let body = Array(bytes.dropFirst())
    for (kind, scale) in [(Instrument.Kind.spot, 2), (.perpetual, 18)] as [(Instrument.Kind, UInt8)] {
      let instrument = Instrument(
        id: InstrumentID(0), venue: venue.name, venueSymbol: "X", base: "BTC", quote: "USD", kind: kind,
        priceScale: scale, sizeScale: scale)
      let window = start..<(start + 4 * Microseconds.hour)
      let query = CandleQuery(instrument: instrument, interval: .hour, window: window)
      guard let answer = try? format.read(body.span.bytes, status: 200, to: query, now: start + Microseconds.day) else {
        continue
      }
      var last = Timestamp.distantPast
      for candle in answer.candles {
        try require(window.contains(candle.time) && candle.time > last, "candles out of order, or of another time")
        last = candle.time
        try require(
          candle.low > 0 && candle.high >= candle.low && candle.volume > 0 && candle.volume <= Candle.volumeLimit,
          "an impossible candle: \(candle)")
        try require((0...Candle.tradeLimit).contains(candle.trades ?? 0), "an impossible number of trades")
      }
    }
  }

  /// What two processes of an upgrade say to each other, a line each.
  static let upgrade = FuzzTarget(
    "upgrade", maxLength: 1024,
    words: ["warming ", "ready", "serving", "failed ", "yours ", " ", "18446744073709551616"]
  ) { (bytes) throws(FuzzFailure) in
    for line in bytes.lines.prefix(50) {
      guard let message = UpgradeMessage(line) else { continue }
      try requireSame(UpgradeMessage(message.bytes), message, "sent on it is another message")
      try require(!message.bytes.contains { $0 < 0x20 }, "a control character is passed on")
    }
  }
}
