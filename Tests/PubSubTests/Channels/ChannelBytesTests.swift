import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import PubSub

/// Holds what clients receive byte for byte: a scripted market on every channel, in several rate classes.
///
/// A digest that differs means that the wire changed. If that is intended, write the new digests down; the test prints
/// them with the first messages of each channel.
@Suite("The bytes of every channel")
struct ChannelBytesTests {
  private static let items = [
    #"{"channel":"trades","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"trades","symbols":["kraken:BTC-USD"],"interval_ms":1000}"#,
    #"{"channel":"quote","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"quote","symbols":["kraken:*"],"interval_ms":250}"#,
    #"{"channel":"ticker","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"ticker","symbols":["kraken:BTC-USD"],"interval_ms":0}"#,
    #"{"channel":"pulse","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"pulse","symbols":["kraken:BTC-USD"],"interval_ms":1000}"#,
    #"{"channel":"book","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"book","symbols":["kraken:BTC-USD"],"depth":10,"interval_ms":100}"#,
    #"{"channel":"book","symbols":["kraken:BTC-USD"],"depth":"full"}"#,
    #"{"channel":"book","symbols":["kraken:BTC-USD"],"depth":"full","interval_ms":1000}"#,
    #"{"channel":"sparkline","symbols":["kraken:BTC-USD"],"points":8,"interval_ms":0}"#,
    #"{"channel":"sparkline","symbols":["kraken:BTC-USD"],"range":"1h","points":20}"#,
    #"{"channel":"candles","symbols":["kraken:BTC-USD"],"interval_ms":0}"#,
    #"{"channel":"candles","symbols":["kraken:BTC-USD"],"interval":"5m"}"#,
    #"{"channel":"status"}"#,
  ]
  private static let documentItems = [
    #"{"channel":"alerts"}"#,
    #"{"channel":"topic","symbols":["desk.news"],"last":2}"#,
    #"{"channel":"rate","symbols":["ZEC-USD"],"interval_ms":0}"#,
    #"{"channel":"portfolio","currency":"USD","holdings":[{"asset":"BTC","quantity":"0.5"}]}"#,
    #"{"channel":"deck","symbols":["morning"],"zone":"Europe/Berlin"}"#,
  ]
  private static let compositeItems = [
    #"{"channel":"quote","symbols":["composite:BTC-USD"]}"#,
    #"{"channel":"ticker","symbols":["composite:BTC-USD"]}"#,
    #"{"channel":"pulse","symbols":["composite:BTC-USD"]}"#,
    #"{"channel":"book","symbols":["composite:BTC-USD"],"depth":10}"#,
    #"{"channel":"book","symbols":["composite:BTC-USD"],"depth":"full"}"#,
    #"{"channel":"sparkline","symbols":["composite:BTC-USD"],"points":8}"#,
    #"{"channel":"candles","symbols":["composite:BTC-USD"]}"#,
  ]

  private static func request(_ items: [String]) -> String {
    #"{"op":"subscribe","id":7,"streams":[\#(items.joined(separator: ","))]}"#
  }

  /// The channel of a message of a stream; `reply` for the others.
  private static func channel(_ text: String) -> String {
    guard text.hasPrefix(#"{"type":"snapshot""#) || text.hasPrefix(#"{"type":"update""#) else { return "reply" }
    let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let symbol = object?["symbol"] as? String ?? ""
    return "\(symbol.hasPrefix("composite") ? "composite " : "")\(object?["channel"] ?? "")"
  }

  /// By channel: the number of messages, and FNV-1a (64 bits) over those of each stream one after the other.
  private static func digests(of clients: [ModelClient]) -> [String: String] {
    var texts: [String: [Int: [String]]] = [:]
    for text in clients.flatMap(\.texts) {
      let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
      let name = channel(text)
      texts[name, default: [:]][name == "reply" ? 0 : object?["stream"] as? Int ?? 0, default: []].append(text)
    }
    return texts.mapValues { streams in
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      for (_, list) in streams.sorted(by: { $0.key < $1.key }) {
        for byte in list.joined(separator: "\n").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      }
      return "\(streams.values.reduce(0) { $0 + $1.count }) \(String(hash, radix: 16))"
    }
  }

  /// The same over all messages of a client in their order.
  private static func order(of client: ModelClient) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in client.texts.joined(separator: "\n").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return "\(client.texts.count) \(String(hash, radix: 16))"
  }

