import Bytes
import MarketData

/// `quote`: the best bid and ask. A side without orders is absent.
enum QuoteChannel {
  /// `{"state":"syncing","reason":"sequence gap","time":…}`: the book from which the quote is derived is out of sync.
  static func appendSyncing(_ reason: String, time: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"state\":\"syncing\",\"reason\":")
    out.append(json: reason)
    out.append(",\"time\":")
    out.append(integer: time.microseconds)
    out.append(UInt8(ascii: "}"))
  }

  /// `{"bid":"…","bid_size":"…","ask":"…","ask_size":"…","time":…}`
  static func append(_ quote: Quote, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "{"))
    if quote.bidSize != 0 {
      out.append("\"bid\":\"")
      out.append(decimal: quote.bid, scale: instrument.priceScale)
      out.append("\",\"bid_size\":\"")
      out.append(decimal: quote.bidSize, scale: instrument.sizeScale)
      out.append("\",")
    }
    if quote.askSize != 0 {
      out.append("\"ask\":\"")
      out.append(decimal: quote.ask, scale: instrument.priceScale)
      out.append("\",\"ask_size\":\"")
      out.append(decimal: quote.askSize, scale: instrument.sizeScale)
      out.append("\",")
    }
    out.append("\"time\":")
    out.append(integer: quote.time.microseconds)
    out.append(UInt8(ascii: "}"))
  }
}
