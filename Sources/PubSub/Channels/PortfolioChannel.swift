import Bytes
import MarketData
import Portfolio

/// The `data` of `portfolio`, on the stream and over HTTP:
/// `{"currency":"EUR","state":"live","value":"…","holdings":[{"asset":"BTC",…}],"positions":[…]}`.
///
/// It has no time, so that an unchanged value causes no message.
package enum PortfolioChannel: Channel {
  static let facts = ChannelFacts(
    source: .documents, names: .nothing, audience: .subject, rate: .fixed(1000), parameters: [.portfolio])
  static let data = WireDescription.ChannelData(["state"])

  static func document(of key: StreamKey) -> StreamDocumentName? { key.portfolio.map { StreamDocumentName($0) } }

  /// - Parameters:
  ///   - head: the first fields, each with a comma after it.
  ///   - source: the least real source of the used markets.
  package static func append(
    _ priced: PricedPortfolio, head: String = "", source: DataSource, to out: inout ByteBuffer
  ) {
    let valuation = priced.valuation
    out.append("{")
    out.append(head)
    out.append("\"currency\":")
    out.append(json: priced.currency)
    append(valuation.trust, to: &out)
    source.append(to: &out)
    append(valuation.value, ",\"value\":\"", to: &out)
    append(valuation.dayProfit, ",\"day_profit\":\"", to: &out)
    append(valuation.dayPercent, ",\"day_percent\":\"", to: &out)
    append(valuation.cost, ",\"cost\":\"", to: &out)
    append(valuation.unrealised, ",\"unrealised\":\"", to: &out)
    append(valuation.realised, ",\"realised\":\"", to: &out)
    append(sum(valuation.unrealised, valuation.realised), ",\"profit\":\"", to: &out)
    out.append(",\"holdings\":[")
    for (index, line) in valuation.holdings.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      append(line, since: priced.staleSince[index], to: &out)
    }
    out.append("],\"positions\":[")
    for (index, line) in valuation.positions.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      append(line, since: priced.staleSince[valuation.holdings.count + index], to: &out)
    }
    out.append("]}")
  }

  private static func append(_ line: HoldingLine, since: Timestamp?, to out: inout ByteBuffer) {
    out.append("{\"asset\":")
    out.append(json: line.asset)
    append(line.trust, to: &out)
    append(since, to: &out)
    append(line.quantity, ",\"quantity\":\"", to: &out)
    append(line.price, ",\"price\":\"", to: &out)
    append(line.value, ",\"value\":\"", to: &out)
    append(line.share, ",\"share_percent\":\"", to: &out)
    append(line.dayProfit, ",\"day_profit\":\"", to: &out)
    append(line.dayPercent, ",\"day_percent\":\"", to: &out)
    append(line.cost, ",\"cost\":\"", to: &out)
    append(line.unrealised, ",\"unrealised\":\"", to: &out)
    append(line.realised, ",\"realised\":\"", to: &out)
    append(sum(line.unrealised, line.realised), ",\"profit\":\"", to: &out)
    out.append(UInt8(ascii: "}"))
  }

  private static func append(_ line: PositionLine, since: Timestamp?, to out: inout ByteBuffer) {
    out.append("{\"symbol\":")
    out.append(json: line.symbol)
    append(line.trust, to: &out)
    append(since, to: &out)
    out.append(line.side == .long ? ",\"side\":\"long\",\"size\":\"" : ",\"side\":\"short\",\"size\":\"")
    out.append(line.size)
    out.append("\",\"leverage\":\"")
    out.append(line.leverage)
    out.append("\",\"entry\":\"")
    out.append(line.entry)
    if let mark = line.mark {
      out.append("\",\"mark\":\"")
      out.append(mark)
    }
    out.append(UInt8(ascii: "\""))
    append(line.unrealised, ",\"unrealised\":\"", to: &out)
    append(line.unrealisedPercent, ",\"unrealised_percent\":\"", to: &out)
    if let maintenance = line.maintenance {
      out.append(",\"maintenance\":\"")
      out.append(maintenance)
      out.append(UInt8(ascii: "\""))
    }
    append(line.liquidationPrice, ",\"liquidation_price\":\"", to: &out)
    append(line.marginPercent, ",\"margin_percent\":\"", to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// Unrealised and realised profit together; an unknown realised profit counts as zero if the unrealised profit is
  /// known.
  private static func sum(_ a: WideDecimal?, _ b: WideDecimal?) -> WideDecimal? {
    guard let a else { return nil }
    return b.map { try? a.plus($0) } ?? a
  }

  private static func append(_ trust: PriceTrust, to out: inout ByteBuffer) {
    switch trust {
    case .live: out.append(",\"state\":\"live\"")
    case .stale: out.append(",\"state\":\"stale\"")
    case .missing: out.append(",\"state\":\"missing\"")
    }
  }

  private static func append(_ since: Timestamp?, to out: inout ByteBuffer) {
    guard let since, since > .distantPast else { return }
    out.append(",\"price_time\":")
    out.append(integer: since.microseconds)
  }

  private static func append(_ value: WideDecimal?, _ name: StaticString, to out: inout ByteBuffer) {
    guard let value else { return }
    out.append(name)
    value.append(to: &out)
    out.append(UInt8(ascii: "\""))
  }
}
