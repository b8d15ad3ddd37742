import MarketData

extension KrakenHandler {
  private static let mark = #""channel""#

  /// Of v2, which the address says, or the first frames; the list of pairs comes in the stream.
  static let replay = VenueReplay(
    title: "Kraken spot v2", names: ["kraken"], markets: ["spot"], marks: [mark]
  ) { (start) throws(RecordedNameError) in
    guard start.url?.hasSuffix("/v2") ?? start.marks.contains(mark) else { return nil }
    return ReplayStart(symbols: start.names.map { $0.split(separator: "/").joined(separator: "-") })
  }
}
