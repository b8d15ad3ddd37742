import Bytes
import MarketData

/// The bodies of answers about composite markets, from the same encoders as those about a venue's market.
package enum CompositeBody {
  /// `{"symbol":"composite:BTC-USD","state":"live","bids":[…],"asks":[…],"spread":…,"time":…,"venues":[…],"absent":[…]}`;
  /// nil if no member's book is live.
  /// - Parameters:
  ///   - parts: of the members, each with its best `depth` levels.
  ///   - hasVenues: whether each level names its venues.
  package static func book(_ symbol: String, _ parts: [QuotePart], depth: Int, hasVenues: Bool) -> [UInt8]? {
    let quote = CompositeQuote(parts.map(\.market))
    let live = parts.filter { $0.book != nil && quote.venues.contains($0.market.instrument.venue) }
    guard let first = live.first else { return nil }
    let book = CompositeBook(parts.books(of: quote), depth: depth)
    var out = ByteBuffer(capacity: 256 + 64 * (book.bids.count + book.asks.count))
    out.append("{\"symbol\":")
    out.append(json: symbol)
    out.append(quote.isSingle ? ",\"state\":\"single\"" : ",\"state\":\"live\"")
    QuoteAnswer.source(of: live).append(to: &out)
    if hasVenues {
      QuoteAnswer.append(book.bids, "bids", book, hasVenues: true, to: &out)
      QuoteAnswer.append(book.asks, "asks", book, hasVenues: true, to: &out)
      out.append(",\"time\":")
      out.append(integer: book.time.microseconds)
    } else {
      var instrument = first.market.instrument
      instrument.priceScale = book.priceScale
      instrument.sizeScale = book.sizeScale
      func levels(_ levels: [CompositeBook.Level]) -> [PriceLevel] {
        levels.map { PriceLevel(price: $0.price, size: $0.size) }
      }
      out.append(UInt8(ascii: ","))
      BookChannel.appendSnapshot(
        bids: levels(book.bids), asks: levels(book.asks), time: book.time, of: instrument, to: &out)
    }
    QuoteAnswer.appendMembers(of: quote, to: &out)
    out.append("}\n")
    return out.takeBytes()
  }

  /// The fields of a line, each with a comma before it.
  package static func append(_ line: Sparkline, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: ","))
    SparklineChannel.appendSnapshot(line, of: instrument, to: &out)
  }
}

extension Sparkline {
  /// When the line begins, if that is after the beginning of its range.
  package func lateStart(now: Timestamp) -> Timestamp? {
    guard range != .all else { return nil }
    let length = range.bucketLength * Int64(range.bucketCount)
    return now - from + step + range.bucketLength < length ? from : nil
  }
}
