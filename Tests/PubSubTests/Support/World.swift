import Bytes
import Foundation
import MarketData
import Testing

@testable import PubSub

/// Publishers and hubs on some loops with a mailbox between each two: what a gateway does, without sockets or clocks.
final class World {
  enum Mail {
    case command(PublisherCommand)
    case delivery(Delivery)
    case session(SessionMessage)
  }
  let loops: Int
  var now = Timestamp(microseconds: 1_790_000_000_000_000)
  let markets: [Market]
  let publishers: [StreamPublisher]
  let hubs: [SubscriberHub]
  /// By receiving loop, in order.
  var mail: [[Mail]]
  var clients: [ModelClient] = []
  var closed: [(client: ClientID, loop: Int, code: UInt16, reason: String)] = []
  /// Tokens that hubs ask about.
  var asked: [(client: ClientID, loop: Int, token: String)] = []
  var controls: [(client: ClientID, loop: Int, number: UInt32, request: ControlRequest, grant: Grant)] = []
  var changes = MarketChanges()
  /// Tells the names of sessions from those of another run.
  private var run: UInt64 = 0

  init(
    loops: Int = 1, instruments: Int = 1, limits: ClientLimits = ClientLimits(), bookDepthLimit: Int? = nil,
    quotesFromBook: Bool = false, tickerInterval: Int64? = nil, remembers: Bool = true, past: Past? = nil
  ) {
    self.loops = loops
    markets = (0..<loops).map { _ in
      Market(
        configuration: .init(
          quotesFromBook: quotesFromBook, bookDepthLimit: bookDepthLimit, checksum: nil,
          tickerInterval: tickerInterval))
    }
    let numbering = past?.numbering ?? KeptNumbering(epoch: "k7")
    publishers = (0..<loops).map {
      StreamPublisher(loop: $0, loops: loops, numbering: numbering, remembers: remembers)
    }
    if let past {
      now = past.now
      for market in markets { market.bridgesTrades = true }
    }
    hubs = (0..<loops).map {
      SubscriberHub(loop: $0, loops: loops, identity: .init(node: "gw-a", version: "1.0"), limits: limits)
    }
    mail = Array(repeating: [], count: loops)
    var directory = Directory()
    for loop in 0..<loops {
      let venue = World.venue(loop)
      directory.venues.append(venue)
      _ = publishers[loop].add(market: markets[loop], venue: venue)
      for index in 0..<instruments {
        let instrument = Instrument(
          id: InstrumentID(index), venue: venue, venueSymbol: "A\(index)/USD", base: index == 0 ? "BTC" : "A\(index)",
          quote: "USD", priceScale: 1, sizeScale: 8, priceIncrement: Decimal64(mantissa: 1, scale: 1))
        apply(loop) { $0.append(instrument: instrument) }
        directory.entries[instrument.symbol] = DirectoryEntry(
          loop: loop, market: 0, instrument: instrument, bookState: .live)
      }
    }
    for (loop, hub) in hubs.enumerated() {
      hub.restore(past?.sessions.filter { $0.loop == loop } ?? [], now: now, into: &scratch)
      hub.directory = directory
      hub.feeds = (0..<loops).map { FeedStatus(venue: World.venue($0), state: .live, since: now) }
      hub.advance(to: now, into: &scratch)
    }
    if let past {
      restore(past)
    } else {
      now = now + 2 * Microseconds.second
      run(milliseconds: 2000)
    }
  }
  private var scratch: [HubAction] = []

  static func venue(_ loop: Int) -> String { ["kraken", "coinbase", "bybit"][loop] }

  func client(on loop: Int = 0) -> ModelClient {
    let id = hubs[loop].open(
      secret: SessionSecret(high: run, low: UInt32(clients.count)), now: now)
    let client = ModelClient(world: self, loop: loop, id: id)
    clients.append(client)
    return client
  }

  // MARK: Another run

  /// What one run leaves to the next.
  struct Past {
    var now: Timestamp
    var numbering: KeptNumbering
    var streams: [KeptStream]
    var sessions: [KeptSession]
    /// The last trades, by loop.
    var trades: [[Trade]]
  }

