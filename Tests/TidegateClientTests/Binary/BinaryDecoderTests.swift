import Foundation
import Testing

@testable import TidegateClient

@Suite("Binary messages of a gateway")
struct BinaryDecoderTests {
  private struct Vector: Decodable {
    struct Stream: Decodable {
      var stream: Int64
      var channel: String
      var symbol: String?
      var symbols: [String]?
      var base: Int64
      var price_digits: Digits
      var size_digits: Digits

      var binary: BinaryStream {
        let members = (symbols ?? []).enumerated().map { index, symbol in
          BinaryStream.Member(
            symbol: symbol, priceDigits: price_digits.list[index], sizeDigits: size_digits.list[index])
        }
        return BinaryStream(
          channel: channel, symbol: symbol ?? "", base: base, priceDigits: members.isEmpty ? price_digits.list[0] : 0,
          sizeDigits: members.isEmpty ? size_digits.list[0] : 0, members: members)
      }
    }
    /// A number, or a list of them.
    struct Digits: Decodable {
      let list: [UInt8]

      init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        list = try (try? value.decode([UInt8].self)) ?? [value.decode(UInt8.self)]
      }
    }
    var hex: String
    var streams: [Stream]
    var error: Bool?

    var bytes: [UInt8] {
      let digits = Array(hex.utf8)
      return stride(from: 0, to: digits.count, by: 2).map { index in
        UInt8(String(decoding: digits[index..<(index + 2)], as: UTF8.self), radix: 16)!
      }
    }

    var known: [Int64: BinaryStream] {
      Dictionary(uniqueKeysWithValues: streams.map { ($0.stream, $0.binary) })
    }
  }

  /// The lines of the file, and what each says.
  private static func vectors() throws -> [(line: String, vector: Vector)] {
    let file = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Vectors/binary.jsonl")
    return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
      (String(line), try JSONDecoder().decode(Vector.self, from: Data(line.utf8)))
    }
  }

  private static func texts(_ vector: Vector) throws -> [String] {
    let record = try BinaryDecoder.decode(vector.bytes) { vector.known[$0] }
    return record.text.map { [String(decoding: $0, as: UTF8.self)] } ?? []
  }

  @Test("every test vector becomes the gateway's JSON, byte for byte, or is refused")
  func vectors() throws {
    let vectors = try Self.vectors()
    #expect(vectors.count > 50)
    for (line, vector) in vectors {
      if vector.error == true {
        #expect(throws: BinaryError.self, "\(vector.hex)") { try Self.texts(vector) }
      } else {
        let texts = try Self.texts(vector)
        #expect(line.hasSuffix(",\"messages\":[\(texts.joined(separator: ","))]}"), "\(line)\n\(texts)")
      }
    }
  }

  // MARK: The client

  /// Stream 1 is binary, with one digit of prices and none of sizes.
  private static let item =
    CoreHarness.item("quote").dropLast()
    + #","encoding":"binary","base":0,"price_digits":1,"size_digits":0}"#
  /// An update of stream 1: seq 11 after 10, at 4 µs; a bid of 1.5 for 2, no ask.
  private static let update: [UInt8] = [0x42, 0x01, 0x0B, 0x04, 0x02, 0x1E, 0x00, 0x00]
  /// A snapshot of stream 1 with two digits of prices: seq 12, at 4 µs; a bid of 1.50 for 2.
  private static let snapshot: [UInt8] = [
    0x22, 0x01, 0x0C, 0x02, 0x00, 0x02, 0x00, 0x04, 0x02, 0xAC, 0x02, 0x00, 0x00,
  ]

  private func live() -> CoreHarness {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    _ = it.welcome()
    _ = it.receive(CoreHarness.subscribed(id: 3, String(Self.item)))
    return it
  }

  private func receive(_ message: [UInt8], _ it: inout CoreHarness) -> CoreHarness.Step {
    it.act { $0.receive(binary: message, now: $1, into: &$2) }
  }

  @Test("a record has the value of the JSON message; a snapshot says with how many digits updates go on")
  func values() {
    var (binary, text) = (live(), CoreHarness())
    text.live()
    let data = #"{"bid":"1.5","bid_size":"2","time":4}"#
    let expected = text.receive(CoreHarness.message("update", "quote", data, prev: 10, seq: 11)).values
    #expect(expected.count == 1)
    #expect(receive(Self.update, &binary).values == expected)
    let after = text.receive(
      CoreHarness.message("snapshot", "quote", #"{"bid":"1.50","bid_size":"2","time":4}"#, seq: 12))
    #expect(receive(Self.snapshot, &binary).values == after.values)
    // 15 of two digits.
    var next = Self.update
    next[2] = 0x0D
    let small = text.receive(
      CoreHarness.message("update", "quote", #"{"bid":"0.15","bid_size":"2","time":4}"#, prev: 12, seq: 13))
    #expect(receive(next, &binary).values == small.values)
  }

  @Test("a heartbeat counts records, also those of a stream that the client has left")
  func counts() {
    var it = live()
    _ = receive(Self.snapshot, &it)
    _ = receive([0x42, 0x05, 0x01], &it)
    let beat = it.receive(#"{"type":"heartbeat","time":1,"sent":2,"feeds":{}}"#)
    #expect(beat.sent.isEmpty)
    #expect(it.receive(#"{"type":"heartbeat","time":1,"sent":3,"feeds":{}}"#).sent.count == 2)
  }

  @Test("a record that is not valid ends the connection")
  func violation() {
    var it = live()
    let step = receive([0x42, 0x01], &it)
    #expect(step.actions.first == .close(code: 1007, reason: "not tidegate.v1"))
    // Nothing more is taken of this connection.
    #expect(receive(Self.snapshot, &it).values.isEmpty)
  }

  @Test("a stream that is not of this connection any more is skipped")
  func forgotten() {
    var it = live()
    _ = it.closed(1001)
    _ = it.passToDeadline()
    _ = it.opened()
    #expect(receive(Self.snapshot, &it).events.isEmpty)
  }

  @Test("a captured session is read with what its replies say of the streams")
  func capture() throws {
    var session = CapturedSession()
    #expect(try session.read("42010b04021e0000") == #"{"type":"skipped","stream":1}"#)
    let reply = CoreHarness.subscribed(id: 3, String(Self.item))
    #expect(try session.read(reply) == reply)
    let text = try session.read("42010B04021e0000")
    #expect(text.contains(#""data":{"bid":"1.5","bid_size":"2","time":4}"#))
    #expect(throws: BinaryError(reason: "half a byte", offset: 3)) { try session.read("084") }
    #expect(throws: BinaryError(reason: "neither JSON nor hexadecimal digits", offset: 1)) { try session.read("0x") }
  }
}
