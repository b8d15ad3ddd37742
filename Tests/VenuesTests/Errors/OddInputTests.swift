import Bytes
import MarketData
import Testing

@testable import Venues

/// What exchanges have sent and should not have, to every connection that the registry has: each costs at most its
/// message and its book, is counted by its kind, and is kept where it can be looked at.
@Suite("What exchanges have really sent")
struct OddInputTests {
  enum Oddity: String, CaseIterable, Sendable {
    /// A size of `0.-10000`.
    case noNumber
    /// A time of the year 1.
    case yearOne
    /// A price and a size with an exponent.
    case exponent
    /// An id of 20 digits.
    case longID
    /// A price that comes twice in one update.
    case priceTwice
    /// The removal of a level that is not there.
    case unknownRemoval
    /// The last level of a side goes.
    case emptySide
    /// A message of a kind that nobody has told of.
    case unknownType
    /// A message behind one that was sent after it.
    case late
    /// A bid at −1.
    case negativeBid
    /// A bid at the price of the best ask.
    case crossed
    /// A trade at a price below zero, and one at zero.
    case negativeTrade, worthlessTrade
  }

  enum Outcome: Equatable, Sendable {
    /// It is used, and nothing is told of it.
    case used
    /// It is counted among what is not used.
    case ignored
    /// It is refused as that; the book is rebuilt, or goes on.
    case refused(FeedError.Kind, losesBook: Bool)
    /// It is used, and what it shows takes the book out of sync.
    case resync(ResyncReason)
  }

  /// How one connection says it.
  struct Speaker: Sendable {
    var venue: Venue
    var symbols: [String]
    /// Brings the book of the first symbol in sync, with one level a side.
    var begin: @Sendable (PipelineHarness) -> Void
    /// The levels of that book, and a price that is in neither side; `exponent` is `bid` with one.
    var bid: String
    var ask: String
    var exponent: String
    var absent: String
    /// A level of an update.
    var level: @Sendable (_ isAsk: Bool, _ price: String, _ size: String) -> String
    /// The next update, or updates, at a time of the venue's spelling.
    var update: @Sendable (_ bids: [String], _ asks: [String], _ time: String) -> [String]
    var time: String
    var yearOne: String
    /// A trade of the first symbol with that id.
    var trade: @Sendable (_ id: String) -> String
    var unknownType: String
    /// The last is the one that comes too late.
    var late: [String]
    /// Where a message is not made of the above.
    var texts: [Oddity: [String]] = [:]
    /// Where an outcome is not the usual one.
    var outcomes: [Oddity: Outcome]

    func messages(_ oddity: Oddity) -> [String] {
      if let own = texts[oddity] { return own }
      switch oddity {
      case .noNumber: return update([level(false, bid, "0.-10000")], [], time)
      case .yearOne: return update([level(false, bid, "2")], [], yearOne)
      case .exponent: return update([level(false, exponent, "5e-1")], [], time)
      case .longID: return [trade("12345678901234567890")]
      case .priceTwice: return update([level(false, bid, "1"), level(false, bid, "2")], [], time)
      case .unknownRemoval: return update([level(false, absent, "0")], [], time)
      case .emptySide: return update([], [level(true, ask, "0")], time)
      case .unknownType: return [unknownType]
      case .late: return late
      case .negativeBid: return update([level(false, "-1", "1")], [], time)
      case .crossed: return update([level(false, ask, "1")], [], time)
      case .negativeTrade: return [tradeAt { "-\($0)" }]
      case .worthlessTrade: return [tradeAt { _ in "0" }]
      }
    }

    func outcome(_ oddity: Oddity) -> Outcome {
      if let own = outcomes[oddity] { return own }
      switch oddity {
      case .noNumber: return .refused(.decimal, losesBook: true)
      case .unknownType: return .ignored
      case .late: return .resync(.gap)
      case .negativeBid: return .refused(.value, losesBook: true)
      case .crossed: return .resync(.crossed)
      case .negativeTrade, .worthlessTrade: return .refused(.value, losesBook: false)
      default: return .used
      }
    }

    /// A trade with another price, which is found by its value: how each venue names it is nothing to this.
    private func tradeAt(_ price: (Substring) -> String) -> String {
      let text = trade("7")
      guard let feed = try? OddInputTests.live(self) else { return text }
      feed.receive(text)
      guard let last = feed.lastPrice else { return text }
      var start = text.startIndex
      while let first = text[start...].firstIndex(where: \.isNumber) {
        let end = text[first...].firstIndex { !$0.isNumber && $0 != "." } ?? text.endIndex
        if Double(text[first..<end]) == last { return text[..<first] + price(text[first..<end]) + text[end...] }
        start = end
      }
      return text
    }
  }

  static let speakers = VenueRegistry.samples.flatMap { $0.speakers }

