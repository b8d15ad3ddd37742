import Bytes
import TidegateClient

extension FuzzTarget {
  /// What a gateway sends to `TidegateClient`, a message a line. Lines of one character are what else happens: `!` a
  /// second passes, `+` the next deadline comes, `~` the connection breaks, `^` a handshake is refused, `$` the app
  /// reads what has come, `<` it pauses, `>` it resumes, `*` it asks for another rate.
  static let serverMessage = FuzzTarget(
    "server-message", maxLength: 8192, words: ["\n", "!", "+", "~", "^", "$", "<", ">", "*"]
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

  private var core: ClientCore
  private var now: UInt64 = second
  private var buffer = EventBuffer(limit: 8)
  private var table = WatchTable(url: "ws://gateway/v1/stream", symbols: ["kraken:BTC-USD"])
  /// Books by stream, of events as they came and as they were read.
  private var early: [Int64: BookView] = [:]
  private var late: [Int64: BookView] = [:]
  private var hasDropped = false
  private var isFinished = false
  private var isConnecting = false
  private var tokens = 0

  init() throws(FuzzFailure) {
    core = ClientCore(
      subscriptions: [
        .init(channels: [.status]), .init(channels: TidegateChannel.allCases, symbols: ["kraken:BTC-USD"]),
        .init(channels: [.book, .trades], symbols: ["kraken:*"], depth: 10, intervalMilliseconds: 100),
      ], options: .init(), refreshesToken: true, seed: 7)
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
    case [UInt8(ascii: "*")]: try act { $0.configure(interval: 1000, now: $1, into: &$2) }
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
      try require(!isFinished, "something is wanted after the end: \(action)")
      switch action {
      case .connect: isConnecting = true
      case .send(let text): try check(request: text)
      case .close: isConnecting = false
      case .refreshToken: tokens += 1
      case .emit(let event): try emit(event)
      case .finish: isFinished = true
      }
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

  private func emit(_ event: TidegateEvent) throws(FuzzFailure) {
    Self.follow(event, &early)
    buffer.append(event)
    _ = table.apply(event)
    for line in table.lines(width: 60, height: 12, color: false) {
      try require(line.count <= 60, "a line of \(line.count) characters")
      try checkPrintable(line)
    }
    for line in table.news { try checkPrintable(line) }
    if let trouble = table.trouble { try checkPrintable(trouble) }
  }

  private func checkPrintable(_ line: String) throws(FuzzFailure) {
    try require(
      line.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) },
      "a terminal would obey: \(line.debugDescription)")
  }

  /// Takes all that is unread, and compares the books that were followed event by event with those that were read late.
  func readAll() throws(FuzzFailure) {
    let count = buffer.count
    var taken = 0
    while let event = buffer.next() {
      taken += 1
      if case .dropped = event { hasDropped = true }
      Self.follow(event, &late)
    }
    try requireSame(count, taken, "events that were counted and taken")
    for (stream, book) in early {
      try check(side: book.bids, sign: -1)
      try check(side: book.asks, sign: 1)
      if hasDropped { continue }
      let other = late[stream] ?? BookView()
      try requireSame(book.isSynced, other.isSynced, "in sync, read early and late")
      guard book.isSynced else { continue }
      try requireSame(book.bids, other.bids, "bids read early and late")
      try requireSame(book.asks, other.asks, "asks read early and late")
    }
  }

  private func check(side: [BookLevel], sign: Int) throws(FuzzFailure) {
    for (better, worse) in zip(side, side.dropFirst()) {
      let inOrder = sign < 0 ? better.price > worse.price : better.price < worse.price
      try require(inOrder, "levels out of order: \(better.price) before \(worse.price)")
    }
    try require(side.allSatisfy { !$0.size.isZero }, "a level without size")
  }

  private static func follow(_ event: TidegateEvent, _ books: inout [Int64: BookView]) {
    switch event {
    case .snapshot(let info, .book), .update(let info, .book): books[info.stream, default: BookView()].apply(event)
    case .gap(let info) where info.channel == .book, .outOfSync(let info, _) where info.channel == .book,
      .recovered(let info) where info.channel == .book:
      books[info.stream, default: BookView()].apply(event)
    case .moved(let info, let from) where info.channel == .book:
      books[from] = nil
      books[info.stream, default: BookView()].apply(event)
    case .disconnected: for stream in books.keys { books[stream]?.apply(event) }
    default: break
    }
  }
}
