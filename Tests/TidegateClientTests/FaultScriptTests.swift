import Foundation
import TestSupport
import Testing

@testable import TidegateClient

/// A client against a gateway that drops messages, connections and itself, at random; a judge that shares no code with
/// the client compares what the app was told with what happened.
@Suite("Faults, judged")
struct FaultScriptTests {
  @Test("nothing is missed without being told, and no wrong book is shown as right", arguments: testSeeds(20))
  func judged(seed: UInt64) throws {
    var trial = FaultTrial(seed: seed, hasFaults: true)
    try trial.run(steps: 600)
  }

  @Test("without faults nothing is said to be missing", arguments: testSeeds(5))
  func calm(seed: UInt64) throws {
    var trial = FaultTrial(seed: seed, hasFaults: false)
    try trial.run(steps: 600)
    #expect(trial.judge.gaps == 0 && trial.judge.stales == 0, "seed \(seed)")
    #expect(trial.judge.trades.count > 100, "seed \(seed)")
  }

  @Test("the judge sees what is missing")
  func judge() {
    var judge = FaultJudge()
    for id in [1, 2, 5] { judge.take(trade: id) }
    #expect(judge.problems == ["trade 5 after 2"])
    judge.gap()
    judge.take(trade: 9)
    judge.take(trade: 9)
    #expect(judge.problems == ["trade 5 after 2", "trade 9 after 9"])
    judge.take(book: "a", among: ["b"])
    #expect(judge.problems.count == 3)
  }
}

/// What an app was told, and what cannot have been.
struct FaultJudge {
  private(set) var problems: [String] = []
  private(set) var trades: [Int] = []
  private(set) var gaps = 0
  private(set) var stales = 0
  private(set) var book: String?
  private var isGap = false

  mutating func take(trade id: Int) {
    if let last = trades.last, id != last + 1, !(isGap && id > last) { problems.append("trade \(id) after \(last)") }
    trades.append(id)
    isGap = false
  }

  mutating func gap() {
    gaps += 1
    isGap = true
  }

  mutating func take(book: String, among states: Set<String>) {
    if !states.contains(book) { problems.append("a book that never was: \(book)") }
    self.book = book
  }

  mutating func stale() {
    stales += 1
    book = nil
  }
}

/// The gateway's side, simulated: one book, one stream of trades, sessions, an epoch that ends with a restart.
private struct ModelGateway {
  struct Message {
    var seq: Int
    var prev: Int
    var data: String
  }

  private(set) var epoch = 1
  private var session = 0
  private var hasSession = false
  /// By channel.
  private var seq = ["book": 100, "trades": 100]
  private var kept: [String: [Message]] = ["book": [], "trades": []]
  private(set) var levels: [Int: Int] = [:]
  /// All states that the book ever had.
  private(set) var states: Set<String> = []
  private(set) var lastTrade = 0
  /// The numbers that the connection is subscribed to, by channel; nil: no connection.
  private var subscribed: [String: Int]?
  private var sent = 0

  init() { note() }

  var isConnected: Bool { subscribed != nil }