  private func expect(_ clients: [ModelClient], _ expected: [String: String]) {
    let digests = Self.digests(of: clients)
    guard digests != expected else { return }
    let list = digests.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \"\($0.value)\"," }
    let examples = digests.keys.sorted().flatMap { name in
      clients.flatMap(\.texts).filter { Self.channel($0) == name }.prefix(2).map { $0.prefix(400) }
    }
    Issue.record("\(list.joined(separator: "\n"))\n\(examples.joined(separator: "\n"))")
  }

  /// A client that may see one venue only, then two states of a feed that differ, and one that is older.
  private func publishStatus(_ world: World) {
    let part = world.client()
    var grant = Grant.everything
    grant.symbols = SymbolRules(["coinbase:*"]).map { [$0] } ?? []
    part.authorize(grant)
    _ = part.ask(Self.request([#"{"channel":"status"}"#]))
    for state in [FeedState.live, .reconnecting, .reconnecting] {
      var feeds = ["kraken", "coinbase"].map { FeedStatus(venue: $0, state: state, since: world.now) }
      if state == .reconnecting { feeds[0].lastMessage = world.now }
      var out: [Delivery] = []
      world.publishers[0].publish(status: feeds, now: world.now, into: &out)
      world.post(out)
      world.settle()
      world.run(milliseconds: 300)
    }
  }

  @Test("of a market: trades, prices, figures, lines, candles, books that are lost and found, and the feeds")
  func market() {
    let world = World(instruments: 2)
    let early = world.client()
    _ = early.ask(Self.request(Self.items))
    world.play(steps: 400, seed: 7)
    #expect(Self.order(of: early) == Self.marketOrder)
    let late = world.client()
    _ = late.ask(Self.request(Self.items))
    world.play(steps: 100, seed: 8)
    _ = late.ask(#"{"op":"configure","id":8,"interval_ms":1000}"#)
    world.playRareChanges()
    publishStatus(world)
    let last = world.client()
    _ = last.ask(Self.request(Self.items))
    #expect(world.clients.flatMap(\.faults) == [])
    expect(world.clients, Self.marketDigests)
  }

  @Test("of composite markets")
  func composites() {
    let world = World(loops: 2)
    let composites = CompositeWorld(world)
    let client = world.client(on: 1)
    _ = client.ask(Self.request(Self.compositeItems))
    for round in 0..<20 as Range<UInt64> {
      world.play(steps: 12, seed: 100 + round, loops: 0...1)
      composites.tick()
    }
    let late = world.client()
    _ = late.ask(Self.request(Self.compositeItems))
    composites.tick()
    #expect(world.clients.flatMap(\.faults) == [])
    expect(world.clients, Self.compositeDigests)
  }

  @Test("of documents: alerts, topics, rates, portfolios and decks")
  func documents() {
    let world = World()
    world.hubs[0].resolver.refuseDeck = { _, _ in nil }
    let publisher = world.publishers[0]
    let client = world.client()
    _ = client.ask(Self.request(Self.documentItems))
    var names: [StreamDocumentName] = []
    for case .wanted(let name) in publisher.takeDocumentDemands() { names.append(name) }
    #expect(names.map(\.channel) == [.alerts, .topic, .rate, .portfolio, .deck])
    func entry(_ key: UInt64) -> StreamDocument.Entry {
      .init(key: key, text: SharedBytes(Array(#"{"id":\#(key)}"#.utf8)))
    }
    for (index, name) in names.enumerated() {
      var out: [Delivery] = []
      var document = StreamDocument(head: #"{"of":"\#(name.name)","list":["#, tail: "]}", entries: (1...4).map(entry))
      if name.channel == .rate {
        document = StreamDocument(head: #"{"of":"\#(name.name)""#, tail: "}")
        document.oldest = world.now + -Microseconds.second
      }
      publisher.show(document, as: name, now: world.now, into: &out)
      world.post(out)
      world.settle()
      for key in 5...7 as ClosedRange<UInt64> {
        out = []
        var update = StreamDocumentUpdate(data: SharedBytes(Array(#"{"changed":\#(key)}"#.utf8)))
        (update.changed, update.removed, update.events) = ([entry(key)], [key - 3], name.channel == .topic ? 1 : 0)
        publisher.publish(update, to: name, now: world.now, into: &out)
        if index > 1 {
          document.tail = document.oldest == nil ? "],\"round\":\(key)}" : ",\"round\":\(key)}"
          publisher.replace(document, of: name, now: world.now, into: &out)
        }
        world.post(out)
        world.run(milliseconds: 1_000)
      }
    }
    _ = world.client().ask(Self.request(Self.documentItems))
    expect(world.clients, Self.documentDigests)
  }

  private static let marketOrder = "884 43068cae02b8c572"
  private static let marketDigests = [
    "book": "581 a7fd25273779b179",
    "candles": "190 f3dc880be5d05171",
    "pulse": "117 1db91efcf553b7b8",
    "quote": "81 38e34903f53442b8",
    "reply": "15 118c539c20935c39",
    "sparkline": "177 d94c9e407315f917",
    "status": "13 e5c0a3f0c7c89741",
    "ticker": "100 8996b23a0eb834c3",
    "trades": "204 ef9ed1fcdc163b25",
  ]
  private static let compositeDigests = [
    "composite book": "40 64acdcb8b8ac27df",
    "composite candles": "21 962f877d8032c70b",
    "composite pulse": "20 4ac1f6a13b7f0097",
    "composite quote": "12 5af2a9f0e37892ba",
    "composite sparkline": "20 b7d05e645d7bb546",
    "composite ticker": "20 eaa599cf0b639ea1",
    "reply": "28 3f72ba19263f8658",
  ]
  private static let documentDigests = [
    "alerts": "5 416c00718b19927",
    "deck": "8 7980310d5da64c74",
    "portfolio": "8 8d52f5d83a4a1c20",
    "rate": "8 30b40e969b5ad509",
    "reply": "5 75d2a2d27cb988fe",
    "topic": "5 6fea14391e3a478d",
  ]
}
