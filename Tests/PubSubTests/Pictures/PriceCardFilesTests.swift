import Bytes
import Foundation
@testable import MarketData
import TestSupport
import Testing

@testable import PubSub

/// Cards as files, which a browser draws in another test (`Tests/Console/cards.test.mjs`) and compares with pictures of
/// them that people have looked at.
@Suite("Cards in files")
struct PriceCardFilesTests {
  private static let now = Timestamp(microseconds: 1_795_368_532_000_000)

  private struct Card {
    let name: String
    let size: PriceCard.Size
    var points: [Int64] = rising
    var price: Int64? = 4_823
    var state = FeedState.live
    var source = DataSource.live
    var gaps: [TimeSpan] = []
    var coveredFrom: Timestamp? = .distantPast
    var pool = ""
  }

  /// A day that goes up and down and ends higher.
  private static let rising: [Int64] = (0..<96).map { index in
    let wave = (index * 37) % 60 - 30 + (index % 7) * 4
    return 4_500 + Int64(index * 3 + wave)
  }

  private static let cards: [Card] = [
    Card(name: "small", size: .small), Card(name: "medium", size: .medium), Card(name: "large", size: .large),
    Card(name: "falling", size: .medium, points: rising.reversed(), price: 4_500),
    Card(name: "stale", size: .medium, state: .stale), Card(name: "simulated", size: .large, source: .simulated),
    Card(name: "placeholder", size: .medium, points: [], price: nil, state: .connecting, coveredFrom: nil),
    Card(
      name: "pool", size: .large,
      pool: "{\"percent\":\"23.4\",\"amount\":\"1234567\",\"asset\":\"ZEC\",\"change_pct_24h\":\"0.12\"}"),
    Card(
      name: "gap", size: .large,
      gaps: [TimeSpan(from: now + -8 * Microseconds.hour, to: now + -5 * Microseconds.hour)]),
  ]

  private static func svg(_ card: Card) -> String {
    let step = 15 * Microseconds.minute
    var line = Sparkline(
      range: .day, from: now + -Int64(card.points.count) * step, step: step, points: card.points,
      coveredFrom: card.coveredFrom, gaps: card.gaps)
    let instrument = Instrument(
      id: InstrumentID(0), venue: "kraken", venueSymbol: "ZEC/USD", base: "ZEC", quote: "USD", priceScale: 2,
      sizeScale: 8)
    if let first = card.points.first, let last = card.points.last {
      line.change = PriceChange(from: first, to: last, of: instrument)
    }
    let figures = CardFigures(
      instrument: instrument,
      price: card.price, line: line, high: card.points.max(), low: card.points.min(),
      volume: Decimal64(mantissa: 123_456_789, scale: 4), time: card.price == nil ? nil : now + -Microseconds.minute)
    let state = DataState(venue: "kraken", state: card.state, source: card.source)
    var picture = PriceCard(figures, state, size: card.size, name: "Zcash", now: now)
    picture.pool = ShieldedPool(SharedBytes(Array(card.pool.utf8)))
    return String(decoding: picture.svg(), as: UTF8.self)
  }

  @Test("are what the files have; TIDEGATE_UPDATE_DOCUMENTS=1 writes them anew", arguments: 0..<cards.count)
  func files(index: Int) throws {
    let card = Self.cards[index]
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = root.appendingPathComponent("Console/Cards/\(card.name).svg")
    let text = Self.svg(card)
    if environment("TIDEGATE_UPDATE_DOCUMENTS") == "1" {
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try text.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == text, "\(card.name): draw it in a browser, look at it")
  }
}
