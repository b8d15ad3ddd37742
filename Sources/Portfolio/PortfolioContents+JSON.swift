import Bytes
import MarketData

extension [PortfolioContents.Position] {
  /// Appends the array that `PortfolioForm.positions` reads.
  package func append(to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "["))
    for (index, position) in enumerated() {
      out.append(index > 0 ? ",{\"symbol\":" : "{\"symbol\":")
      out.append(json: position.symbol)
      out.append(",\"side\":\"")
      out.append(position.side.rawValue)
      out.append("\",\"size\":\"")
      out.append(position.size)
      out.append("\",\"leverage\":\"")
      out.append(position.leverage)
      out.append("\",\"entry\":\"")
      out.append(position.entry)
      out.append("\"}")
    }
    out.append(UInt8(ascii: "]"))
  }
}

extension PortfolioTransaction {
  /// Appends the fields that `PortfolioForm.transaction` reads, without braces.
  package func appendFields(to out: inout ByteBuffer) {
    out.append("\"kind\":\"")
    out.append(kind.rawValue)
    out.append("\",\"asset\":")
    out.append(json: asset)
    out.append(",\"quantity\":\"")
    out.append(quantity)
    if let price {
      out.append("\",\"price\":\"")
      out.append(price)
    }
    if let fee {
      out.append("\",\"fee\":\"")
      out.append(fee)
    }
    out.append("\",\"time\":")
    out.append(integer: time.microseconds)
  }
}
