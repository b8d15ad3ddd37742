import Bytes

/// Reads a captured session of `tidegate.v1.bin`, a message a line: text messages as they are, binary messages as
/// hexadecimal digits.
package struct CapturedSession {
  /// The most streams that are remembered; of the others, records are skipped.
  private static let streamLimit = StreamTable.limit

  private var streams: [Int64: BinaryStream] = [:]

  package init() {}

  /// The message of a line as JSON. A record that is not known is `{"type":"skipped","stream":7}`.
  /// - Throws: `BinaryError`, or what is wrong with the JSON.
  package mutating func read(_ line: some StringProtocol) throws -> String {
    guard line.utf8.first != UInt8(ascii: "{") else {
      for accepted in try ServerMessage(parsing: Array(line.utf8)).accepted { learn(accepted) }
      return String(line)
    }
    let record = try BinaryDecoder.decode(try Self.bytes(line)) { streams[$0] }
    if let scale = record.scale { streams[record.stream] = scale }
    guard let text = record.text else { return "{\"type\":\"skipped\",\"stream\":\(record.stream)}" }
    return String(decoding: text, as: UTF8.self)
  }

  private mutating func learn(_ accepted: ServerMessage.Accepted) {
    guard streams.count < Self.streamLimit || streams[accepted.stream] != nil else { return }
    streams[accepted.stream] = BinaryStream(accepted)
  }

  private static func bytes(_ line: some StringProtocol) throws(BinaryError) -> [UInt8] {
    var bytes: [UInt8] = []
    var high: UInt8?
    for (offset, character) in line.utf8.enumerated() {
      let digit: UInt8
      switch character {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = character - UInt8(ascii: "A") + 10
      default: throw BinaryError(reason: "neither JSON nor hexadecimal digits", offset: offset)
      }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    if high != nil { throw BinaryError(reason: "half a byte", offset: line.utf8.count) }
    return bytes
  }
}

extension ServerMessage {
  /// The streams that the message describes.
  fileprivate var accepted: [Accepted] {
    switch self {
    case .welcome(_, _, let ok, _), .subscribed(_, let ok, _): ok
    case .moved(_, let streams, _): streams
    default: []
    }
  }
}
