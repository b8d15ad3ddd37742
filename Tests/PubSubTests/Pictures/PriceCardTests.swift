import Bytes
import Foundation
import FoundationXML
@testable import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("Pictures of a market")
struct PriceCardTests {
  private static let now = Timestamp(microseconds: 1_795_368_532_000_000)

  private static func figures(
    _ points: [Int64], price: Int64?, base: String = "ZEC", quote: String = "USD", range: ChartRange = .day,
    coveredFrom: Timestamp? = .distantPast, gaps: [TimeSpan] = []
  ) -> CardFigures {
    let step = 15 * Microseconds.minute
    var line = Sparkline(
      range: range, from: now - Int64(points.count) * step, step: step, points: points, coveredFrom: coveredFrom,
      gaps: gaps)
    let instrument = Instrument(
      id: InstrumentID(0), venue: "kraken", venueSymbol: "x", base: base, quote: quote, priceScale: 2, sizeScale: 8)
    if let first = points.first, let last = points.last {
      line.change = PriceChange(from: first, to: last, of: instrument)
    }
    return CardFigures(
      instrument: instrument,
      price: price, line: line, high: price, low: price, volume: Decimal64(mantissa: 123_456_789, scale: 4),
      time: price == nil ? nil : now - Microseconds.minute)
  }

  private static func card(
    _ figures: CardFigures, _ size: PriceCard.Size = .medium, name: String? = nil, state: FeedState = .live,
    source: DataSource = .live, failure: String? = nil
  ) -> PriceCard {
    PriceCard(
      figures, DataState(venue: "kraken", state: state, source: source, failure: failure), size: size, name: name,
      now: now)
  }