  /// As `FaultTrial.text`.
  var text: String { levels.sorted { $0.key > $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ") }

  private mutating func note() { states.insert(text) }

  mutating func connect() {
    subscribed = [:]
    sent = 0
  }

  mutating func disconnect() { subscribed = nil }

  mutating func restart() {
    epoch += 1
    hasSession = false
    subscribed = nil
    kept = ["book": [], "trades": []]
    seq = ["book": 7, "trades": 7]
  }

  private func number(_ channel: String) -> Int { epoch * 10 + (channel == "book" ? 2 : 4) }

  private func text(_ type: String, _ channel: String, _ message: Message) -> String {
    let link = type == "update" ? #""prev":\#(message.prev),"# : #""reason":"subscribe","#
    return
      #"{"type":"\#(type)","channel":"\#(channel)","symbol":"kraken:BTC-USD","stream":\#(number(channel)),\#(link)"seq":\#(message.seq),"time":1,"data":\#(message.data)}"#
  }

  private func snapshot(_ channel: String) -> String {
    let data: String
    if channel == "book" {
      let bids = levels.map { #"["\#($0.key)","\#($0.value)"]"# }.joined(separator: ",")
      data = #"{"state":"live","bids":[\#(bids)],"asks":[]}"#
    } else {
      data = Self.trades(Array(max(1, lastTrade - 4)..<(lastTrade + 1)))
    }
    return text("snapshot", channel, Message(seq: seq[channel]!, prev: 0, data: data))
  }

  private static func trades(_ ids: [Int]) -> String {
    let trades = ids.map { #"{"id":"\#($0)","price":"1","size":"1"}"# }
    return #"{"trades":[\#(trades.joined(separator: ","))]}"#
  }

  /// Publishes; what goes to the connection.
  private mutating func publish(_ channel: String, _ data: String) -> [String] {
    let prev = seq[channel]!
    // Numbers are not counted by one.
    seq[channel] = prev + 1 + lastTrade % 2
    let message = Message(seq: seq[channel]!, prev: prev, data: data)
    kept[channel]!.append(message)
    if kept[channel]!.count > 20 { kept[channel]!.removeFirst() }
    guard subscribed?[channel] != nil else { return [] }
    sent += 1
    return [text("update", channel, message)]
  }

  mutating func change(price: Int, size: Int) -> [String] {
    levels[price] = size == 0 ? nil : size
    note()
    return publish("book", #"{"bids":[["\#(price)","\#(size)"]],"asks":[]}"#)
  }

  mutating func trade() -> [String] {
    lastTrade += 1
    return publish("trades", Self.trades([lastTrade]))
  }

  /// Trades that a slow client is not sent, and the notice in their place.
  mutating func lose(_ count: Int) -> [String] {
    guard let number = subscribed?["trades"] else { return [] }
    let from = seq["trades"]! + 1
    for _ in 0..<count { if !trade().isEmpty { sent -= 1 } }
    return [
      #"{"type":"notice","code":"lost","stream":\#(number),"from_seq":\#(from),"to_seq":\#(seq["trades"]!),"count":\#(count),"events":\#(count)}"#
    ]
  }

  func heartbeat() -> String { #"{"type":"heartbeat","time":1,"sent":\#(sent),"feeds":{}}"# }

  /// Answers a request.
  mutating func answer(_ text: String) throws -> [String] {
    let request = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let id = try #require(request["id"] as? Int)
    switch request["op"] as? String {
    case "hello": return hello(id, request["resume"] as? [String: Any])
    case "subscribe":
      var replies: [String] = []
      var items: [String] = []
      for stream in request["streams"] as? [[String: Any]] ?? [] {
        let channel = stream["channel"] as! String
        items.append(item(channel, nil))
        if subscribed?[channel] == nil { replies.append(snapshot(channel)) }
        let number = self.number(channel)
        subscribed?[channel] = number
      }
      sent += replies.count
      return [#"{"type":"subscribed","id":\#(id),"ok":[\#(items.joined(separator: ","))],"failed":[]}"#] + replies
    case "unsubscribe":
      for number in request["streams"] as? [Int] ?? [] {
        subscribed = subscribed?.filter { $0.value != number }
      }
      return [#"{"type":"unsubscribed","id":\#(id),"streams":[],"total":0}"#]
    default: return []
    }
  }

  private func item(_ channel: String, _ isRecovered: Bool?) -> String {
    let recovered = isRecovered.map { #","recovered":\#($0)"# } ?? ""
    return
      #"{"stream":\#(number(channel)),"channel":"\#(channel)","symbol":"kraken:BTC-USD","epoch":"e\#(epoch)","seq":\#(seq[channel]!),"state":"live"\#(recovered)}"#
  }

  private mutating func hello(_ id: Int, _ resume: [String: Any]?) -> [String] {
    let isResumed = hasSession && resume?["session"] as? String == "s\(session)"
    session += 1
    hasSession = true
    var items: [String] = []
    var after: [String] = []
    for stream in resume?["streams"] as? [[String: Any]] ?? [] {
      let channel = stream["channel"] as! String
      let position = stream["seq"] as! Int
      let messages = kept[channel]!.filter { $0.seq > position }
      let isKnown =
        isResumed && stream["epoch"] as? String == "e\(epoch)"
        && (messages.first?.prev == position || position == seq[channel])
      items.append(item(channel, isKnown))
      after += isKnown ? messages.map { text("update", channel, $0) } : [snapshot(channel)]
      let number = self.number(channel)
      subscribed?[channel] = number
    }
    sent += after.count
    return [
      #"{"type":"welcome","id":\#(id),"session":"s\#(session)","node":"gw","version":"1","heartbeat_s":1,"resumed":\#(isResumed),"ok":[\#(items.joined(separator: ","))],"failed":[]}"#
    ] + after
  }
}

private struct FaultTrial {
  private let seed: UInt64
  private let hasFaults: Bool
  private var random: SeededGenerator
  private var client: CoreHarness
  private var gateway = ModelGateway()
  private(set) var judge = FaultJudge()
  /// The connection is there for the gateway, and nothing arrives.
  private var isHalfOpen = false
  private var mayRefuse = true
  /// When the last heartbeat was sent.
  private var beat: UInt64 = 0

  init(seed: UInt64, hasFaults: Bool) {
    self.seed = seed
    self.hasFaults = hasFaults
    random = SeededGenerator(seed: seed)
    client = CoreHarness(
      .all(StreamRequest.trades("kraken:BTC-USD").untyped, StreamRequest.book("kraken:BTC-USD").untyped), seed: seed)
  }

  static func text(_ book: OrderBook) -> String {
    book.bids.map { "\($0.price):\($0.size)" }.joined(separator: " ")
  }

  mutating func run(steps count: Int) throws {
    try follow(client.start())
    for _ in 0..<count {
      try step()
      try follow(client.pass(milliseconds: UInt64.random(in: 0...300, using: &random)))
      if client.now - beat >= 1_000_000_000 {
        beat = client.now
        try say([gateway.heartbeat()], mayDrop: false)
      }
    }
    // It heals: after a while everything is as it is at the gateway, or was told to be missing.
    mayRefuse = false
    for _ in 0..<200 {
      try follow(client.pass(milliseconds: 500))
      try say([gateway.heartbeat()], mayDrop: false)
    }
    try say(gateway.trade(), mayDrop: false)
    #expect(gateway.isConnected && !isHalfOpen, "seed \(seed)")
    #expect(judge.trades.last == gateway.lastTrade, "seed \(seed)")
    #expect(judge.book == gateway.text, "seed \(seed)")
    #expect(judge.problems == [], "seed \(seed)")
  }

  private mutating func step() throws {
    let fault = hasFaults ? Int.random(in: 0..<60, using: &random) : 60
    switch fault {
    case 0: try close(nil)
    case 1: try close([4108, 4202, 1006, 4129].randomElement(using: &random)!)
    case 2: isHalfOpen = gateway.isConnected
    case 3:
      gateway.restart()
      try close(4201, isGatewayGone: true)
    case 4:
      try say([#"{"type":"notice","code":"drain","reconnect_in_ms":700,"deadline":1}"#], mayDrop: false)
    case 5: try say(gateway.lose(Int.random(in: 1...5, using: &random)), mayDrop: false)
    default:
      if Bool.random(using: &random) {
        try say(gateway.trade(), mayDrop: hasFaults)
      } else {
        let price = Int.random(in: 1...9, using: &random)
        try say(gateway.change(price: price, size: Int.random(in: 0...3, using: &random)), mayDrop: hasFaults)
      }
    }
  }

  private mutating func close(_ code: UInt16?, isGatewayGone: Bool = false) throws {
    gateway.disconnect()
    guard !isHalfOpen else { return }
    try follow(client.closed(code, "by the script"))
  }

  /// Messages on their way; one in twenty does not arrive.
  private mutating func say(_ messages: [String], mayDrop: Bool) throws {
    guard gateway.isConnected else { return }
    for message in messages where !isHalfOpen && !(mayDrop && random.next() % 20 == 0) {
      try follow(client.receive(message))
      if !gateway.isConnected { return }
    }
  }

  /// Does what the client wants.
  private mutating func follow(_ step: CoreHarness.Step) throws {
    for event in step.events {
      switch event {
      case .value(.trades(let trades), _): for trade in trades { judge.take(trade: Int(trade.id)!) }
      case .value(.book(let book), _): judge.take(book: Self.text(book), among: gateway.states)
      case .gap: judge.gap()
      case .stale(let info, _): if info.channel == .book { judge.stale() }
      case .value, .resumed, .refused, .dropped: break
      }
    }
    for action in step.actions {
      switch action {
      case .connect:
        gateway.disconnect()
        isHalfOpen = false
        switch hasFaults && mayRefuse ? Int.random(in: 0..<6, using: &random) : 9 {
        case 0:
          let wait = Duration.milliseconds(Int.random(in: 0...900, using: &random))
          let refused = client.act {
            $0.refused(status: 503, retryAfter: wait, reason: "full", now: $1, into: &$2)
          }
          try follow(refused)
        case 1: try follow(client.closed(nil, "no route"))
        default:
          gateway.connect()
          try follow(client.opened())
        }
      case .send(let text):
        guard gateway.isConnected, !isHalfOpen else { continue }
        for reply in try gateway.answer(text) { try follow(client.receive(reply)) }
      case .close:
        gateway.disconnect()
        isHalfOpen = false
      case .refreshToken, .wake: break
      }
    }
  }
}
