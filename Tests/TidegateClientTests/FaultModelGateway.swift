import Foundation
import Testing

/// The gateway's side, simulated: one book, one stream of trades, one topic, sessions, an epoch that ends with a
/// restart.
struct ModelGateway {
  struct Message {
    var seq: Int
    var prev: Int
    var data: String
  }

  private(set) var epoch = 1
  private var session = 0
  private var hasSession = false
  /// By channel.
  private var seq = ["book": 100, "trades": 100, "topic": 100]
  private var kept: [String: [Message]] = ["book": [], "trades": [], "topic": []]
  /// How often the book was moved to another rate.
  private var moves = 0
  private(set) var levels: [Int: Int] = [:]
  /// All states that the book ever had.
  private(set) var states: Set<String> = []
  private(set) var lastTrade = 0
  private(set) var lastDocument = 1
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
    kept = ["book": [], "trades": [], "topic": []]
    seq = ["book": 7, "trades": 7, "topic": 7]
  }

  private func number(_ channel: String) -> Int {
    epoch * 10_000 + (channel == "book" ? 10 + moves * 10 : channel == "trades" ? 1 : 2)
  }

  private func symbol(_ channel: String) -> String { channel == "topic" ? "news" : "kraken:BTC-USD" }

  private func text(_ type: String, _ channel: String, _ message: Message) -> String {
    let link = type == "update" ? #""prev":\#(message.prev),"# : #""reason":"subscribe","#
    return
      #"{"type":"\#(type)","channel":"\#(channel)","symbol":"\#(symbol(channel))","stream":\#(number(channel)),\#(link)"seq":\#(message.seq),"time":1,"data":\#(message.data)}"#
  }

  private func snapshot(_ channel: String) -> String {
    let data: String
    if channel == "book" {
      let bids = levels.map { #"["\#($0.key)","\#($0.value)"]"# }.joined(separator: ",")
      data = #"{"state":"live","bids":[\#(bids)],"asks":[],"time":1}"#
    } else if channel == "topic" {
      data = Self.documents(Array(max(1, lastDocument - 2)..<(lastDocument + 1)))
    } else {
      data = Self.trades(Array(max(1, lastTrade - 4)..<(lastTrade + 1)))
    }
    return text("snapshot", channel, Message(seq: seq[channel]!, prev: 0, data: data))
  }

  private static func trades(_ ids: [Int]) -> String {
    let trades = ids.map { #"{"id":"\#($0)","price":"1","size":"1","side":"buy","time":1}"# }
    return #"{"trades":[\#(trades.joined(separator: ","))]}"#
  }

  private static func documents(_ numbers: [Int]) -> String {
    let documents = numbers.map { #"{"number":\#($0),"time":1,"document":{"n":\#($0)}}"# }
    return #"{"number":\#(numbers.last ?? 0),"documents":[\#(documents.joined(separator: ","))]}"#
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
    return publish("book", #"{"bids":[["\#(price)","\#(size)"]],"asks":[],"time":1}"#)
  }

  mutating func trade() -> [String] {
    lastTrade += 1
    return publish("trades", Self.trades([lastTrade]))
  }

  mutating func write() -> [String] {
    lastDocument += 1
    return publish("topic", Self.documents([lastDocument]))
  }

  /// The book of a slow client goes on at another rate, and so under another number, with a snapshot.
  mutating func slow() -> [String] {
    guard let from = subscribed?["book"] else { return [] }
    moves += 1
    let number = self.number("book")
    subscribed?["book"] = number
    kept["book"] = []
    sent += 1
    let item =
      #"{"stream":\#(number),"from":\#(from),"channel":"book","symbol":"\#(symbol("book"))","epoch":"e\#(epoch)","seq":\#(seq["book"]!)}"#
    return [
      #"{"type":"notice","code":"slow","action":"degraded","interval_ms":1000,"streams":[\#(item)]}"#, snapshot("book"),
    ]
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
      #"{"stream":\#(number(channel)),"channel":"\#(channel)","symbol":"\#(symbol(channel))","epoch":"e\#(epoch)","seq":\#(seq[channel]!),"state":"live"\#(recovered)}"#
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
