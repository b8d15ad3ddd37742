import Bytes
import MarketData
import PubSub
import Venues

/// One feed, its market and publisher, and a client that subscribes to everything: what lies between an exchange's
/// message and a client's frame, without sockets or clocks. Every frame that the client gets is checked.
final class StackModel {
  /// Frames that one message may come to, with the snapshots that it asks for.
  private static let frameLimit = 20_000

  let pipeline: FeedPipeline
  let publisher: StreamPublisher
  let hub: SubscriberHub
  private(set) var now = Timestamp(microseconds: 1_790_000_000_000_000)
  private(set) var client: ClientID
  /// The client's connection was ended by the hub.
  private(set) var isClosed = false
  private(set) var frames = 0
  private var deliveries: [Delivery] = []
  private var fanOutActions: [HubAction] = []
  private var shared: [SharedBytes] = []
  /// Requests of the engine that are not answered.
  private var gets: [Int] = []
  private var known = 0

  /// Whether the feed's connection is open.
  private(set) var isConnected = false

  init(_ venue: Venue, _ configuration: FeedConfiguration) {
    pipeline = FeedPipeline(venue: venue, configuration: configuration)
    publisher = StreamPublisher(loop: 0, loops: 1, epoch: "k7")
    hub = SubscriberHub(loop: 0, loops: 1, identity: .init(node: "gw-a", version: "1.0"))
    _ = publisher.add(market: pipeline.market, venue: venue.name)
    client = hub.open(secret: SessionSecret(high: 0, low: 0), now: now)
  }

  // MARK: The feed's side

  func prepare() throws(FuzzFailure) {
    pipeline.prepare(now: now)
    try settle()
  }
  /// Opens the connection if it is not, as soon as the engine may be told of it.
  func connectIfPrepared() throws(FuzzFailure) {
    guard !isConnected, pipeline.engine.isPrepared else { return }
    isConnected = true
    pipeline.connected(now: now)
    try settle()
  }
  /// The connection is lost, and with it the answers that are under way and a change that was.
  func disconnect() throws(FuzzFailure) {
    isConnected = false
    gets.removeAll()
    endHandover()
    pipeline.disconnected(now: now)
    try settle()
  }
  /// A message of the venue; nothing comes where there is no connection.
  func receive(_ message: [UInt8], isBinary: Bool = false) throws(FuzzFailure) {
    guard isConnected else { return }
    let before = (rejected: pipeline.counts.rejected, noted: pipeline.errors.total)
    pipeline.receive(message.span.bytes, isBinary: isBinary, now: now)
    let refused = pipeline.counts.rejected - before.rejected
    try require(
      refused == pipeline.errors.total - before.noted && (0...1).contains(refused),
      "\(refused) refusals of a message are counted, and \(pipeline.errors.total - before.noted) are kept")
    if refused > 0 {
      try require(pipeline.lastError.map { !$0.detail.isEmpty } ?? false, "a message is refused without a reason")
    }
    try settle()
  }
  /// Answers the oldest request of the engine, if there is one.
  func answer(_ status: Int, _ body: [UInt8]) throws(FuzzFailure) {
    guard !gets.isEmpty else { return }
    let before = (rejected: pipeline.counts.rejected, noted: pipeline.errors.total)
    pipeline.response(to: gets.removeFirst(), status: status, body: body.span.bytes, now: now)
    let noted = pipeline.errors.total - before.noted
    if pipeline.counts.rejected > before.rejected || status != 200 {
      try require(noted == 1, "\(noted) refusals of an answer are kept")
      try require(
        !(pipeline.errors.entries.first?.detail.hasSuffix(": could not be read") ?? true),
        "an answer is refused without a reason")
    } else {
      try require(noted == 0, "an answer that was read is told of")
    }
    try settle()
  }

  /// Moves time on by `milliseconds`.
  func wait(_ milliseconds: Int64) throws(FuzzFailure) {
    now = now + milliseconds * 1000
    if let next = handover?.successor {
      next.tick(now: now)
      next.advance(now: now)
      settleSuccessor()
      if isNextConnected, handover?.standing(now: now) == .ready { try takeOver() }
    }
    pipeline.tick(now: now)
    pipeline.advance(now: now)
    publisher.advance(to: now, into: &deliveries)
    hub.advance(to: now, into: &fanOutActions)
    try settle()
  }