  /// The end of the run; nothing may happen in this world afterwards.
  func end() -> Past {
    var streams: [KeptStream] = []
    for publisher in publishers {
      var out: [Delivery] = []
      streams += publisher.keep(now: now, into: &out)
      post(out)
    }
    let highest = publishers.map(\.highestSeq).max() ?? 0
    return Past(
      now: now,
      numbering: KeptNumbering(epoch: publishers[0].epoch, highest: highest, numbers: Set(streams.map(\.number))),
      streams: streams, sessions: hubs.flatMap { $0.keepSessions(now: now) },
      trades: publishers.map { Array($0.lastTrades(of: InstrumentID(0), market: 0).trades) })
  }

  private func restore(_ past: Past) {
    run = UInt64(past.now.microseconds)
    for stream in past.streams {
      publishers[Int(stream.number) % loops].restore(stream, until: now + 120 * Microseconds.second, now: now)
    }
    for loop in 0..<loops {
      let trades = past.trades[loop].map { trade in
        var old = trade
        old.isBacklog = true
        return old
      }
      publishers[loop].restore(trades, market: 0)
      changes.removeAll()
      markets[loop].bridge(after: trades, isCounted: false, of: InstrumentID(0), into: &changes)
      publish(loop)
    }
  }

  // MARK: The market

  func apply(_ loop: Int = 0, _ fill: (inout EventBatch) -> Void) {
    var batch = EventBatch()
    fill(&batch)
    changes.removeAll()
    markets[loop].apply(batch, now: now, into: &changes)
    publish(loop)
  }

  func publish(_ loop: Int) {
    var out: [Delivery] = []
    publishers[loop].publish(changes, market: 0, now: now, into: &out)
    post(out)
  }

  func trade(_ loop: Int = 0, id: UInt64 = 7781, price: Int64, size: Int64 = 1_000_000, side: TakerSide = .buy) {
    apply(loop) {
      $0.events.append(
        .trade(
          Trade(instrument: InstrumentID(0), id: TradeID(id), price: price, size: size, side: side, time: now)))
    }
  }

  func book(
    _ loop: Int = 0, _ kind: BookEvent.Kind, bids: [(Int64, Int64)], asks: [(Int64, Int64)], instrument: Int = 0
  ) {
    apply(loop) { batch in
      batch.bids = bids.map { PriceLevel(price: $0.0, size: $0.1) }
      batch.asks = asks.map { PriceLevel(price: $0.0, size: $0.1) }
      batch.events.append(
        .book(
          BookEvent(
            instrument: InstrumentID(instrument), kind: kind, bidRange: 0..<bids.count, askRange: 0..<asks.count,
            time: now)))
    }
  }

  func quote(_ bid: Int64, _ ask: Int64) {
    apply {
      $0.events.append(
        .quote(
          Quote(
            instrument: InstrumentID(0), bid: bid, bidSize: 50_000_000, ask: ask, askSize: 120_000_000, time: now)))
    }
  }

  // MARK: The mail

  func post(_ deliveries: [Delivery]) {
    for delivery in deliveries {
      switch delivery {
      case .frame(_, let set):
        for loop in 0..<loops where set & (1 << UInt64(loop)) != 0 { mail[loop].append(.delivery(delivery)) }
      case .joined(_, let loop, _), .snapshot(_, let loop, _), .nothing(_, let loop, _), .missed(_, let loop):
        mail[loop].append(.delivery(delivery))
      }
    }
  }

  func post(_ actions: [HubAction], from loop: Int) {
    for action in actions {
      switch action {
      case .command(let command, let target): mail[target].append(.command(command))
      case .session(let message, let target): mail[target].append(.session(message))
      case .close(let client, let code, let reason): closed.append((client, loop, code, reason))
      case .authenticate(let client, let token): asked.append((client, loop, token))
      case .control(let client, let number, let request, let grant):
        controls.append((client, loop, number, request, grant))
      }
    }
  }

  /// One loop takes up to `count` items of its mail.
  func step(_ loop: Int, count: Int = .max) {
    let items = mail[loop].prefix(count)
    mail[loop].removeFirst(items.count)
    var out: [Delivery] = []
    var actions: [HubAction] = []
    for item in items {
      switch item {
      case .command(let command): publishers[loop].perform(command, now: now, into: &out)
      case .delivery(let delivery): hubs[loop].deliver([delivery], now: now, into: &actions)
      case .session(let message): hubs[loop].receive(message, now: now, into: &actions)
      }
    }
    post(out)
    post(actions, from: loop)
  }

