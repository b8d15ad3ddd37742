import Bytes
import MarketData

/// An event of Bitfinex: `{"event":…}` with what belongs to its kind.
struct BitfinexEvent {
  var name = ""
  var channel = ""
  var symbol = ""
  var message = ""
  var status = ""
  /// `prec` of a book.
  var precision = ""
  /// `chanId`; 0 if there is none.
  var number: Int64 = 0
  var code: Int64 = 0
  /// `platform.status`: whether the venue works, or is in maintenance.
  var isWorking: Bool?

  init(_ reader: inout FieldReader) throws(FeedError) {
    try reader.objectStart()
    while let key = try reader.nextKey() {
      let kind = reader.peek()
      if reader.equals(key, "event"), kind == .string {
        name = try reader.decodedString("event")
      } else if reader.equals(key, "channel"), kind == .string {
        channel = try reader.decodedString("channel")
      } else if reader.equals(key, "symbol"), kind == .string {
        symbol = try reader.decodedString("symbol")
      } else if reader.equals(key, "msg"), kind == .string {
        message = try reader.decodedString("msg")
      } else if reader.equals(key, "status"), kind == .string {
        status = try reader.decodedString("status")
      } else if reader.equals(key, "prec"), kind == .string {
        precision = try reader.decodedString("prec")
      } else if reader.equals(key, "chanId"), kind == .number || kind == .string {
        number = try reader.int64("chanId")
      } else if reader.equals(key, "code"), kind == .number || kind == .string {
        code = try reader.int64("code")
      } else if reader.equals(key, "platform"), kind == .object {
        isWorking = try Self.readPlatform(&reader)
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard !name.isEmpty else { throw FeedError.missing("event", in: "message") }
  }

  private static func readPlatform(_ reader: inout FieldReader) throws(FeedError) -> Bool? {
    var isWorking: Bool?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "status"), reader.peek() == .number {
        isWorking = try reader.int64("platform.status") != 0
      } else {
        try reader.skipValue()
      }
    }
    return isWorking
  }
}
