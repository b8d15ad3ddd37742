import Bytes
import Foundation
import TestSupport
import Testing
import TidegateClient

@testable import PubSub

/// The test vectors, which the decoders of all client libraries read. With `TIDEGATE_UPDATE_DOCUMENTS=1`, a test writes
/// them.
@Suite("The test vectors of the binary encoding")
struct BinaryVectorTests {
  private static let file = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Vectors/binary.jsonl")

  /// Vectors of one kind: a channel's snapshots or updates with the same members.
  private static let ofKind = 2

  // MARK: Writing

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// - Parameter messages: nil: a decoder refuses the bytes.
  private static func line(_ bytes: [UInt8], _ stream: BinaryStream, _ messages: [String]?) -> String {
    let members = stream.members
    let symbols = members.map { "\"\($0.symbol)\"" }.joined(separator: ",")
    let (prices, sizes) =
      members.isEmpty
      ? ("\(stream.priceDigits)", "\(stream.sizeDigits)")
      : ("\(members.map(\.priceDigits))", "\(members.map(\.sizeDigits))")
    let name = members.isEmpty ? "\"symbol\":\"\(stream.symbol)\"" : "\"group\":true,\"symbols\":[\(symbols)]"
    let known =
      "{\"stream\":7,\"channel\":\"\(stream.channel)\",\(name),\"base\":\(stream.base),"
      + "\"price_digits\":\(prices),\"size_digits\":\(sizes)}".filter { $0 != " " }
    let end = messages.map { "\"messages\":[\($0.joined(separator: ","))]" } ?? "\"error\":true"
    return "{\"hex\":\"\(hex(bytes))\",\"streams\":[\(known)],\(end)}"
  }

  /// The same as a vector of stream 7, whatever number the stream has.
  private static func renumbered(_ record: (bytes: [UInt8], stream: BinaryStream, text: String)) -> String {
    let object = (try? JSONSerialization.jsonObject(with: Data(record.text.utf8))) as? [String: Any]
    let number = object?["stream"] as? Int ?? 0
    return line(record.bytes, record.stream, [record.text])
      .replacingOccurrences(of: "\"stream\":7,", with: "\"stream\":\(number),")
  }

  private static func kind(_ text: String) -> String {
    let object = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    let data = object["data"] as? [String: Any] ?? [:]
    let trade = (data["trades"] as? [[String: Any]])?.first?.keys.sorted() ?? []
    let elements = Set((data["updates"] as? [[String: Any]] ?? []).map { $0.keys.sorted() }).sorted {
      $0.count < $1.count
    }
    return "\(object["channel"] ?? "") \(object["type"] ?? "") \(data.keys.sorted()) \(trade) \(elements)"
  }

  /// Messages of a scripted market, a few of each kind.
  private static func ofMarkets() -> [String] {
    let world = World(loops: 2)
    let composites = CompositeWorld(world)
    let client = world.client(isBinary: true)
    _ = client.ask(BinaryEncodingTests.request(BinaryEncodingTests.items + BinaryEncodingTests.compositeItems))
    let grouped = world.client(isBinary: true)
    _ = grouped.ask(BinaryEncodingTests.request(BinaryEncodingTests.groupItems))
    for round in 0..<6 as Range<UInt64> {
      world.play(steps: 20, seed: 100 + round, loops: 0...1)
      composites.tick()
    }
    world.playRareChanges()
    composites.tick()
    let late = world.client(isBinary: true)
    _ = late.ask(BinaryEncodingTests.request(BinaryEncodingTests.items))
    world.play(steps: 10, seed: 9)
    var count: [String: Int] = [:]
    return (client.records + late.records + grouped.records).compactMap { record in
      let kind = kind(record.text)
      count[kind, default: 0] += 1
      return count[kind]! <= ofKind && record.bytes.count < 1_500 ? renumbered(record) : nil
    }
  }

  /// Values of every size.
  private static func ofValues() -> [String] {
    (1...12 as ClosedRange<UInt64>).flatMap { seed in
      var data = RandomData(seed: seed)
      return BinaryEncodingTests.channels.map { channel in
        let message = data.message(channel)
        let stream = BinaryStream(
          channel: channel.rawValue, symbol: RandomData.symbol, base: message.stream.base,
          priceDigits: message.stream.priceDigits, sizeDigits: message.stream.sizeDigits)
        return renumbered((message.bytes, stream, message.text))
      }
    }
  }

