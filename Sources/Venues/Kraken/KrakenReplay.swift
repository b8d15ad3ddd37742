import Bytes
import MarketData

extension KrakenHandler {
  private static let mark = #""channel""#
  private static let listed = #""channel":"instrument","type":"snapshot""#

  /// Of v2, which the address says, or the first frames. The list of pairs comes in the stream; where it was not recorded, one is made
  /// that says nothing of digits, so that they are learned from the books.
  static let replay = VenueReplay(
    title: "Kraken spot v2", names: ["kraken"], markets: ["spot"], marks: [mark, listed]
  ) { (start) throws(RecordedNameError) in
    guard start.url?.hasSuffix("/v2") ?? !start.marks.isEmpty else { return nil }
    let markets = start.names.map { name in
      FeedSymbol(name).map { NamedMarket(name: "\($0.base)/\($0.quote)", symbol: $0) } ?? .separated(name, by: "/")
    }
    var replay = ReplayStart(symbols: markets.map(\.symbol.text))
    guard !start.marks.contains(listed) else { return replay }
    replay.preamble = NamedMarket.list(
      #"{"channel":"instrument","type":"snapshot","data":{"pairs":["#, markets, "]}}"
    ) { market, out in
      out.append(#""symbol":"#)
      out.append(json: market.name)
    }
    return replay
  }
}
