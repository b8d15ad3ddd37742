import Bytes

extension Requests {
  /// The fields of a portfolio, each with a comma before it.
  static func append(_ portfolio: PortfolioRequest, to out: inout ByteBuffer) {
    switch portfolio {
    case .kept(let id, let currency):
      out.append(",\"portfolio\":")
      out.append(json: id)
      if let currency { append(currency, named: ",\"currency\":", to: &out) }
    case .sent(let contents):
      append(contents.currency, named: ",\"currency\":", to: &out)
      out.append(",\"holdings\":[")
      for (index, holding) in contents.holdings.enumerated() {
        append(holding.asset, named: index == 0 ? "{\"asset\":" : ",{\"asset\":", to: &out)
        append(holding.quantity.description, named: ",\"quantity\":", to: &out)
        if let cost = holding.cost { append(cost.description, named: ",\"cost\":", to: &out) }
        out.append("}")
      }
      out.append("],\"positions\":[")
      for (index, position) in contents.positions.enumerated() {
        append(position.symbol, named: index == 0 ? "{\"symbol\":" : ",{\"symbol\":", to: &out)
        append(position.side.rawValue, named: ",\"side\":", to: &out)
        append(position.size.description, named: ",\"size\":", to: &out)
        append(position.leverage.description, named: ",\"leverage\":", to: &out)
        append(position.entry.description, named: ",\"entry\":", to: &out)
        if let maintenance = position.maintenance {
          append(maintenance.description, named: ",\"maintenance\":", to: &out)
        }
        out.append("}")
      }
      out.append("]")
    }
  }

  private static func append(_ text: String, named name: StaticString, to out: inout ByteBuffer) {
    out.append(name)
    out.append(json: text)
  }
}