  /// What a decoder must skip, ignore or refuse, written by hand.
  private static func byHand() -> [String] {
    let pulse = BinaryStream(
      channel: "pulse", symbol: "kraken:BTC-USD", base: 1_790_000_000_000_000, priceDigits: 1, sizeDigits: 8)
    func named(_ channel: String) -> BinaryStream {
      var stream = pulse
      stream.channel = channel
      return stream
    }
    // Stream 7, seq 9 after 8, time 1 µs after the base; no flags, price 10.0, merged 1, time 0.
    let record: [UInt8] = [0x44, 0x07, 0x09, 0x01, 0x00, 0xC8, 0x01, 0x01, 0x00]
    let text =
      "{\"type\":\"update\",\"channel\":\"pulse\",\"symbol\":\"kraken:BTC-USD\",\"stream\":7,\"prev\":8,\"seq\":9,"
      + "\"time\":1790000000000001,\"data\":{\"price\":\"10.0\",\"merged\":1,\"time\":1790000000000001}}"
    let accepted: [([UInt8], BinaryStream, [String])] = [
      (record, pulse, [text]),
      // An unknown stream; an unknown kind; bytes behind the last field; an unknown mark.
      ([0x44, 0x08, 0xFF], pulse, []),
      ([0x5F, 0x07, 0xFF, 0xFF], pulse, []),
      (record + [0xFF, 0xFF], pulse, [text]),
      ([0x44, 0x07, 0x09, 0x01, 0x08, 0xC8, 0x01, 0x01, 0x00, 0x09], pulse, [text]),
    ]
    let refused: [([UInt8], BinaryStream)] = [
      // Empty; shorter than its fields.
      ([], pulse), ([0x44], pulse), (Array(record.dropLast()), pulse), (Array(record.prefix(6)), pulse),
      // A number that is longer than necessary; of more than 64 bits; of more than ten bytes.
      ([0x44, 0x87, 0x00, 0x09, 0x01, 0x00, 0xC8, 0x01, 0x01, 0x00], pulse),
      ([0x44, 0x07] + [UInt8](repeating: 0xFF, count: 9) + [0x02], pulse),
      ([0x44, 0x07] + [UInt8](repeating: 0x80, count: 10) + [0x01], pulse),
      // A record of another channel; an update that follows −1.
      ([0x42] + record.dropFirst(), pulse), ([0x04, 0x07, 0x01, 0x02, 0x00, 0x00], pulse),
      // 2⁴⁰ levels, trades, candles, points, and a text of 2⁴⁰ bytes.
      ([0x43, 0x07, 0x09, 0x01, 0x00, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], named("book")),
      ([0x41, 0x07, 0x09, 0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], named("trades")),
      ([0x46, 0x07, 0x09, 0x01, 0x00, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], named("candles")),
      (
        [0x27, 0x07, 0x09, 0x00, 0x00, 0x01, 0x08, 0x01, 0x00, 0x01, 0x00, 0x00, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20],
        named("sparkline")
      ),
      ([0x44, 0x07, 0x09, 0x01, 0x08, 0x00, 0x01, 0x00, 0x02, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], pulse),
      // Two levels in three bytes.
      ([0x43, 0x07, 0x09, 0x01, 0x00, 0x02, 0x00, 0x01, 0x00], named("book")),
      // 19 digits; an interval and a range that do not exist.
      ([0xC4, 0x07, 0x09, 0x13, 0x08, 0x01, 0x00], pulse),
      ([0x46, 0x07, 0x09, 0x01, 0x06, 0x00], named("candles")),
      ([0x27, 0x07, 0x09, 0x00, 0x00, 0x01, 0x08, 0x01, 0x00, 0x07, 0x00], named("sparkline")),
    ]
    return accepted.map { line($0.0, $0.1, $0.2) } + refused.map { line($0.0, $0.1, nil) } + groupsByHand(pulse)
  }

