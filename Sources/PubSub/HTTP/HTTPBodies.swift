import Bytes
import MarketData

/// Bodies of HTTP answers that need no market; they are the same as on the stream.
package enum HTTPBodies {
  /// `{"feeds":[…]}`, as on the `status` channel.
  package static func status(_ feeds: [FeedStatus], now: Timestamp, into out: inout ByteBuffer) {
    StatusChannel.append(feeds, now: now, to: &out)
  }

  /// `,"bids":[…],"asks":[…],…,"time":…`, best levels first.
  /// - Parameter depth: levels a side; 0: all.
  package static func appendBook(of state: InstrumentState, depth: Int, to out: inout ByteBuffer) {
    var bids: [PriceLevel] = []
    var asks: [PriceLevel] = []
    BookView.top(depth, of: state.book.bids, into: &bids)
    BookView.top(depth, of: state.book.asks, into: &asks)
    out.append(UInt8(ascii: ","))
    BookChannel.appendSnapshot(bids: bids, asks: asks, time: state.bookTime, of: state.instrument, to: &out)
  }

  /// `,"trades":[…]`, in the order given.
  package static func append(_ trades: ArraySlice<Trade>, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append(",\"trades\":")
    TradesChannel.appendList(trades, of: instrument, to: &out)
  }

  /// `,"funding":[{"time":…,"rate":"0.0001"},…]`, in the order given.
  static func append(_ settlements: ArraySlice<FundingSettlement>, to out: inout ByteBuffer) {
    out.append(",\"funding\":[")
    var isFirst = true
    for settlement in settlements {
      out.append(isFirst ? "{\"time\":" : ",{\"time\":")
      isFirst = false
      out.append(integer: settlement.time.microseconds)
      out.append(",\"rate\":\"")
      out.append(settlement.rate)
      out.append("\"}")
    }
    out.append(UInt8(ascii: "]"))
  }

  /// An instrument; `feed` is its venue's, or nil before the first.
  /// - Parameter name: the name of its base asset.
  package static func append(
    _ entry: DirectoryEntry, name: String?, feed: FeedStatus?, to out: inout ByteBuffer
  ) {
    let instrument = entry.instrument
    out.append("{\"symbol\":")
    out.append(json: instrument.symbol)
    out.append(",\"venue\":")
    out.append(json: instrument.venue)
    out.append(",\"venue_symbol\":")
    out.append(json: instrument.venueSymbol)
    out.append(",\"base\":")
    out.append(json: instrument.base)
    out.append(",\"quote\":")
    out.append(json: instrument.quote)
    if let name {
      out.append(",\"name\":")
      out.append(json: name)
    }
    if instrument.kind != .spot {
      out.append(",\"kind\":\"")
      out.append(instrument.kind.family.rawValue)
      out.append(UInt8(ascii: "\""))
    }
    if case .future(let expiry) = instrument.kind {
      out.append(",\"expiry\":\"")
      out.append(expiry)
      out.append(UInt8(ascii: "\""))
    }
    if instrument.contractSize != Decimal64(mantissa: 1, scale: 0) {
      out.append(",\"contract_size\":\"")
      out.append(instrument.contractSize)
      out.append(UInt8(ascii: "\""))
    }
    if let increment = instrument.priceIncrement {
      out.append(",\"price_increment\":\"")
      out.append(increment)
      out.append(UInt8(ascii: "\""))
    }
    if let increment = instrument.sizeIncrement {
      out.append(",\"size_increment\":\"")
      out.append(increment)
      out.append(UInt8(ascii: "\""))
    }
    out.append(",\"state\":\"")
    out.append(state(entry, feed))
    out.append(UInt8(ascii: "\""))
    feed?.source.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// `live`, `syncing` or `absent` for its book while its feed is connected, else the feed's.
  static func state(_ entry: DirectoryEntry, _ feed: FeedStatus?) -> String {
    guard let feed, feed.state.indicator != "connected" else { return entry.bookState.name }
    return feed.state.rawValue
  }
}

extension BookState {
  /// `absent`, `syncing` or `live`.
  package var name: String {
    switch self {
    case .absent: "absent"
    case .syncing: "syncing"
    case .live: "live"
    }
  }
}
