import Bytes
import Foundation
import TidegateClient
import Watch

extension FuzzTarget {
  /// What a gateway sends to `TidegateClient`, a message a line. Lines of one character are what else happens: `!` a
  /// second passes, `+` the next deadline comes, `~` the connection breaks, `^` a handshake is refused, `$` the app
  /// that reads late reads what has come, `<` it pauses, `>` it resumes, `*` it asks for another rate, `%` it
  /// subscribes to one more book, or cancels that.
  static let serverMessage = FuzzTarget(
    "server-message", maxLength: 8192, words: ["\n", "!", "+", "~", "^", "$", "<", ">", "*", "%"]
  ) { (bytes) throws(FuzzFailure) in
    let model = try ClientModel()
    for line in bytes.lines.prefix(200) { try model.take(line) }
    try model.readAll()
  }
}

/// The client library without sockets and clocks, with an app that draws every event, and one that reads late.
private final class ClientModel {
  /// The gateway's limit of a request.
  private static let requestLimit = 65_536
  private static let second: UInt64 = 1_000_000_000
  private static let request = StreamRequest.all(
    StreamRequest.status.untyped, StreamRequest.trades("kraken:BTC-USD").untyped,
    StreamRequest.quote("kraken:BTC-USD").untyped, StreamRequest.ticker("kraken:BTC-USD").untyped,
    StreamRequest.pulse("kraken:BTC-USD").untyped, StreamRequest.book("kraken:BTC-USD").untyped,
    StreamRequest.sparkline("kraken:BTC-USD").untyped, StreamRequest.candles("kraken:BTC-USD").untyped,
    StreamRequest.rate("ZEC-USD").untyped, StreamRequest.topic("news", last: 3).untyped, StreamRequest.alerts.untyped,
    StreamRequest.portfolio(id: "3").untyped, StreamRequest.deck("calm", timeZone: .gmt).untyped,
    StreamRequest.quote("composite:BTC-USD").untyped, StreamRequest.derivative("bybit:BTC-USDT-PERP").untyped,
    StreamRequest.liquidations("bybit:BTC-USDT-PERP").untyped,
    StreamRequest.book("*:ETH-USD", depth: .levels10, every: .milliseconds(100)).untyped)
  private static let limit = 8

  private var core: ClientCore
  private var now: UInt64 = second
  private var early = 0
  private var late = 0
  private var more: Int?
  private var listener = 0
  private var table = WatchTable(url: "ws://gateway/v1/stream", symbols: ["kraken:BTC-USD"])
  /// What each app shows, by channel and symbol; nil: it is old.
  private var shown: [[StreamInfo: Payload?]] = [[:], [:]]
  private var hasDropped = false
  private var isFinished = false
  private var isConnecting = false
  private var tokens = 0

  init() throws(FuzzFailure) {
    var options = ClientOptions()
    options.bufferLimit = Self.limit
    core = ClientCore(options: options, refreshesToken: true, seed: 7)
    listener = core.listen()
    try act { [self] in
      early = $0.subscribe(Self.request, now: $1, into: &$2)
      late = $0.subscribe(Self.request, now: $1, into: &$2)
    }
    try act { $0.start(now: $1, into: &$2) }
    try connect()
  }

  func take(_ line: [UInt8]) throws(FuzzFailure) {
    switch line {
    case [UInt8(ascii: "!")]: try pass(to: now + Self.second)
    case [UInt8(ascii: "+")]: try pass(to: max(now, core.nextDeadline ?? now))
    case [UInt8(ascii: "~")]: try act { $0.closed(code: nil, reason: "broken", now: $1, into: &$2) }
    case [UInt8(ascii: "^")]:
      guard isConnecting else { return }
      isConnecting = false
      try act { $0.refused(status: 503, retryAfter: .seconds(Int64.max), reason: "full", now: $1, into: &$2) }
    case [UInt8(ascii: "$")]: try readAll()
    case [UInt8(ascii: "<")]: try act { $0.pause(now: $1, into: &$2) }
    case [UInt8(ascii: ">")]: try act { $0.resume(now: $1, into: &$2) }
    case [UInt8(ascii: "*")]: try act { $0.configure(cadence: 1000, now: $1, into: &$2) }
    case [UInt8(ascii: "%")]:
      try act { [self] in
        if let more {
          $0.cancel(more, now: $1, into: &$2)
          self.more = nil
        } else {
          more = $0.subscribe(StreamRequest.book("kraken:ETH-USD", depth: .full).untyped, now: $1, into: &$2)
        }
      }
    default:
      try connect()
      try act { $0.receive(line, now: $1, into: &$2) }
    }
  }

  /// A connection that is wanted opens before the next message.
  private func connect() throws(FuzzFailure) {
    guard isConnecting else { return }
    isConnecting = false
    try act { $0.opened(now: $1, into: &$2) }
  }

  private func pass(to moment: UInt64) throws(FuzzFailure) {
    now = moment
    // A drain ends a connection, and the next is wanted at once: a deadline may follow another at the same moment, but
    // not for ever.
    for _ in 0..<4 {
      try act { $0.advance(to: $1, into: &$2) }
      if core.nextDeadline ?? .max > now { return }
    }
    try require(isFinished, "deadlines that have come are there again at once")
  }

