import Bytes
import MarketData

/// An event of Bitfinex: `{"event":…}` with what belongs to its kind; empty or 0 for what it has not.
struct BitfinexEvent {
  let name: String
  let channel: String
  let symbol: String
  let message: String
  let status: String
  /// `prec` of a book.
  let precision: String
  /// `chanId`
  let number: Int64
  let code: Int64
  /// `platform.status`: whether the venue works, or is in maintenance.
  let isWorking: Bool?

  init(_ reader: inout FieldReader) throws(FeedError) {
    let event = try FieldObject(&reader, "event")
    try reader.end()
    name = try event.name("event")
    channel = event.text("channel") ?? ""
    symbol = event.text("symbol") ?? ""
    message = event.text("msg") ?? ""
    status = event.text("status") ?? ""
    precision = event.text("prec") ?? ""
    number = event.integer("chanId") ?? 0
    code = event.integer("code") ?? 0
    isWorking = try event.object("platform")?.integer("status").map { $0 != 0 }
  }
}
