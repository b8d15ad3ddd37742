import Bytes
import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing
import TidegateClient

@testable import PubSub

@Suite("The binary encoding, read as clients read it")
struct BinaryEncodingTests {
  static let channels = ChannelName.allCases.filter { $0.facts.binary != nil }
  static let items = [
    #"{"channel":"trades","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"trades","symbols":["kraken:BTC-USD"],"interval_ms":1000}"#,
    #"{"channel":"quote","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"quote","symbols":["kraken:*"],"interval_ms":250}"#,
    #"{"channel":"ticker","symbols":["kraken:BTC-USD"],"interval_ms":0}"#,
    #"{"channel":"pulse","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"book","symbols":["kraken:BTC-USD"]}"#,
    #"{"channel":"book","symbols":["kraken:BTC-USD"],"depth":10,"interval_ms":100}"#,
    #"{"channel":"book","symbols":["kraken:BTC-USD"],"depth":"full"}"#,
    #"{"channel":"sparkline","symbols":["kraken:BTC-USD"],"points":8,"interval_ms":0}"#,
    #"{"channel":"sparkline","symbols":["kraken:BTC-USD"],"range":"1h","points":20}"#,
    #"{"channel":"candles","symbols":["kraken:BTC-USD"],"interval_ms":0}"#,
    #"{"channel":"candles","symbols":["kraken:BTC-USD"],"interval":"5m"}"#,
    #"{"channel":"status"}"#,
  ]
  static let groupChannels = ChannelName.allCases.filter(\.facts.hasGroups).map(\.rawValue)
  static let groupItems = groupChannels.flatMap { channel in
    [0, 100, 1_000].map { interval in
      #"{"channel":"\#(channel)","symbols":["kraken:*"],"group":true,"interval_ms":\#(interval)"#
        + (channel == "book" ? #","depth":10}"# : channel == "sparkline" ? #","points":8}"# : "}")
    }
  }
  static let compositeItems = [
    #"{"channel":"quote","symbols":["composite:BTC-USD"]}"#,
    #"{"channel":"ticker","symbols":["composite:BTC-USD"]}"#,
    #"{"channel":"pulse","symbols":["composite:BTC-USD"]}"#,
    #"{"channel":"book","symbols":["composite:BTC-USD"],"depth":10}"#,
    #"{"channel":"book","symbols":["composite:BTC-USD"],"depth":"full"}"#,
    #"{"channel":"sparkline","symbols":["composite:BTC-USD"],"points":8}"#,
    #"{"channel":"candles","symbols":["composite:BTC-USD"]}"#,
  ]

  static func request(_ items: [String]) -> String {
    #"{"op":"subscribe","id":7,"streams":[\#(items.joined(separator: ","))]}"#
  }

  /// The messages of each subscription in order, without the numbers of the streams and of the epoch, in which two
  /// clients with different encodings differ.
  private func messages(of client: ModelClient) -> [String: [String]] {
    var names: [Int: String] = [:]
    var result: [String: [String]] = [:]
    for text in client.texts {
      let object = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
      if object["type"] as? String == "subscribed" {
        for (index, item) in (object["ok"] as? [[String: Any]] ?? []).enumerated() {
          names[item["stream"] as? Int ?? 0] = "\(index)"
        }
      }
      guard let stream = object["stream"] as? Int, let name = names[stream] else { continue }
      result[name, default: []].append(text.replacingOccurrences(of: "\"stream\":\(stream),", with: ""))
    }
    return result
  }

  private func compare(_ one: ModelClient, _ other: ModelClient, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(one.faults == [], sourceLocation: sourceLocation)
    #expect(other.faults == [], sourceLocation: sourceLocation)
    let (texts, records) = (messages(of: one), messages(of: other))
    #expect(texts.keys.sorted() == records.keys.sorted(), sourceLocation: sourceLocation)
    for (name, list) in texts {
      let others = records[name] ?? []
      #expect(list.count == others.count, "subscription \(name)", sourceLocation: sourceLocation)
      for (text, record) in zip(list, others) where text != record {
        Issue.record("subscription \(name):\n\(text)\n\(record)", sourceLocation: sourceLocation)
        break
      }
    }
  }

  @Test("every record of a market is the JSON message, byte for byte", arguments: testSeeds(8))
  func market(seed: UInt64) {
    let world = World(instruments: 2)
    let (text, binary) = (world.client(), world.client(isBinary: true))
    for client in [text, binary] { _ = client.ask(Self.request(Self.items)) }
    world.play(steps: 120, seed: seed)
    world.playRareChanges()
    world.play(steps: 30, seed: seed &+ 1)
    compare(text, binary)
    #expect(Set(binary.records.map(\.stream.channel)).count == Self.channels.count)
    #expect(text.records.isEmpty)
    #expect(binary.texts.contains { $0.contains("\"channel\":\"status\"") && $0.contains("\"type\":\"snapshot\"") })
  }

  @Test("every record of a group is the JSON message, byte for byte", arguments: testSeeds(8))
  func groups(seed: UInt64) {
    let world = World(instruments: 3)
    let (text, binary) = (world.client(), world.client(isBinary: true))
    for client in [text, binary] { _ = client.ask(Self.request(Self.groupItems)) }
    for round in 0..<6 as Range<Int64> {
      world.play(steps: 20, seed: seed &+ UInt64(round))
      for instrument in 1...2 {
        world.apply {
          $0.events.append(
            .quote(
              Quote(
                instrument: InstrumentID(instrument), bid: 100 + round, bidSize: 5, ask: 110, askSize: 6,
                time: world.now)))
        }
      }
    }
    world.playRareChanges()
    let (late, lateBinary) = (world.client(), world.client(isBinary: true))
    for client in [late, lateBinary] { _ = client.ask(Self.request(Self.groupItems)) }
    world.play(steps: 30, seed: seed &+ 1)
    world.run(milliseconds: 1_000)
    compare(text, binary)
    compare(late, lateBinary)
    #expect(binary.texts.of("update").count == binary.records.count { !$0.text.contains("\"type\":\"snapshot\"") })
    #expect(Set(binary.records.map(\.stream.channel)) == Set(Self.groupChannels))
    // Elements with a time or digits of their own, and whole ones.
    #expect(binary.records.contains { $0.text.contains("\"snapshot\":true") })
  }

  @Test("composite markets: books, lines and candles are records, documents are text")
  func composites() {
    let world = World(loops: 2)
    let composites = CompositeWorld(world)
    let (text, binary) = (world.client(on: 1), world.client(on: 1, isBinary: true))
    for client in [text, binary] { _ = client.ask(Self.request(Self.compositeItems)) }
    for round in 0..<12 as Range<UInt64> {
      world.play(steps: 12, seed: 100 + round, loops: 0...1)
      composites.tick()
    }
    compare(text, binary)
    #expect(Set(binary.records.map(\.stream.channel)) == ["book", "sparkline", "candles"])
    #expect(binary.records.contains { $0.text.contains("\"venues\":[") })
  }

  @Test("random values of every size, in every channel", arguments: testSeeds(4))
  func values(seed: UInt64) throws {
    var seeds = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let seed = seeds.next()
      var data = RandomData(seed: seed)
      for channel in Self.channels {
        let message = data.message(channel)
        let record = try BinaryDecoder.decode(message.bytes) { _ in
          BinaryStream(
            channel: channel.rawValue, symbol: RandomData.symbol, base: message.stream.base,
            priceDigits: message.stream.priceDigits, sizeDigits: message.stream.sizeDigits)
        }
        let text = record.text.map { String(decoding: $0, as: UTF8.self) }
        #expect(text == message.text, "seed \(seed)")
        if text != message.text { return }
      }
    }
  }