  private func act(_ body: (inout ClientCore, UInt64, inout [ClientAction]) -> Void) throws(FuzzFailure) {
    var actions: [ClientAction] = []
    body(&core, now, &actions)
    for action in actions {
      switch action {
      case .connect:
        try require(!isFinished, "a connection is wanted after the end")
        isConnecting = true
      case .send(let text): try check(request: text)
      case .close: isConnecting = false
      case .refreshToken: tokens += 1
      case .wake: break
      }
    }
    while let event = core.nextOfConnection(listener) {
      if case .disconnected(_, nil) = event { isFinished = true }
      table.apply(event)
      try checkTable()
    }
    while let event = core.next(early) {
      _ = table.apply(event)
      try checkTable()
      try follow(event, app: 0)
    }
    let asked = tokens
    tokens = 0
    for _ in 0..<asked { try act { $0.renewed("t", now: $1, into: &$2) } }
    // Ten minutes of `Retry-After` or of a drain, an hour between heartbeats: nothing is put off beyond their sum.
    try require(
      core.nextDeadline.map { $0 < now + 10_000 * Self.second } ?? true, "the client waits for hours: \(now)")
  }

  private func check(request text: String) throws(FuzzFailure) {
    let bytes = Array(text.utf8)
    try require(bytes.count <= Self.requestLimit, "a request of \(bytes.count) bytes")
    var json = JSONScanner(bytes.span.bytes)
    do throws(JSONError) {
      try json.skipValue()
      try json.end()
    } catch {
      throw FuzzFailure("a request that is no JSON: \(text)")
    }
  }

  private func checkTable() throws(FuzzFailure) {
    for line in table.lines(width: 60, height: 12, color: false) {
      try require(line.count <= 60, "a line of \(line.count) characters")
      try checkPrintable(line)
    }
    for line in table.news { try checkPrintable(line) }
    if let failure = table.failure { try checkPrintable(failure) }
  }

  private func checkPrintable(_ line: String) throws(FuzzFailure) {
    try require(
      line.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) },
      "a terminal would obey: \(line.debugDescription)")
  }

  /// Reads what came for the app that is late, and compares what both show.
  func readAll() throws(FuzzFailure) {
    var events = 0
    while let event = core.next(late) {
      switch event {
      case .value(.trades(let trades), _): events += max(1, trades.count)
      case .value(.topic(let documents), _): events += max(1, documents.count)
      case .value(.liquidations(let list), _): events += max(1, list.count)
      case .gap, .resumed, .refused: events += 1
      case .value, .stale: break
      case .dropped: hasDropped = true
      }
      try follow(event, app: 1)
    }
    // What of trades is stale stands among the events, too.
    try require(events <= Self.limit, "\(events) events waited")
    let names = Set(shown[0].keys).union(shown[1].keys)
    for name in names where name.channel.isState && !hasDropped {
      try requireSame(shown[0][name] ?? nil, shown[1][name] ?? nil, "\(name) read early and late")
    }
  }

  private func follow(_ event: StreamEvent<Payload>, app: Int) throws(FuzzFailure) {
    switch event {
    case .value(let payload, let info):
      shown[app][StreamInfo.named(info)] = payload
      try check(payload)
    case .stale(let info, _): shown[app][StreamInfo.named(info)] = .some(nil)
    case .gap, .resumed, .refused, .dropped: break
    }
  }

  private func check(_ payload: Payload) throws(FuzzFailure) {
    switch payload {
    case .book(let book):
      try check(side: book.bids, sign: -1)
      try check(side: book.asks, sign: 1)
      let depth = book.depth(5)
      try require((depth.bids + depth.asks).allSatisfy { (0...1).contains($0.share) }, "a bar beyond its box")
    case .sparkline(let line):
      try require(line.points.count <= 1440, "a line of \(line.points.count) points")
      _ = (line.open, line.change, line.trend, line.from, line.step)
    case .candles(let series):
      let isOrdered = zip(series.candles, series.candles.dropFirst()).allSatisfy { $0.time <= $1.time }
      try require(isOrdered && series.candles.count <= CandleSeries.limit, "candles out of order, or too many")
    case .quote(let quote): _ = quote.spread
    case .topic(let documents):
      let isOrdered = zip(documents, documents.dropFirst()).allSatisfy { $0.number < $1.number }
      try require(isOrdered && documents.allSatisfy { $0.number > 0 }, "documents out of order")
    case .alerts(let list):
      let isFound = list.alerts.allSatisfy { list[$0.id] == $0 }
      try require(isFound && Set(list.alerts.map(\.id)).count == list.alerts.count, "an alert twice, or not found")
    case .portfolio, .deck, .rate, .trades, .liquidations, .ticker, .derivative, .pulse, .status: break
    }
  }

  private func check(side: [OrderBook.Level], sign: Int) throws(FuzzFailure) {
    for (better, worse) in zip(side, side.dropFirst()) {
      let inOrder = sign < 0 ? better.price > worse.price : better.price < worse.price
      try require(inOrder, "levels out of order: \(better.price) before \(worse.price)")
    }
    try require(side.allSatisfy { $0.size > 0 }, "a level without size")
  }
}

extension StreamInfo {
  /// Without what may change.
  fileprivate static func named(_ info: StreamInfo) -> StreamInfo {
    var name = info
    name.priceIncrement = nil
    name.isComplete = nil
    return name
  }
}