  /// Carries mail until there is none, without any client taking anything.
  func carry() {
    while mail.contains(where: { !$0.isEmpty }) { for loop in 0..<loops { step(loop) } }
  }

  /// Carries mail, and lets every client that is not stuck take all it has, until nothing moves.
  func settle() {
    repeat {
      carry()
      flush()
    } while mail.contains { !$0.isEmpty }
  }

  func flush() {
    for client in clients where !client.isStuck { client.take() }
    for hub in hubs { hub.removeDirty() }
  }

  func run(milliseconds: Int, step: Int = 100) {
    for _ in 0..<(milliseconds / step) {
      now = now + Int64(step) * Microseconds.millisecond
      tick()
      settle()
    }
  }

  /// The wall clock is set forward.
  func step(by step: Int64) {
    now = now + step
    for hub in hubs { hub.clockStepped(by: step) }
    for publisher in publishers { publisher.clockStepped(by: step) }
  }

  func tick() {
    for loop in 0..<loops {
      changes.removeAll()
      markets[loop].advance(to: now, into: &changes)
      publish(loop)
      var out: [Delivery] = []
      publishers[loop].advance(to: now, into: &out)
      post(out)
      var actions: [HubAction] = []
      hubs[loop].advance(to: now, into: &actions)
      post(actions, from: loop)
    }
  }
}

/// A client that follows the rules of the protocol and records where the server does not.
final class ModelClient {
  struct Stream {
    var channel: String
    var symbol: String
    var epoch = ""
    var interval = 0
    var seq: UInt64?
    var bids: [String: String] = [:]
    var asks: [String: String] = [:]
    var depth = 0
  }
  // Strong, and so a cycle: a test may keep only its client.
  let world: World
  let loop: Int
  let id: ClientID
  var isStuck = false
  var session = ""
  var hasLeft = false
  /// What was owed when it came back, to be compared: the streams as the one before had them.
  var resumed: [Int: Stream] = [:]
  /// Messages in order, as text.
  var texts: [String] = []
  var streams: [Int: Stream] = [:]
  var dataFrames = 0
  /// Of all frames taken.
  var bytes = 0
  /// The last bid seen, in tenths.
  var lastQuote: Int?
  var faults: [String] = []
  /// Trade ids received or known to be lost, by stream.
  var tradeIDs: [Int: [UInt64]] = [:]
  var lostEvents = 0
  var notices: [[String: Any]] = []
  var snapshotReasons: [String] = []
  /// The book at each seq, to be compared between clients.
  var bookAt: [String: String] = [:]

  init(world: World, loop: Int, id: ClientID) {
    self.world = world
    self.loop = loop
    self.id = id
  }

  func send(_ text: String) {
    var actions: [HubAction] = []
    world.hubs[loop].receive(Array(text.utf8).span.bytes, from: id, now: world.now, into: &actions)
    world.post(actions, from: loop)
  }

  /// How long its next bytes have to wait, µs.
  var inputDelay: Int64 { world.hubs[loop].inputDelay(of: id, now: world.now) }

  func sendControlFrame() {
    var actions: [HubAction] = []
    world.hubs[loop].receiveControlFrame(from: id, now: world.now, into: &actions)
    world.post(actions, from: loop)
  }

  /// Sends, settles, and returns what came.
  func ask(_ text: String) -> [String] {
    let before = texts.count
    send(text)
    world.settle()
    return Array(texts[before...])
  }

  func authorize(_ grant: Grant) {
    var actions: [HubAction] = []
    world.hubs[loop].authorize(id, grant, now: world.now, into: &actions)
    world.post(actions, from: loop)
  }

  /// Makes it somebody's, as if a token had said so.
  func setSubject(_ subject: String) {
    guard let state = world.hubs[loop].state(of: id), var grant = state.grant else { return }
    grant.subject = subject
    state.setGrant(grant, deadline: state.deadline)
  }

