import Bytes

@testable import PubSub

extension FuzzTarget {
  /// What a reader of events asks for: a value of `streams` a line, the id of its last event behind `>`, and behind `!`
  /// what it is sent.
  static let events = FuzzTarget(
    "events",
    words: [
      "pulse:", "book:", "trades:", "topic:", "status", "kraken:BTC-USD", "*:ETH-USD", ";depth=", ";interval_ms=",
      ";range=7d", ";interval=1h", "@k7.4.1", "|", ",", "\n>", "\n!", "\"ok\":[", "\"stream\":2", "\"seq\":3",
    ]
  ) { (bytes) throws(FuzzFailure) in
    var (streams, id): ([String], String?) = ([], nil)
    var messages: [[UInt8]] = []
    for line in bytes.lines.prefix(100) where !line.isEmpty {
      switch line[0] {
      case UInt8(ascii: ">"): id = String(decoding: line.dropFirst(), as: UTF8.self)
      case UInt8(ascii: "!"): messages.append(Array(line.dropFirst()))
      default: streams.append(String(decoding: line, as: UTF8.self))
      }
    }
    let request: EventsRequest
    do throws(ProtocolError) {
      request = try EventsRequest(streams: streams, lastEventID: id)
    } catch {
      return try require(!error.message.isEmpty, "refused without a reason")
    }
    for message in request.messages {
      try require(RequestParser.parse(message.span.bytes).error == nil, "a request of its own making is refused")
    }
    var positions = EventPositions(request)
    for message in messages {
      positions.note(message.span.bytes)
      var out = ByteBuffer()
      guard positions.appendID(to: &out) else { continue }
      let id = out.description
      try require(id.utf8.count <= EventPositions.bytesLimit, "an id of \(id.utf8.count) bytes")
      try require(!id.utf8.contains { $0 < 0x20 }, "an id with a control character")
      try require(EventPositions.read(id, digest: request.digest) != nil, "an id that cannot be read back: \(id)")
      try requireTold(message)
    }
  }

  /// An event, read as browsers read it, is the message but for its line ends.
  private static func requireTold(_ message: [UInt8]) throws(FuzzFailure) {
    var out = ByteBuffer()
    message.withUnsafeBytes { EventText.append($0, to: &out) }
    let text = Array(out.description.utf8)
    try require(text.suffix(2).elementsEqual("\n\n".utf8), "an event that does not end")
    for line in text.dropLast(2).split(separator: 10, omittingEmptySubsequences: false) {
      try require(line.starts(with: "data: ".utf8), "a line that is no data")
    }
  }
}
