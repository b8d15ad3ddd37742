import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import Venues

/// Frames of exchanges with what another library makes of them (tardis-node's tests), where they are on this machine.
@Suite("Derivatives as another library reads them")
struct NormalisedDerivativeTests {
  private static let isThere =
    recordingsFolder.map { FileManager.default.fileExists(atPath: "\($0)/normalised/frames.jsonl") } ?? false

  private static let group = "mappers > "

  /// The events of each frame, by the name of its test and its place there: `map bybit messages 7`.
  private static func expectations() throws -> [String: [[String: Any]]] {
    let path = "\(try #require(recordingsFolder))/normalised/expected.mappers.test.snapshot"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    var found: [String: [[String: Any]]] = [:]
    for part in text.components(separatedBy: "exports[`").dropFirst() {
      guard let end = part.firstRange(of: "`] = `"), let close = part.firstRange(of: "\n`;") else { continue }
      // What is undefined is not there.
      let body = part[end.upperBound..<close.lowerBound].replacing(": undefined", with: ": null")
      let list = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [[String: Any]]
      // Some of their tests stand in a group, which the frames do not name.
      let name = String(part[..<end.lowerBound])
      found[name.hasPrefix(group) ? String(name.dropFirst(group.count)) : name] = list ?? []
    }
    return found
  }

  private struct Subject {
    var dialect: any Dialect
    /// What tardis passes on, as a multiple of one-sided base units.
    var interest = 1.0
    /// Derivatives and liquidations that have to be found at least.
    var least: (derivatives: Int, liquidations: Int)
  }

  private static func subject(_ exchange: String) -> Subject? {
    switch exchange {
    case "bybit": Subject(dialect: Bybit("linear"), interest: 2, least: (4, 1))
    case "deribit": Subject(dialect: Deribit(), least: (2, 2))
    case "hyperliquid": Subject(dialect: Hyperliquid(), least: (1, 0))
    case "bitget-futures": Subject(dialect: Bitget("usdt"), least: (1, 0))
    case "binance-futures": Subject(dialect: Binance(.usdm), least: (1, 1))
    // Open interest is in contracts there.
    case "okex-swap": Subject(dialect: OKX(), interest: 0, least: (2, 0))
    case "okex-futures": Subject(dialect: OKX(), interest: 0, least: (0, 1))
    default: nil
    }
  }

  private static func isSame(_ ours: Decimal64?, _ theirs: Any?, times factor: Double = 1) -> Bool {
    guard let ours, let theirs = theirs as? Double else { return true }
    let value = Double(ours.mantissa) / Double(DecimalText.power(ours.scale)) * factor
    return abs(value - theirs) <= 1e-12 * max(abs(value), abs(theirs))
  }

  private static func milliseconds(_ text: Any?) -> Int64? {
    guard let text = text as? String else { return nil }
    let bytes = Array(text.utf8)
    return VenueTime.rfc3339(bytes.span.bytes).map { $0.microseconds / 1_000 }
  }

  @Test(
    "mark, index, funding, open interest and liquidations, after the units of each venue",
    .enabled(if: isThere, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: ["bybit", "deribit", "hyperliquid", "bitget-futures", "binance-futures", "okex-swap", "okex-futures"])
  func frames(_ exchange: String) throws {
    let subject = try #require(Self.subject(exchange))
    let expected = try Self.expectations()
    var table = InstrumentTable()
    var batch = EventBatch()
    for symbol in Set(
      expected.values.joined().filter { $0["exchange"] as? String == exchange }.compactMap { $0["symbol"] as? String }
    )
    .sorted() {
      for name in [symbol, symbol.lowercased()] {
        _ = table.add(
          ListedMarket(
            venueSymbol: name, symbol: FeedSymbol(base: name, quote: "USD", kind: .perpetual), priceScale: 8,
            sizeScale: 4), venue: exchange, into: &batch)
      }
    }
    let path = "\(try #require(recordingsFolder))/normalised/frames.jsonl"
    var indices: [String: Int] = [:]
    var (derivatives, liquidations) = (0, 0)
    for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
      let frame = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let test = try #require(frame["test"] as? String)
      indices[test, default: 0] += 1
      guard frame["exchange"] as? String == exchange, let events = expected["\(test) \(indices[test] ?? 0)"] else {
        continue
      }
      // The text of the message as it stands in the line, digits and all.
      let start = try #require(line.firstRange(of: "\"message\":")).upperBound
      let message = Array(line[start...].dropLast().utf8)
      batch.removeAll()
      table.begin()
      var outcome = MessageOutcome()
      outcome.begin(now: Timestamp(milliseconds: 1_790_000_000_000))
      do throws(FeedError) {
        try subject.dialect.read(message.span.bytes, &table, &outcome, into: &batch)
      } catch {
        // Of a channel that the venue has given up, or of a market that is not followed.
        continue
      }
      for report in batch.derivatives {
        let name = table[report.instrument.index].venueSymbol
        guard
          let other = events.first(where: {
            $0["type"] as? String == "derivative_ticker" && $0["symbol"] as? String == name
          })
        else { continue }
        derivatives += 1
        #expect(Self.isSame(report.mark.value, other["markPrice"]), "\(line)")
        #expect(Self.isSame(report.index.value, other["indexPrice"]), "\(line)")
        #expect(Self.isSame(report.fundingRate.value, other["fundingRate"]), "\(line)")
        #expect(Self.isSame(report.predictedRate.value, other["predictedFundingRate"]), "\(line)")
        if subject.interest > 0 {
          #expect(Self.isSame(report.openInterest.value, other["openInterest"], times: subject.interest), "\(line)")
        }
        if let next = report.nextFunding.value, !report.computed.contains(.nextFunding),
          let theirs = Self.milliseconds(other["fundingTimestamp"])
        {
          #expect(next.microseconds / 1_000 == theirs, "\(line)")
        }
      }
      let found = DerivativeFormatTests.liquidations(batch)
      let others = events.filter { $0["type"] as? String == "liquidation" }
      for (ours, theirs) in zip(found, others) {
        liquidations += 1
        #expect((ours.orderSide == .buy ? "buy" : "sell") == theirs["side"] as? String, "\(line)")
        #expect(Self.isSame(ours.size, theirs["amount"]), "\(line)")
        // They publish the limit of an order; here it is what was paid.
        if exchange != "binance-futures" { #expect(Self.isSame(ours.price, theirs["price"]), "\(line)") }
        if let time = Self.milliseconds(theirs["timestamp"]) {
          #expect(ours.time.microseconds / 1_000 == time, "\(line)")
        }
      }
    }
    #expect(derivatives >= subject.least.derivatives, "\(derivatives) derivatives of \(exchange)")
    #expect(liquidations >= subject.least.liquidations, "\(liquidations) liquidations of \(exchange)")
  }
}
