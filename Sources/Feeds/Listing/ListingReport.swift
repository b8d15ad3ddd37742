import Bytes
import MarketData
import Venues

/// A venue's markets for people and for programs.
package enum ListingReport {
  /// A table with a line for each market; the last line counts them.
  package static func text(_ markets: [ListedMarket], of venue: Venue) -> String {
    let hasContracts = markets.contains { $0.contractSize != Decimal64(mantissa: 1, scale: 0) }
    let hasVolumes = markets.contains { $0.quoteVolume != nil }
    var rows = [["SYMBOL", "AT \(venue.name.uppercased())", "PRICE STEP", "SIZE STEP"]]
    if hasContracts { rows[0].append("CONTRACT") }
    rows[0].append("STATE")
    if hasVolumes { rows[0].append("24 H VOLUME") }
    for market in markets {
      var row = [
        market.symbol.text, market.venueSymbol, market.priceIncrement.map(number) ?? "–",
        market.sizeIncrement.map(number) ?? "–",
      ]
      if hasContracts { row.append(market.contractSize.map { "\(number($0)) \(market.symbol.base)" } ?? "inverse") }
      row.append(market.contractSize == nil ? "not supported" : market.state.rawValue)
      if hasVolumes { row.append(market.quoteVolume.map { "\(grouped($0)) \(market.symbol.quote)" } ?? "–") }
      rows.append(row)
    }
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    var lines = rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        // Volumes are right-aligned, so that their sizes compare.
        line += hasVolumes && column == row.count - 1 ? padding + cell : cell + padding
        line += "  "
      }
      while line.last == " " { line.removeLast() }
      return line
    }
    lines.append("\(markets.count) market\(markets.count == 1 ? "" : "s")")
    return lines.joined(separator: "\n")
  }

  /// `{"venue":"kraken","markets":[{"symbol":"kraken:BTC-USD","venue_symbol":"BTC/USD",…},…]}`: prices, sizes and
  /// volumes as decimal strings, sizes in base units.
  package static func json(_ markets: [ListedMarket], of venue: Venue) -> String {
    var writer = JSONObjectWriter(capacity: 128 + markets.count * 256)
    writer.object { writer in
      writer.field("venue", venue.name)
      writer.array("markets") { writer in
        for market in markets { writer.object { append(market, of: venue, to: &$0) } }
      }
    }
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  private static func append(_ market: ListedMarket, of venue: Venue, to writer: inout JSONObjectWriter) {
    writer.field("symbol", "\(venue.name):\(market.symbol.text)")
    writer.field("venue_symbol", market.venueSymbol)
    writer.field("base", market.symbol.base)
    writer.field("quote", market.symbol.quote)
    writer.field("kind", market.symbol.kind.family.rawValue)
    if case .future(let expiry) = market.symbol.kind { writer.field("expiry", expiry) }
    if let value = market.priceIncrement { writer.field("price_increment", value) }
    if let value = market.sizeIncrement { writer.field("size_increment", value) }
    if let value = market.contractSize { writer.field("contract_size", value) }
    writer.field("state", market.state.rawValue)
    writer.field("carried", market.contractSize != nil)
    if let value = market.quoteVolume { writer.field("quote_volume_24h", value) }
  }

  /// The same markets by quote currency, and within it by 24 h volume, the largest first.
  package static func byVolume(_ markets: [ListedMarket]) -> [ListedMarket] {
    let zero = Decimal64(mantissa: 0, scale: 0)
    return markets.sorted {
      if $0.symbol.quote != $1.symbol.quote { return $0.symbol.quote < $1.symbol.quote }
      let (a, b) = ($0.quoteVolume ?? zero, $1.quoteVolume ?? zero)
      if b.isLess(than: a) { return true }
      return !a.isLess(than: b) && $0.symbol.text < $1.symbol.text
    }
  }

  private static func number(_ value: Decimal64) -> String {
    var out = ByteBuffer(capacity: 24)
    out.append(value)
    return out.description
  }

  /// The whole part with commas; volumes are shown for comparison.
  private static func grouped(_ value: Decimal64) -> String {
    let digits = String(value.mantissa / Int64(DecimalText.power(value.scale)))
    var out = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { out += "," }
      out.append(digit)
    }
    return out
  }
}
