import Bytes
import MarketData

/// Bodies of the HTTP interface that need no market: what they say is the same as on the stream.
package enum HTTPBodies {
  /// `{"instruments":[…]}`, in the order of the symbols: those of `venue`, whose symbol or venue symbol contains `query`, letter
  /// case aside. O(n log n) in the instruments.
  package static func instruments(
    _ directory: Directory, venue: String?, query: String?, into out: inout ByteBuffer
  ) {
    let wanted = query?.lowercased()
    let entries = directory.entries.filter { symbol, entry in
      if let venue, entry.instrument.venue != venue { return false }
      guard let wanted, !wanted.isEmpty else { return true }
      return symbol.lowercased().contains(wanted) || entry.instrument.venueSymbol.lowercased().contains(wanted)
    }
    out.append("{\"instruments\":[")
    var isFirst = true
    for (_, entry) in entries.sorted(by: { $0.key < $1.key }) {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      append(entry, to: &out)
    }
    out.append("]}")
  }

  /// `{"feeds":[…]}`, as on the `status` channel.
  package static func status(_ feeds: [FeedStatus], now: Timestamp, into out: inout ByteBuffer) {
    StatusChannel.append(feeds, now: now, to: &out)
  }

  private static func append(_ entry: DirectoryEntry, to out: inout ByteBuffer) {
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
    out.append(entry.bookState.name)
    out.append("\"}")
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
