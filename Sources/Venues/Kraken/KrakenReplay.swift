import Bytes
import MarketData

extension Kraken {
  private static let mark = #""channel""#
  private static let listed = #""channel":"instrument","type":"snapshot""#

  /// Of v2, which the address says, or the first frames. The list of pairs comes in the stream; where it was not
  /// recorded, one is made that says nothing of digits, so that they are learned from the books.
  static let replay = VenueReplay(
    title: "Kraken spot v2", names: ["kraken"], markets: ["spot", "mixed"], marks: [mark, listed], listMark: listed,
    marketFields: [MarketField("symbol")]
  ) { start in
    guard start.url?.hasSuffix("/v2") ?? !start.marks.isEmpty else { return nil }
    let markets = start.markets { (name) throws(RecordedNameError) in
      if let symbol = FeedSymbol(name) { return NamedMarket(name: "\(symbol.base)/\(symbol.quote)", symbol: symbol) }
      return try .separated(name, by: "/")
    }
    var replay = ReplayStart(markets)
    guard !start.marks.contains(listed) else { return replay }
    replay.preamble = NamedMarket.list(
      #"{"channel":"instrument","type":"snapshot","data":{"pairs":["#, markets.found, "]}}"
    ) { market, out in
      out.append(#""symbol":"#)
      out.append(json: market.name)
    }
    return replay
  }
}
