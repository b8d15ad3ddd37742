import Bytes
import MarketData

extension BitfinexHandler {
  /// A name is one of the venue (`tBTCUST`), or a symbol as it was configured, with a colon (`BTC:USDT`).
  static let replay = VenueReplay(
    title: "Bitfinex spot", names: ["bitfinex"], markets: ["spot"],
    lists: [listPath, "/conf/pub:list:pair:exchange"]
  ) { (start) throws(RecordedNameError) in
    let known = start.list.flatMap { try? BitfinexPair.list($0.span.bytes) } ?? []
    var pairs: [BitfinexPair] = []
    for name in start.names {
      let pair =
        known.first { $0.name == name || "\($0.symbol.base):\($0.symbol.quote)" == name }
        ?? BitfinexPair(pair: name.hasPrefix("t") ? String(name.dropFirst()) : name)
      guard let pair else { throw RecordedNameError("\(name) cannot be taken apart into base and quote") }
      pairs.append(pair)
    }
    var list = ByteBuffer()
    list.append("[[")
    for (index, pair) in pairs.enumerated() {
      if index > 0 { list.append(",") }
      list.append(json: String(pair.name.dropFirst()))
    }
    list.append("]]")
    return ReplayStart(symbols: pairs.map(\.symbol.text), instruments: start.list ?? [UInt8](list.unsafeBytes))
  }
}