  /// A level as most venues have it.
  static func pair(_ isAsk: Bool, _ price: String, _ size: String) -> String { #"["\#(price)","\#(size)"]"# }
  static func list(_ levels: [String]) -> String { levels.joined(separator: ",") }

  @Test("every connection of the registry is spoken for")
  func complete() {
    let labels = VenueRegistry.connections.map(\.label)
    #expect(Self.speakers.map(\.venue.label).sorted() == labels.sorted())
  }

  @Test("it costs no more than it must, and is told of", arguments: speakers.map(\.venue.label), Oddity.allCases)
  func odd(_ label: String, _ oddity: Oddity) throws {
    let speaker = try #require(Self.speakers.first { $0.venue.label == label })
    let feed = try Self.live(speaker)
    let messages = speaker.messages(oddity)
    for message in messages.dropLast() {
      feed.receive(message)
      #expect(feed.pipeline.errors.total == 0 && feed.state == .live, "\(feed.said)")
    }
    let last = try #require(messages.last)
    let ignored = feed.pipeline.counts.ignored
    feed.receive(last)
    let outcome = speaker.outcome(oddity)
    if case .refused(let kind, let losesBook) = outcome {
      let entry = feed.pipeline.errors.entries.first
      #expect(entry?.kind == kind && entry?.length == last.utf8.count && entry?.detail.isEmpty == false, "\(feed.said)")
      #expect(entry.map { last.hasPrefix($0.text.prefix(40)) } == true)
      #expect(feed.pipeline.errors.counts.map(\.kind) == [kind] && feed.pipeline.errors.counts.map(\.count) == [1])
      #expect(feed.pipeline.counts.rejected == 1)
      #expect(feed.state == (losesBook ? .syncing(.malformed) : .live), "\(feed.said)")
      #expect(feed.lastPrice == nil, "a trade of it was shown")
      return
    }
    #expect(feed.pipeline.errors.total == 0 && feed.pipeline.counts.rejected == 0, "\(feed.said)")
    #expect(feed.pipeline.counts.ignored - ignored == (outcome == .ignored ? 1 : 0))
    #expect(feed.pipeline.counts.rejectedLevels == 0)
    if case .resync(let reason) = outcome {
      #expect(feed.state == .syncing(reason), "\(feed.said)")
    } else {
      #expect(feed.state == .live, "\(feed.said)")
    }
    if outcome == .used { feed.check(oddity) }
  }

  @Test(
    "a payload that is compressed, where none should be, is a binary message that cannot be read, and no more",
    arguments: speakers.map(\.venue.label), [false, true])
  func compressed(_ label: String, isGzip: Bool) throws {
    let speaker = try #require(Self.speakers.first { $0.venue.label == label })
    let feed = try Self.live(speaker)
    let text = Array(
      try #require(speaker.update([speaker.level(false, speaker.bid, "2")], [], speaker.time).first).utf8)
    let frame = isGzip ? FixedDeflate.gzip(text) : FixedDeflate.raw(text)
    feed.receive(frame, isBinary: true)
    let entry = try #require(feed.pipeline.errors.entries.first)
    #expect(entry.kind == .binary && entry.length == frame.count)
    #expect(!isGzip || entry.text.hasPrefix(#"\u{1f}\x8B"#))
    #expect(feed.pipeline.errors.counts.map(\.kind) == [.binary] && feed.pipeline.counts.rejected == 1)
    // It may have been the book's. Where no number or checksum would tell, the book is not vouched for any more.
    if Self.unlinked.contains(label) {
      #expect(feed.state != .live || feed.asksForBook, "\(feed.said)")
    }
    // Text in a binary frame is text.
    let other = try Self.live(speaker)
    other.receive(text, isBinary: true)
    #expect(other.pipeline.errors.total == 0 && other.state == .live, "\(other.said)")
  }

  @Test(
    "an answer that cannot be read is kept with its reason",
    arguments: speakers.map(\.venue.label), ["[{\"a\":", "7", "{}", "<html>busy</html>"])
  func answers(_ label: String, _ text: String) throws {
    let speaker = try #require(Self.speakers.first { $0.venue.label == label })
    let feed = PipelineHarness(speaker.venue, speaker.symbols)
    feed.prepare()
    // Two have their lists in the stream.
    guard !feed.gets.isEmpty else {
      #expect(["hyperliquid", "kraken"].contains(label))
      return
    }
    feed.respond(text)
    let entry = try #require(feed.pipeline.errors.entries.first)
    #expect(entry.kind == .answer && entry.text == text && !entry.detail.hasSuffix("could not be read"), "\(feed.said)")
    #expect(feed.pipeline.errors.total == 1 && feed.pipeline.counts.rejected == 1)
  }

  /// Connections on which nothing tells that an update is missing.
  private static let unlinked: Set<String> = ["bitstamp", "coinbase"]

  static func live(_ speaker: Speaker) throws -> PipelineHarness {
    let feed = PipelineHarness(speaker.venue, speaker.symbols)
    feed.prepare()
    speaker.begin(feed)
    try #require(feed.state == .live, "\(feed.said)")
    #expect(feed.pipeline.errors.total == 0 && feed.pipeline.counts.rejected == 0, "\(feed.said)")
    #expect(feed.book.bids.count == 1 && feed.book.asks.count == 1)
    return feed
  }
}

/// A pipeline with its market, driven by texts.
final class PipelineHarness {
  let pipeline: FeedPipeline
  var now = Timestamp(microseconds: 1_790_000_000_000_000)
  private(set) var gets: [Int] = []
  private var paths: [String] = []

  init(_ venue: Venue, _ symbols: [String]) {
    pipeline = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: symbols))
  }