  func refuse(_ why: String, code: UInt16 = CloseCode.unauthorized) {
    var actions: [HubAction] = []
    world.hubs[loop].refuse(id, why: why, code: code, now: world.now, into: &actions)
    world.post(actions, from: loop)
  }

  func leave() {
    var actions: [HubAction] = []
    world.hubs[loop].close(id, into: &actions)
    world.post(actions, from: loop)
    isStuck = true
    hasLeft = true
  }

  /// A new connection that goes on where this one stopped; returns it when all is settled.
  func comeBack(on loop: Int = 0, session: String? = nil, subject: String? = nil) -> ModelClient {
    let back = resumeRequest(on: loop, session: session, subject: subject)
    world.settle()
    return back
  }

  /// The same, with the request only sent.
  func resumeRequest(on loop: Int, session: String? = nil, subject: String? = nil) -> ModelClient {
    let back = world.client(on: loop)
    if let subject { back.setSubject(subject) }
    let items = streams.sorted { $0.key < $1.key }.compactMap { number, stream -> String? in
      guard let seq = stream.seq else { return nil }
      let depth = stream.channel == "book" ? ",\"depth\":\(stream.depth == 0 ? "\"full\"" : "\(stream.depth)")" : ""
      return
        "{\"channel\":\"\(stream.channel)\",\"symbol\":\"\(stream.symbol)\"\(depth),\"interval_ms\":\(stream.interval)"
        + ",\"stream\":\(number),\"epoch\":\"\(stream.epoch)\",\"seq\":\(seq)}"
    }
    back.resumed = streams
    back.send(
      "{\"op\":\"hello\",\"id\":1,\"resume\":{\"session\":\"\(session ?? self.session)\",\"streams\":[\(items.joined(separator: ","))]}}"
    )
    return back
  }

  func unsent(_ bytes: Int) { world.hubs[loop].setUnsent(bytes, for: id, now: world.now) }

  func take(byteLimit: Int = .max) {
    var frames: [SharedBytes] = []
    var actions: [HubAction] = []
    // As the gateway does: the short way first.
    if let turn = world.hubs[loop].takeTurn(from: id) {
      let parts = Self.frames(in: turn.bytes)
      #expect(parts.count == turn.frames)
      frames += parts
    }
    world.hubs[loop].take(from: id, byteLimit: byteLimit, now: world.now, into: &frames, actions: &actions)
    world.post(actions, from: loop)
    for frame in frames {
      bytes += frame.count
      receive(payload(of: frame))
    }
  }

  /// The unmasked frames that stand side by side (RFC 6455 section 5.2).
  private static func frames(in bytes: UnsafeRawBufferPointer) -> [SharedBytes] {
    var frames: [SharedBytes] = []
    var rest = bytes[...]
    while rest.count >= 10 {
      let first = rest.startIndex
      let header = rest[first + 1] < 126 ? 2 : rest[first + 1] == 126 ? 4 : 10
      let length =
        header == 2
        ? Int(rest[first + 1]) : rest[(first + 2)..<(first + header)].reduce(0) { $0 << 8 | Int($1) }
      frames.append(SharedBytes(UnsafeRawBufferPointer(rebasing: rest.prefix(header + length))))
      rest = rest.dropFirst(header + length)
    }
    #expect(rest.isEmpty)
    return frames
  }

  /// The text of an unmasked frame (RFC 6455 section 5.2).
  private func payload(of frame: SharedBytes) -> String {
    let bytes = Array(frame.unsafeBytes)
    #expect(bytes[0] == 0x81)
    let start = bytes[1] < 126 ? 2 : bytes[1] == 126 ? 4 : 10
    return String(decoding: bytes[start...], as: UTF8.self)
  }

  private func receive(_ text: String) {
    texts.append(text)
    guard let message = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any],
      let type = message["type"] as? String
    else {
      faults.append("not JSON: \(text)")
      return
    }
    faults += WireCheck.problems(message, text)
    switch type {
    case "welcome":
      session = message["session"] as? String ?? ""
      for item in message["ok"] as? [[String: Any]] ?? [] { open(item) }
    case "subscribed": for item in message["ok"] as? [[String: Any]] ?? [] { open(item) }
    case "configured", "notice":
      if type == "notice" { notices.append(message) }
      for item in message["streams"] as? [[String: Any]] ?? [] {
        if let from = item["from"] as? Int { streams[from] = nil }
        open(item)
      }
      if message["code"] as? String == "lost" { lost(message, text) }
    case "unsubscribed": for stream in message["streams"] as? [Int] ?? [] { streams[stream] = nil }
    case "heartbeat":
      if message["sent"] as? Int != dataFrames { faults.append("sent is not \(dataFrames): \(text)") }
    case "snapshot", "update":
      dataFrames += 1
      data(message, isSnapshot: type == "snapshot", text)
    default: break
    }
  }

  private func open(_ item: [String: Any]) {
    guard let number = item["stream"] as? Int, streams[number] == nil else { return }
    if item["recovered"] as? Bool == true {
      guard let old = resumed[number] else { return faults.append("recovered, but never had: \(item)") }
      streams[number] = old
      return
    }
    streams[number] = Stream(
      channel: item["channel"] as? String ?? "", symbol: item["symbol"] as? String ?? "",
      epoch: item["epoch"] as? String ?? "", interval: item["interval_ms"] as? Int ?? 0,
      depth: item["depth"] as? Int ?? 0)
    // Trades of a stream without a snapshot begin after this.
    if item["channel"] as? String == "trades" { streams[number]?.seq = item["seq"] as? UInt64 }
  }

  private func lost(_ message: [String: Any], _ text: String) {
    guard let number = message["stream"] as? Int, let from = message["from_seq"] as? UInt64,
      let to = message["to_seq"] as? UInt64, let count = message["count"] as? UInt64, streams[number] != nil
    else { return faults.append("bad notice: \(text)") }
    if let seq = streams[number]?.seq, seq + 1 != from { faults.append("lost from \(from) after \(seq)") }
    if to - from + 1 != count { faults.append("count: \(text)") }
    streams[number]?.seq = to
    lostEvents += message["events"] as? Int ?? 0
  }

  private func data(_ message: [String: Any], isSnapshot: Bool, _ text: String) {
    guard let number = message["stream"] as? Int, var stream = streams[number] else {
      return faults.append("a stream that was not announced: \(text)")
    }
    guard let seq = message["seq"] as? UInt64, let data = message["data"] as? [String: Any] else {
      return faults.append("no seq or data: \(text)")
    }
    if isSnapshot {
      snapshotReasons.append(message["reason"] as? String ?? "")
      stream.bids = [:]
      stream.asks = [:]
      if let old = stream.seq, seq < old { faults.append("seq goes back from \(old): \(text)") }
    } else if message["prev"] as? UInt64 != stream.seq {
      faults.append("prev is not \(String(describing: stream.seq)): \(text)")
    }
    stream.seq = seq
    if stream.channel == "book" {
      if data["state"] as? String == "syncing" {
        stream.bids = [:]
        stream.asks = [:]
      }
      for (name, path) in [("bids", \Stream.bids), ("asks", \Stream.asks)] {
        for level in data[name] as? [[String]] ?? [] {
          stream[keyPath: path][level[0]] = level[1] == "0" ? nil : level[1]
        }
      }
      bookAt["\(number)@\(seq)"] = Self.text(of: stream)
    }
    if stream.channel == "quote", let bid = Double(data["bid"] as? String ?? "") { lastQuote = Int(bid * 10) }
    if stream.channel == "trades", !isSnapshot {
      for trade in data["trades"] as? [[String: Any]] ?? [] {
        tradeIDs[number, default: []].append(UInt64(trade["id"] as? String ?? "") ?? 0)
      }
    }
    streams[number] = stream
  }

  static func text(of stream: Stream) -> String {
    let bids = stream.bids.sorted { Double($0.key)! > Double($1.key)! }.map { "\($0.key)x\($0.value)" }
    let asks = stream.asks.sorted { Double($0.key)! < Double($1.key)! }.map { "\($0.key)x\($0.value)" }
    return bids.joined(separator: " ") + " | " + asks.joined(separator: " ")
  }
}

extension Array where Element == String {
  /// The messages of a type.
  func of(_ type: String) -> [String] { filter { $0.hasPrefix("{\"type\":\"\(type)\"") } }
}