  /// The same of groups.
  private static func groupsByHand(_ pulse: BinaryStream) -> [String] {
    var group = pulse
    (group.symbol, group.priceDigits, group.sizeDigits) = ("", 0, 0)
    group.members = ["kraken:A1-USD", "kraken:BTC-USD"].enumerated().map { index, symbol in
      BinaryStream.Member(symbol: symbol, priceDigits: UInt8(index), sizeDigits: 8)
    }
    // Stream 7, seq 9 after 8, 2 µs after the base; pulses, which begin 1 µs before; of member 1 the price 10.0, and
    // then 1.00 with digits and 1 µs of its own, whole, with a byte behind the last field.
    let start: [UInt8] = [0x4F, 0x07, 0x09, 0x02, 0x04, 0x02]
    let first: [UInt8] = [0x04, 0x05, 0x00, 0xC8, 0x01, 0x01, 0x00]
    let second: [UInt8] = [0x07, 0x02, 0x00, 0x02, 0x06, 0x00, 0xC8, 0x01, 0x01, 0x00, 0xFF]
    let head =
      "{\"type\":\"update\",\"channel\":\"pulse\",\"group\":true,\"stream\":7,\"prev\":8,\"seq\":9,"
      + "\"time\":1790000000000002,\"data\":{\"updates\":["
    let elements = [
      "{\"i\":1,\"data\":{\"price\":\"10.0\",\"merged\":1,\"time\":1790000000000001}}",
      "{\"i\":1,\"snapshot\":true,\"data\":{\"price\":\"1.00\",\"merged\":1,\"time\":1790000000000002}}",
    ]
    let refused: [[UInt8]] = [
      // Of a third member; more elements than there are, than there can be; data that is too short, or not there.
      start + [0x01, 0x08] + first.dropFirst(), start + [0x02] + first,
      start + [0x80, 0x80, 0x80, 0x80, 0x80, 0x20] + first, start + [0x01, 0x04, 0x04] + first.dropFirst(2),
      start + [0x01, 0x04, 0x09] + first.dropFirst(2),
      start + [0x02, 0x04, 0x04] + first.dropFirst(2) + first,
      // Of another channel, or of one that does not exist; not a group's record.
      [0x4F, 0x07, 0x09, 0x02, 0x02, 0x02, 0x01] + first, [0x4F, 0x07, 0x09, 0x02, 0x0F, 0x02, 0x01] + first,
      [0x44, 0x07, 0x09, 0x01, 0x00, 0xC8, 0x01, 0x01, 0x00],
      // A snapshot of no members, of 2⁴⁰ members.
      [0x2F, 0x07, 0x09, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00],
      [0x2F, 0x07, 0x09, 0x00, 0x00, 0x00, 0x04, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0x00],
    ]
    return [
      line(start + [0x02] + first + second + [0xFF], group, [head + elements.joined(separator: ",") + "]}}"]),
      line(start + [0x00], group, [head + "]}}"]), line(start + [0x01] + first, pulse, nil),
    ] + refused.map { line($0, group, nil) }
  }

  @Test("are what the encoder makes")
  func file() throws {
    let lines = Self.byHand() + Self.ofMarkets() + Self.ofValues()
    let text = lines.joined(separator: "\n") + "\n"
    if environment("TIDEGATE_UPDATE_DOCUMENTS") == "1" {
      try text.write(to: Self.file, atomically: true, encoding: .utf8)
    }
    let present = try String(contentsOf: Self.file, encoding: .utf8)
    #expect(present == text, "run this test with TIDEGATE_UPDATE_DOCUMENTS=1 if the encoding was meant to change")
  }

  // MARK: Reading

  @Test("have every channel, both sides, and what a decoder must refuse")
  func contents() throws {
    let text = try String(contentsOf: Self.file, encoding: .utf8)
    for channel in BinaryEncodingTests.channels {
      for type in ["snapshot", "update"] {
        #expect(text.contains("\"messages\":[{\"type\":\"\(type)\",\"channel\":\"\(channel.rawValue)\""))
      }
    }
    for channel in BinaryEncodingTests.groupChannels {
      for type in ["snapshot", "update"] {
        #expect(text.contains("\"messages\":[{\"type\":\"\(type)\",\"channel\":\"\(channel)\",\"group\":true"))
      }
    }
    for part in [
      "\"lost\"", "\"found\"", "\"gap\":true", "\"state\":\"syncing\"", "\"venues\"", "\"side\":\"buy\"",
      "\"side\":\"sell\"", "\"error\":true", "\"messages\":[]", "\"own\"", "\"direction\":\"down\"",
    ] {
      #expect(text.contains(part), "no \(part)")
    }
  }
}