  /// What the picture holds, if it is XML: its elements, their attributes and texts.
  private final class Reader: NSObject, XMLParserDelegate {
    var elements: [(name: String, attributes: [String: String])] = []
    var texts: [String] = []
    private var depth = 0

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      elements.append((name, attributes))
      texts.append("")
    }
    func parser(_ parser: XMLParser, foundCharacters string: String) {
      if !texts.isEmpty { texts[texts.count - 1] += string }
    }
  }

  private static func read(_ svg: [UInt8]) throws -> Reader {
    let parser = XMLParser(data: Data(svg))
    let reader = Reader()
    parser.delegate = reader
    #expect(parser.parse(), "\(String(decoding: svg, as: UTF8.self))")
    return reader
  }

  @Test("prices are shown and said as people do it")
  func words() {
    func check(_ price: Int64, _ scale: UInt8, _ currency: String, _ shown: String, _ spoken: String) {
      let words = PriceWords(price, scale: scale, currency: currency)
      #expect(words.sign + words.digits + words.code == shown)
      #expect(words.spoken == spoken)
    }
    check(4_823, 2, "USD", "$48.23", "48 dollars and 23 cents")
    check(101, 2, "USD", "$1.01", "1 dollar and 1 cent")
    check(97_622_9, 1, "USD", "$97,622.90", "97622 dollars and 90 cents")
    check(5, 0, "EUR", "€5.00", "5 euros")
    check(1_234_567_89, 2, "GBP", "£1,234,567.89", "1234567 pounds and 89 pence")
    check(48_235, 3, "USDT", "48.24USDT", "48.24 USDT")
    check(48_225, 3, "USDT", "48.22USDT", "48.22 USDT")
    check(123_456, 10, "USD", "$0.00001235", "0.00001235 dollars")
    check(99, 2, "USD", "$0.99", "99 cents")
    check(0, 2, "USD", "$0.00", "0 dollars")
    check(.max, 0, "USD", "$9,223,372,036,854,775,807", "9223372036854775807 dollars")
  }

  @Test("a time of another day has its day, at the ends of months and years, too")
  func time() {
    func at(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * Microseconds.second) }
    #expect(PriceWords.time(at(1_795_368_532), now: Self.now) == "17:28 UTC")
    #expect(PriceWords.time(at(951_782_400), now: Self.now) == "29 Feb 00:00 UTC")
    #expect(PriceWords.time(at(1_798_761_599), now: Self.now) == "31 Dec 23:59 UTC")
    #expect(PriceWords.time(at(0), now: Self.now) == "1 Jan 00:00 UTC")
  }

  @Test(
    "every card is XML, has the design's size, and says its price, change and state in words",
    arguments: PriceCard.Size.allCases)
  func card(size: PriceCard.Size) throws {
    let card = Self.card(Self.figures([4_713, 4_800, 4_790, 4_823], price: 4_823), size, name: "Zcash")
    #expect(card.title == "Zcash price: 48 dollars and 23 cents")
    #expect(card.description == "Up 2.33 percent in the last 24 hours. Live. Last update 17:27 UTC.")
    let read = try Self.read(card.svg())
    let root = try #require(read.elements.first)
    #expect(root.name == "svg" && root.attributes["role"] == "img")
    #expect(root.attributes["aria-label"] == "\(card.title). \(card.description)")
    let sizes: [PriceCard.Size: String] = [.small: "0 0 155 155", .medium: "0 0 329 155", .large: "0 0 329 345"]
    #expect(root.attributes["viewBox"] == sizes[size])
    #expect(read.texts.contains(card.title) && read.texts.contains("$48.23") && read.texts.contains("▲ +2.33%"))
    #expect(read.texts.contains("LIVE") && read.elements.contains { $0.name == "circle" })
    #expect(read.elements.contains { $0.attributes["fill"] == "#22C55E" })
    #expect(!read.elements.contains { $0.attributes["fill"] == "#EF4444" })
    // Nothing stands outside the card.
    for element in read.elements where element.name == "text" {
      let x = try #require(element.attributes["x"].flatMap(Double.init))
      let y = try #require(element.attributes["y"].flatMap(Double.init))
      #expect(x >= 16 && x <= size.width - 16 && y > 16 && y <= size.height - 16)
    }
  }

  @Test("no dot stands where nothing comes, and what is not real says so in place of LIVE")
  func states() throws {
    func label(_ card: PriceCard) throws -> (Set<String>, Bool) {
      let read = try Self.read(card.svg())
      let labels: Set = ["LIVE", "SIMULATED", "REPLAYED", "STALE", "REFUSED", "RECONNECTING"]
      return (labels.intersection(read.texts), read.elements.contains { $0.name == "circle" })
    }
    let figures = Self.figures([100, 90], price: 90)
    for size in PriceCard.Size.allCases {
      #expect(try label(Self.card(figures, size)) == (["LIVE"], true))
      #expect(try label(Self.card(figures, size, source: .simulated)) == (["SIMULATED"], true))
      #expect(try label(Self.card(figures, size, source: .replayed)) == (["REPLAYED"], true))
      #expect(try label(Self.card(figures, size, state: .stale, source: .simulated)) == (["STALE"], false))
      #expect(try label(Self.card(figures, size, state: .reconnecting)) == (["RECONNECTING"], false))
      #expect(try label(Self.card(figures, size, failure: "delisted")) == (["REFUSED"], false))
    }
    #expect(Self.card(figures).description.hasPrefix("Down 10.00 percent"))
    #expect(
      Self.card(Self.figures([90, 90], price: 90, range: .week)).description.hasPrefix("Unchanged in the last 7 days"))
  }

  @Test("before any price there are grey blocks and no number", arguments: PriceCard.Size.allCases)
  func placeholder(size: PriceCard.Size) throws {
    let card = Self.card(Self.figures([], price: nil), size)
    #expect(card.title == "ZEC price: not known yet")
    let read = try Self.read(card.svg())
    #expect(!read.texts.contains { $0.contains("%") || $0.contains("$") || $0 == "LIVE" })
    #expect(read.elements.count { $0.attributes["fill-opacity"] == ".1" } >= 2)
    #expect(card.description == "No price has arrived yet. Live.")
    let line = try Self.read(LinePicture(card, width: 297, height: 40).svg())
    #expect(line.elements.contains { $0.attributes["fill-opacity"] == ".1" }, "a line without points is grey")
  }

  private static func pool(_ document: String) -> ShieldedPool? {
    ShieldedPool(SharedBytes(Array(document.utf8)))
  }

  @Test("a large card shows the shielded pool of its market in place of the 24 h figures, and says it")
  func shieldedPool() throws {
    let pool = try #require(
      Self.pool(
        "{\"symbol\":\"kraken:ZEC-USD\",\"percent\":\"23.4\",\"amount\":\"1234567.5\",\"change_pct_24h\":\"-0.125\"}"))
    var card = Self.card(Self.figures([4_800, 4_823], price: 4_823), .large, name: "Zcash")
    let before = try Self.read(card.svg())
    #expect(before.texts.contains("24H HIGH") && !before.texts.contains("SHIELDED POOL"))
    var tags: [UInt64] = []
    for shown in [nil, pool] {
      card.pool = shown
      var tag = ContentTag(run: "")
      card.add(to: &tag)
      tags.append(tag.value)
    }
    #expect(tags[0] != tags[1], "another pool, another tag")
    let read = try Self.read(card.svg())
    for text in ["SHIELDED POOL", "23.4%", "1,234,567 ZEC", "▼ -0.12% (24h)"] { #expect(read.texts.contains(text)) }
    #expect(!read.texts.contains("24H HIGH"))
    #expect(card.description.contains("Shielded pool: 23.4 percent of supply."))
    for element in read.elements where element.name == "text" {
      let y = try #require(element.attributes["y"].flatMap(Double.init))
      #expect(y <= 345 - 16)
    }
    card.pool = Self.pool("{\"percent\":\"7\",\"asset\":\"<ZEC>\",\"amount\":\"12.5\"}")
    #expect(try Self.read(card.svg()).texts.contains("12.50 <ZEC>"))
  }

  @Test(
    "a document that is no pool is none, whatever it holds",
    arguments: [
      "null", "[]", "{}", "{\"percent\":true}", "{\"percent\":\"101\"}", "{\"percent\":\"-1\"}", "{\"percent\":\"x\"}",
      "{\"amount\":\"1\"}", "{\"percent\":\"1e400\"}", "{\"percent\":",
    ])
  func noPool(document: String) { #expect(Self.pool(document) == nil) }

  @Test("figures of a pool that cannot be read are left out")
  func partOfPool() throws {
    let pool = try #require(
      Self.pool("{\"percent\":23.4,\"amount\":\"-5\",\"asset\":7,\"change_pct_24h\":\"9223372036854775807\"}"))
    #expect(pool.amount == nil && pool.asset == nil && pool.changeHundredths == nil)
  }

  @Test("names that are markup are text")
  func markup() throws {
    let nasty = "<script>&\"'\u{0}\u{FFFF}</title>"
    let card = Self.card(Self.figures([1, 2], price: 2, base: nasty, quote: "\"><x"), .medium, name: nasty)
    let read = try Self.read(card.svg())
    #expect(!read.elements.contains { $0.name == "script" || $0.name == "x" })
    #expect(read.texts.contains { $0.contains("<script>") })
  }

  @Test("equal tags mean equal pictures, and other figures another tag", arguments: testSeeds(4))
  func tags(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var known: [UInt64: [UInt8]] = [:]
    for _ in 0..<400 {
      let points = (0..<Int(random.next() % 3)).map { _ in Int64(random.next() % 3) + 1 }
      let card = Self.card(
        Self.figures(points, price: points.last, coveredFrom: random.next() % 2 == 0 ? nil : .distantPast),
        PriceCard.Size.allCases[Int(random.next() % 3)], state: random.next() % 2 == 0 ? .live : .stale)
      var tag = ContentTag(run: "")
      card.add(to: &tag)
      let svg = card.svg()
      if let before = known[tag.value] { #expect(before == svg, "seed \(seed)") }
      known[tag.value] = svg
    }
    #expect(Set(known.values).count > 30)
  }

  @Test("the smooth line goes through its points and never beyond two neighbours", arguments: testSeeds(8))
  func smooth(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let points = (0..<(2 + Int(random.next() % 30))).map {
        PicturePoint(x: Double($0) * 4, y: Double(random.next() % 40))
      }
      let slopes = SmoothLine(points: points).slopes
      #expect(slopes.count == points.count)
      for index in points.indices.dropFirst() {
        let (from, to) = (points[index - 1], points[index])
        let third = (to.x - from.x) / 3
        let controls = [from.y, from.y + third * slopes[index - 1], to.y - third * slopes[index], to.y]
        for step in 0...20 {
          let t = Double(step) / 20
          let y =
            controls[0] * (1 - t) * (1 - t) * (1 - t) + 3 * controls[1] * t * (1 - t) * (1 - t)
            + 3 * controls[2] * t * t * (1 - t) + controls[3] * t * t * t
          #expect(y >= min(from.y, to.y) - 1e-9 && y <= max(from.y, to.y) + 1e-9, "seed \(seed)")
        }
      }
    }
  }

  @Test("what nobody observed is not drawn as observed")
  func gaps() {
    func drawing(_ coveredFrom: Timestamp?, _ gaps: [(Int64, Int64)]) -> [String] {
      let start = Self.now - 4 * 15 * Microseconds.minute
      let figures = Self.figures(
        [1, 2, 3, 4], price: 4, coveredFrom: coveredFrom,
        gaps: gaps.map {
          TimeSpan(from: start + $0.0 * 15 * Microseconds.minute, to: start + $0.1 * 15 * Microseconds.minute)
        })
      return ChartDrawing(line: figures.line, left: 0, top: 0, width: 30, height: 10).runs.map {
        "\($0.range.lowerBound)-\($0.range.upperBound)\($0.isObserved ? "" : "?")"
      }
    }
    #expect(drawing(.distantPast, []) == ["0-3"])
    #expect(drawing(nil, []) == ["0-3?"])
    #expect(drawing(.distantPast, [(1, 2)]) == ["0-2?", "2-3"])
    #expect(drawing(Self.now - 20 * Microseconds.minute, []) == ["0-2?", "2-3"])
    // Less than a slice.
    #expect(drawing(.distantPast, [(1, 1)]) == ["0-3"])
  }
}
