import MarketData
import PubSub
import Testing
import Venues

@testable import Feeds

@Suite("Books that have failed, in the status")
struct FailedBooksTests {
  private let venue = VenueRegistry.venue(named: "kraken")!
  private let pair =
    #"{"symbol":"A/USD","base":"A","quote":"USD","status":"online","price_precision":1,"qty_precision":1,"price_increment":0.1,"qty_increment":0.1}"#

  private func receive(_ text: String, _ pipeline: FeedPipeline, _ now: Timestamp) {
    let bytes = Array(text.utf8)
    pipeline.receive(bytes.span.bytes, now: now)
    pipeline.clear()
    _ = pipeline.takeActions()
  }

  @Test("told with the last reason and the time of the next attempt, and taken back when the book is live")
  func told() {
    let pipeline = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: ["A-USD"]))
    // 2023-11-14 22:13:20 UTC
    var now = Timestamp(microseconds: 1_700_000_000_000_000)
    var failed = FailedBooks()
    var status = FeedStatus(venue: "kraken", state: .live, since: now)
    pipeline.connected(now: now)
    receive(#"{"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[\#(pair)]}}"#, pipeline, now)
    let good =
      #"{"channel":"book","type":"snapshot","data":[{"symbol":"A/USD","bids":[{"price":1.0,"qty":1.0}],"asks":[{"price":2.0,"qty":1.0}],"checksum":3906342911}]}"#
    let wrong = good.replacing("3906342911", with: "1")
    var changes = 0
    while status.failed.isEmpty, changes < 1_000 {
      changes += 1
      receive(wrong, pipeline, now)
      now = now + Microseconds.second
      pipeline.tick(now: now)
      _ = pipeline.takeActions()
      _ = failed.update(pipeline, &status)
    }
    let words = status.failed["kraken:A-USD"] ?? ""
    #expect(words.hasPrefix("its book failed 10 times, the last time by: checksum mismatch; the next attempt"))
    #expect(words.hasSuffix(" UTC"))
    // Nothing new is no change.
    #expect(!failed.update(pipeline, &status))
    for _ in 0..<130 {
      now = now + Microseconds.second
      pipeline.tick(now: now)
      _ = pipeline.takeActions()
    }
    receive(good, pipeline, now)
    let isTakenBack = failed.update(pipeline, &status)
    #expect(isTakenBack && status.failed.isEmpty)
  }

  @Test("what the venue refused stays refused")
  func refused() {
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    let pipeline = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: ["A-USD"]))
    var failed = FailedBooks()
    var status = FeedStatus(venue: "kraken", state: .live, since: now)
    status.failed["kraken:A-USD"] = "not listed"
    pipeline.connected(now: now)
    receive(#"{"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[\#(pair)]}}"#, pipeline, now)
    let isChanged = failed.update(pipeline, &status)
    #expect(!isChanged && status.failed["kraken:A-USD"] == "not listed")
  }
}