  // MARK: A planned change of connection

  private var handover: FeedHandover?
  private var isNextConnected = false
  private var nextGets: [Int] = []
  var isChanging: Bool { handover != nil }

  /// Begins one, as the venue's notice or the connection's age does.
  func beginHandover() {
    guard isConnected, handover == nil else { return }
    let next = FeedHandover(of: pipeline, configuration: pipeline.engine.configuration)
    handover = next
    next.successor.prepare(now: now)
    settleSuccessor()
  }

  /// A message on the next connection.
  func receiveNext(_ message: [UInt8]) {
    guard isNextConnected, let next = handover?.successor else { return }
    next.receive(message.span.bytes, now: now)
    settleSuccessor()
  }

  /// Answers the oldest request of the next connection's engine.
  func answerNext(_ body: [UInt8]) {
    guard !nextGets.isEmpty, let next = handover?.successor else { return }
    next.response(to: nextGets.removeFirst(), status: 200, body: body.span.bytes, now: now)
    settleSuccessor()
  }

  /// The present connection's time is up: the next one takes over with what it has, if it has anything.
  func takeOverEarly() throws(FuzzFailure) {
    guard isNextConnected, let handover, handover.booksInSync > 0 else { return }
    try takeOver()
  }

  private func takeOver() throws(FuzzFailure) {
    guard let change = handover else { return }
    guard change.takeOver(now: now) else {
      try disconnect()
      return try prepare()
    }
    handover = nil
    isNextConnected = false
    gets = nextGets
    nextGets.removeAll()
    for symbol in change.refusals.keys.sorted() { _ = pipeline.refused(symbol, now: now) }
    try settle()
  }

  private func endHandover() {
    handover?.cancel()
    handover = nil
    isNextConnected = false
    nextGets.removeAll()
  }

  /// What a feed's session does after every call of the next connection's pipeline.
  private func settleSuccessor() {
    guard let change = handover else { return }
    change.collect()
    for action in change.successor.takeActions() {
      switch action {
      case .send: change.noteRequest(now: now)
      case .get(let request, _, _): nextGets = nextGets.suffix(63) + [request]
      case .symbolFailed(let symbol, let reason): change.noteRefusal(symbol, reason)
      case .symbolAccepted: break
      case .maintenance(let isOn): if isOn { return endHandover() }
      case .reconnect, .renew: return endHandover()
      }
    }
    guard !isNextConnected, change.successor.engine.isPrepared else { return }
    isNextConnected = true
    change.successor.connected(now: now)
    settleSuccessor()
  }

  // MARK: The client's side

  func request(_ message: [UInt8]) throws(FuzzFailure) {
    guard !isClosed else { return }
    hub.receive(message.span.bytes, from: client, now: now, into: &fanOutActions)
    try settle()
  }

  /// The client goes and another comes.
  func reopen() throws(FuzzFailure) {
    hub.close(client, into: &fanOutActions)
    client = hub.open(secret: SessionSecret(high: 0, low: 0), now: now)
    isClosed = false
    frames = 0
    try settle()
    try require(hub.clientCount == 1, "\(hub.clientCount) clients are held for one")
  }

  /// Subscribes to all channels of a symbol.
  func subscribe(_ symbol: String) throws(FuzzFailure) {
    let channels = ["trades", "quote", "ticker", "pulse", "book", "sparkline"]
    let items = channels.map { "{\"channel\":\"\($0)\",\"symbols\":[\"\(symbol)\"],\"interval_ms\":0}" }
    try request(Array("{\"op\":\"subscribe\",\"id\":1,\"streams\":[\(items.joined(separator: ","))]}".utf8))
  }

  // MARK: Checks

