import MarketData
import Testing

@testable import Venues

@Suite("Kraken's frames as recorded in 2026")
struct KrakenFramesTests {
  @Test("a price comes up to five times in an update, in any order; the last counts, and the checksum holds")
  func repeatedPrices() throws {
    let feed = try EngineHarness.connected("kraken", ["BTC/USD"])
    feed.receive(
      #"{"method":"subscribe","result":{"channel":"book","depth":10,"snapshot":true,"symbol":"BTC/USD"},"success":true,"time_in":"2026-08-01T02:53:53.184174Z","time_out":"2026-08-01T02:53:53.184216Z"}"#
    )
    feed.receive(
      #"{"channel":"book","type":"snapshot","data":[{"symbol":"BTC/USD","bids":[{"price":63004.9,"qty":0.01876947},{"price":63003.3,"qty":0.00005100}],"asks":[{"price":63005.0,"qty":2.07265551},{"price":63005.1,"qty":0.10000000}],"checksum":443605107,"timestamp":"2026-08-01T02:53:53.646219Z"}]}"#
    )
    #expect(feed.state(0) == .live && feed.market.instruments[0].checksumsOK == 1)
    feed.receive(#"{"channel":"heartbeat"}"#)
    #expect(feed.isHeartbeat)
    feed.receive(
      #"{"channel":"book","type":"update","data":[{"symbol":"BTC/USD","bids":[{"price":63003.0,"qty":2.00000000},{"price":63004.0,"qty":1.00000000},{"price":63003.3,"qty":0.00000000},{"price":63003.3,"qty":0.50000000}],"asks":[{"price":63005.2,"qty":0.10000000},{"price":63005.2,"qty":0.00000000},{"price":63005.2,"qty":0.20000000},{"price":63005.2,"qty":0.00000000},{"price":63005.2,"qty":0.30000000}],"checksum":2635821548,"timestamp":"2026-08-01T02:53:54.646219Z"}]}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live && feed.market.instruments[0].checksumsOK == 2)
    #expect(feed.shownBids == ["63004.9 0.01876947", "63004 1", "63003.3 0.5", "63003 2"])
    #expect(feed.shownAsks == ["63005 2.07265551", "63005.1 0.1", "63005.2 0.3"])
  }
}
