import Bytes
import MarketData

extension [PortfolioContents.Position] {
  /// Appends the array that `PortfolioForm.positions` reads.
  package func append(to out: inout ByteBuffer) {
    out.appendJSON { writer in
      writer.array { writer in
        for position in self {
          writer.object { writer in
            writer.field("symbol", position.symbol)
            writer.field("side", position.side.rawValue)
            writer.field("size", position.size)
            writer.field("leverage", position.leverage)
            writer.field("entry", position.entry)
            if let maintenance = position.maintenance { writer.field("maintenance", maintenance) }
          }
        }
      }
    }
  }
}

extension PortfolioTransaction {
  /// Appends the fields that `PortfolioForm.transaction` reads.
  package func appendFields(to writer: inout JSONObjectWriter) {
    writer.field("kind", kind.rawValue)
    writer.field("asset", asset)
    writer.field("quantity", quantity)
    if let price { writer.field("price", price) }
    if let fee { writer.field("fee", fee) }
    writer.field("time", time.microseconds)
  }
}