  func prepare() {
    pipeline.prepare(now: now)
    settle()
  }

  /// Answers the oldest request.
  func respond(_ text: String) {
    guard !gets.isEmpty else {
      Issue.record("nothing was asked for")
      return
    }
    let bytes = Array(text.utf8)
    pipeline.response(to: gets.removeFirst(), status: 200, body: bytes.span.bytes, now: now)
    settle()
  }

  func connect() {
    #expect(pipeline.engine.isPrepared)
    pipeline.connected(now: now)
    settle()
  }

  func receive(_ text: String) { receive(Array(text.utf8)) }

  func receive(_ bytes: [UInt8], isBinary: Bool = false) {
    pipeline.receive(bytes.span.bytes, isBinary: isBinary, now: now)
    settle()
  }

  /// Moves time on, ticking four times a second.
  func wait(_ seconds: Double) {
    for _ in 0..<Int(seconds * 4) {
      now = now + 250_000
      pipeline.tick(now: now)
      settle()
    }
  }

  private func settle() {
    pipeline.clear()
    for action in pipeline.takeActions() {
      guard case .get(let request, let path, _) = action else { continue }
      gets.append(request)
      paths.append(path)
    }
  }

  // MARK: Looking at it

  /// The last trade's price.
  var lastPrice: Double? {
    first.lastTrade.map { trade in
      var text = ByteBuffer(capacity: 24)
      text.append(decimal: trade.price, scale: first.instrument.priceScale)
      return Double(text.description) ?? 0
    }
  }

  private var first: InstrumentState { pipeline.market[InstrumentID(0)] }
  var state: BookState { pipeline.market.instruments.isEmpty ? .absent : first.bookState }
  var book: OrderBook { first.book }
  /// What to print with a failure.
  var said: String { "\(state) \(pipeline.errors.entries.map { "\($0.kind): \($0.detail): \($0.text)" })" }

  /// Whether another snapshot of a book is asked for within a second.
  var asksForBook: Bool {
    paths.removeAll()
    wait(1)
    return paths.contains { $0.contains("book") }
  }

  /// What a message that was used has come to.
  func check(_ oddity: OddInputTests.Oddity) {
    let unit = (0..<first.instrument.sizeScale).reduce(Int64(1)) { value, _ in value * 10 }
    switch oddity {
    case .exponent: #expect(book.bids.count == 1 && book.bestBid?.size == unit / 2)
    case .priceTwice: #expect(book.bids.count == 1 && book.bestBid?.size == 2 * unit)
    case .yearOne:
      #expect(book.bestBid?.size == 2 * unit)
      #expect(first.bookTime.microseconds > 1_500_000_000_000_000, "a time of its own is made up for it")
    case .unknownRemoval: #expect(book.bids.count == 1 && book.asks.count == 1)
    case .emptySide: #expect(book.bids.count == 1 && book.asks.isEmpty)
    case .longID: #expect(first.lastTrade?.id.text == "12345678901234567890")
    case .noNumber, .unknownType, .late, .negativeBid, .crossed, .negativeTrade, .worthlessTrade: break
    }
  }
}

/// Deflate with the fixed codes and literals alone (RFC 1951 section 3.2.6): what any inflater reads.
enum FixedDeflate {
  static func raw(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var filled = 0
    func put(_ bit: Int) {
      if filled % 8 == 0 { out.append(0) }
      out[out.count - 1] |= UInt8(bit) << UInt8(filled % 8)
      filled += 1
    }
    // The last block, of type 1.
    for bit in [1, 1, 0] { put(bit) }
    for byte in bytes {
      let (code, length) = byte < 144 ? (0x30 + Int(byte), 8) : (0x190 + Int(byte) - 144, 9)
      for index in stride(from: length - 1, through: 0, by: -1) { put(code >> index & 1) }
    }
    for _ in 0..<7 { put(0) }
    return out
  }

  /// A gzip member (RFC 1952).
  static func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var crc = CRC32()
    bytes.withUnsafeBytes { crc.update($0) }
    func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255] + raw(bytes) + word(crc.value) + word(UInt32(bytes.count))
  }
}