  @Test("a client that returns gets the records that it missed, and one that changes the encoding gets snapshots")
  func resume() {
    let world = World()
    let client = world.client(isBinary: true)
    _ = client.ask(Self.request([#"{"channel":"trades","symbols":["kraken:BTC-USD"]}"#]))
    world.trade(id: 1, price: 641_230)
    world.settle()
    let keeper = world.client(isBinary: true)
    _ = keeper.ask(Self.request([#"{"channel":"trades","symbols":["kraken:BTC-USD"]}"#]))
    client.leave()
    world.trade(id: 2, price: 641_240)
    world.settle()
    let back = client.comeBack()
    #expect(back.texts[0].contains("\"recovered\":true"))
    #expect(back.records.map(\.text).filter { $0.contains("\"id\":\"2\"") }.count == 1)
    #expect(back.faults == [])
    back.leave()
    let other = ModelClient(world: world, loop: 0, id: world.client().id)
    other.streams = back.streams
    let text = other.comeBack()
    #expect(text.texts[0].contains("\"recovered\":false"))
    #expect(text.texts.of("snapshot").count == 1)
    #expect(text.faults == [])
  }

  @Test("a reply says what the records are relative to, and only of streams that are binary")
  func reply() {
    let world = World()
    let client = world.client(isBinary: true)
    let reply = client.ask(
      Self.request([#"{"channel":"quote","symbols":["kraken:BTC-USD"]}"#, #"{"channel":"status"}"#]))
    #expect(
      reply[0].contains(
        ",\"encoding\":\"binary\",\"base\":\(world.now.microseconds),\"price_digits\":1,\"size_digits\":8}"))
    #expect(reply[0].components(separatedBy: "\"encoding\"").count == 2)
    let list = client.ask(#"{"op":"list","id":8}"#)
    #expect(list[0].contains("\"encoding\":\"binary\""))
    let moved = client.ask(#"{"op":"configure","id":9,"interval_ms":250}"#)
    #expect(moved[0].contains("\"encoding\":\"binary\""))
    let text = world.client().ask(Self.request([#"{"channel":"quote","symbols":["kraken:BTC-USD"]}"#]))
    #expect(!text[0].contains("encoding"))
  }
}