  private func settle() throws(FuzzFailure) {
    let market = pipeline.market
    if known != market.instruments.count {
      known = market.instruments.count
      let symbols = market.instruments.map(\.instrument.symbol)
      try require(Set(symbols).count == symbols.count, "two instruments have one symbol: \(symbols)")
      for state in market.instruments {
        hub.directory.entries[state.instrument.symbol] = DirectoryEntry(
          loop: 0, market: 0, instrument: state.instrument, bookState: state.bookState)
      }
      hub.directory.venues = [pipeline.engine.venue.name]
    }
    publisher.publish(pipeline.changes, market: 0, now: now, into: &deliveries)
    pipeline.clear()
    let actions = pipeline.takeActions()
    try require(actions.count <= 1000, "one message asks for \(actions.count) actions")
    for action in actions {
      switch action {
      case .get(let request, _, _): gets.append(request)
      case .symbolFailed(let symbol, _): _ = pipeline.refused(symbol, now: now)
      case .symbolAccepted(let symbol): pipeline.accepted(symbol)
      case .send, .maintenance, .reconnect, .renew: break
      }
    }
    if gets.count > 64 { gets.removeFirst(gets.count - 64) }
    for state in market.instruments {
      try require(state.book.invariantsHold, "the book of \(state.instrument.symbol) is out of order")
    }
    repeat {
      hub.deliver(deliveries, now: now, into: &fanOutActions)
      deliveries.removeAll()
      let todo = fanOutActions
      fanOutActions.removeAll()
      for action in todo {
        switch action {
        case .command(let command, _): publisher.perform(command, now: now, into: &deliveries)
        // Neither tokens nor other loops are here.
        case .authenticate, .session: break
        case .control(let client, let number, _, _):
          let error = ProtocolError(.unavailable, "there are no alerts here")
          hub.answer(client, number: number, .failure(error), now: now, into: &fanOutActions)
        case .close(_, let code, let reason):
          try require((4000...4299).contains(code) && !reason.isEmpty, "closed with \(code) \(reason)")
          isClosed = true
        }
      }
    } while !deliveries.isEmpty || !fanOutActions.isEmpty
    try take()
  }

  private func take() throws(FuzzFailure) {
    shared.removeAll(keepingCapacity: true)
    if let turn = hub.takeTurn(from: client) { try split(turn) }
    hub.take(from: client, byteLimit: .max, now: now, into: &shared, actions: &fanOutActions)
    hub.removeDirty()
    try require(shared.count <= Self.frameLimit, "\(shared.count) frames at once")
    frames += shared.count
    for frame in shared { try check(frame) }
    if !fanOutActions.isEmpty { try settle() }
  }

  /// Adds the frames of a turn, which stand side by side, to `shared`.
  private func split(_ turn: TurnBytes) throws(FuzzFailure) {
    var rest = turn.bytes[...]
    for _ in 0..<turn.frames {
      guard rest.count >= 2 else { throw FuzzFailure("a turn is shorter than its frames") }
      let first = rest.startIndex
      let start = rest[first + 1] < 126 ? 2 : rest[first + 1] == 126 ? 4 : 10
      let length =
        start == 2
        ? Int(rest[first + 1]) : rest[(first + 2)..<(first + start)].reduce(0) { $0 << 8 | Int($1) }
      try require(rest.count >= start + length, "a turn is shorter than its frames")
      shared.append(SharedBytes(UnsafeRawBufferPointer(rebasing: rest.prefix(start + length))))
      rest = rest.dropFirst(start + length)
    }
    try require(rest.isEmpty, "a turn is longer than its frames")
  }

  /// A whole unmasked text frame that holds one JSON object in UTF-8.
  private func check(_ frame: SharedBytes) throws(FuzzFailure) {
    let bytes = frame.unsafeBytes
    guard bytes.count >= 2, bytes[0] == 0x81, bytes[1] < 128 else { throw FuzzFailure("not a text frame") }
    let start = bytes[1] < 126 ? 2 : bytes[1] == 126 ? 4 : 10
    let length =
      start == 2 ? Int(bytes[1]) : bytes[2..<start].reduce(0) { $0 << 8 | Int($1) }
    guard bytes.count == start + length else { throw FuzzFailure("the frame's length is wrong") }
    let payload = UnsafeRawBufferPointer(rebasing: bytes[start...])
    var json = JSONScanner(RawSpan(_unsafeBytes: payload))
    do throws(JSONError) {
      guard json.peek() == .object else { throw JSONError(reason: .unexpectedEnd, offset: 0) }
      try json.skipValue()
      try json.end()
    } catch {
      throw FuzzFailure("a client gets what is not JSON (\(error)): \(String(decoding: payload, as: UTF8.self))")
    }
    if ReferenceUTF8.check(Array(payload)) != .whole {
      throw FuzzFailure("a client gets what is not UTF-8: \(Array(payload))")
    }
  }
}
