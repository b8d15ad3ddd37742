import Bytes
import MarketData
import Testing

@testable import Venues

extension EngineHarness {
  /// A connected engine of a venue's own names, as a recording without an instrument list would have it.
  static func connected(_ venue: String, _ names: [String], market: String = "spot") throws -> EngineHarness {
    let (known, replay) = try #require(
      VenueRegistry.replays(venue: venue, market: market).first { $0.venue.name == venue })
    var begin = RecordedStart(market: market, names: names)
    begin.url = known.endpoint
    let start = try #require(replay.start(begin))
    let configuration = FeedConfiguration(symbols: start.symbols)
    let part = known.parts.isEmpty ? known : known.connections(for: configuration)[0].venue
    let feed = EngineHarness(part, start.symbols)
    feed.prepare()
    for get in feed.gets { feed.respond(get.request, 200, String(decoding: start.instruments, as: UTF8.self)) }
    feed.connect()
    if !start.preamble.isEmpty { feed.receive(start.preamble) }
    return feed
  }

  /// A side of the first instrument's book as `price size`, best first, without zeros at the end.
  private func shown(_ side: [PriceLevel]) -> [String] {
    let instrument = market.instruments[0].instrument
    func text(_ value: Int64, _ scale: UInt8) -> String {
      let value = Decimal64(mantissa: value, scale: scale).trimmed
      var out = ByteBuffer()
      out.append(decimal: value.mantissa, scale: value.scale)
      return out.description
    }
    return side.reversed().map {
      "\(text($0.price, instrument.priceScale)) \(text($0.size, instrument.sizeScale))"
    }
  }

  var shownBids: [String] { shown(market.instruments[0].book.bids) }
  var shownAsks: [String] { shown(market.instruments[0].book.asks) }
}
