import Bytes
import MarketData

/// Hyperliquid's lists of markets, and the 24 h figures of all of them.
extension HyperliquidProtocol {
  func appendPerpetuals(to out: inout ByteBuffer) {
    out.append(#"{"universe":["#)
    for (index, state) in market.instruments.filter({ $0.instrument.kind != .spot }).enumerated() {
      out.append(index > 0 ? #",{"szDecimals":"# : #"{"szDecimals":"#)
      out.append(integer: Int64(state.instrument.sizeScale))
      out.append(#","name":"#)
      out.append(json: state.instrument.venueSymbol)
      out.append(#","maxLeverage":40}"#)
    }
    out.append("]}")
  }

  /// In the order of the list; those of spot name their market.
  func appendContexts(isSpot: Bool, to out: inout ByteBuffer) {
    out.append(",[")
    for (index, state) in market.instruments.filter({ ($0.instrument.kind == .spot) == isSpot }).enumerated() {
      out.append(index > 0 ? ",{" : "{")
      appendFigures(state, to: &out)
      if isSpot {
        out.append(#","coin":"#)
        out.append(json: state.instrument.venueSymbol)
      }
      out.append("}")
    }
    out.append("]")
  }

  /// Tokens by the order of the listing, the quote first.
  func appendSpots(to out: inout ByteBuffer) {
    let spots = market.instruments.map(\.instrument).filter { $0.kind == .spot }
    out.append(
      #"{"tokens":[{"name":"USDC","szDecimals":8,"weiDecimals":8,"index":0,"tokenId":"0x6d1e","isCanonical":true}"#)
    for (index, spot) in spots.enumerated() {
      out.append(#",{"name":"#)
      out.append(json: spot.base)
      out.append(#","szDecimals":"#)
      out.append(integer: Int64(spot.sizeScale))
      out.append(#","weiDecimals":8,"index":"#)
      out.append(integer: Int64(index + 1))
      out.append(#","tokenId":"0xc4bf","isCanonical":false}"#)
    }
    out.append(#"],"universe":["#)
    for (index, spot) in spots.enumerated() {
      if index > 0 { out.append(",") }
      out.append(#"{"tokens":["#)
      out.append(integer: Int64(index + 1))
      out.append(#",0],"name":"#)
      out.append(json: spot.venueSymbol)
      out.append(#","index":"#)
      out.append(integer: Int64(index))
      out.append(#","isCanonical":false}"#)
    }
    out.append("]}")
  }
}
