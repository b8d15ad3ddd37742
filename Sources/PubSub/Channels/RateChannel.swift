import Bytes
import MarketData

/// `rate`: what one asset is in another. Every message is whole.
enum RateChannel: Channel {
  /// A conversion may use any market. A table of conversions is made at most four times a second.
  static let facts = ChannelFacts(
    source: .documents, names: .rates, needsAllSymbols: true, rate: .requested(usual: 1000, fastest: 250))
  static let data = WireDescription.ChannelData(["base", "quote", "state"])

  /// `{"base":"ZEC","quote":"USD","rate":"48","path":["kraken:ZEC-BTC",…],"state":"live","age_ms":120}`
  static func rate(_ conversion: Conversion, _ name: RateName, _ source: DataSource) -> StreamDocument {
    var out = begin(name)
    QuoteAnswer.append(conversion.rate, "rate", to: &out)
    out.append(",\"path\":[")
    for (index, symbol) in conversion.path.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: symbol)
    }
    out.append("],\"state\":\"live\"")
    source.append(to: &out)
    var document = StreamDocument(head: String(decoding: out.takeBytes(), as: UTF8.self), tail: "}")
    document.oldest = conversion.oldest
    return document
  }

  /// `{"base":"ZEC","quote":"USD","state":"unavailable","reason":"no live market has the asset ZEC"}`
  static func unavailable(_ name: RateName, _ reason: String) -> StreamDocument {
    var out = begin(name)
    out.append(",\"state\":\"unavailable\",\"reason\":")
    out.append(json: reason)
    return StreamDocument(head: String(decoding: out.takeBytes(), as: UTF8.self), tail: "}")
  }

  private static func begin(_ name: RateName) -> ByteBuffer {
    var out = ByteBuffer(capacity: 192)
    out.append("{\"base\":")
    out.append(json: name.base)
    out.append(",\"quote\":")
    out.append(json: name.quote)
    return out
  }
}
