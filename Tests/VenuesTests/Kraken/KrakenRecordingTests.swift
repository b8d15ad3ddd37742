import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import Venues

/// The checksum on recorded books. The recording is of the old protocol (arrays, strings), so its shapes are read here;
/// book and checksum are the ones in use.
@Suite("Kraken's checksum on recorded books")
struct KrakenRecordingTests {
  @Test(
    "every checksum of ten recorded books is reproduced",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func recorded() throws {
    var books: [String: OrderBook] = [:]
    var scales: [String: UInt8] = [:]
    var good = 0
    var levels = 0
    for record in try Recording("kraken-spot-20210417-book10").texts {
      let text = record.text
      guard text.hasPrefix("["), text.contains("\"book-1000\""),
        let message = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [Any],
        let pair = message.last as? String
      else { continue }
      var bids: [PriceLevel] = []
      var asks: [PriceLevel] = []
      var isSnapshot = false
      var checksum: UInt32?
      // One object, or two of which the first has the asks.
      for part in message.dropFirst().compactMap({ $0 as? [String: Any] }) {
        for (key, value) in part {
          if key == "c" {
            checksum = UInt32(try #require(value as? String))
            continue
          }
          let texts = try #require(value as? [[String]])
          if let price = texts.first?[0] { scales[pair] = UInt8(price.split(separator: ".").last?.count ?? 0) }
          let scale = scales[pair] ?? 0
          let read = try texts.map { fields -> PriceLevel in
            let (price, size) = (Array(fields[0].utf8), Array(fields[1].utf8))
            return PriceLevel(
              price: try DecimalText.parse(price.span.bytes, scale: scale),
              size: try DecimalText.parse(size.span.bytes, scale: 8))
          }
          switch key {
          case "as": asks = read
          case "bs": bids = read
          case "a": asks = read
          case "b": bids = read
          default: Issue.record("unknown key \(key)")
          }
          isSnapshot = isSnapshot || key == "as" || key == "bs"
        }
      }
      var book = books.removeValue(forKey: pair) ?? OrderBook(depthLimit: 1000)
      if isSnapshot {
        book.replace(bids: bids[...], asks: asks[...])
      } else {
        book.update(bids: bids[...], asks: asks[...])
      }
      if let checksum {
        #expect(KrakenBookChecksum.checksum(of: book) == checksum, "\(pair)")
        good += 1
      }
      books[pair] = book
    }
    for book in books.values { levels += book.bids.count + book.asks.count }
    #expect(good == 4269)
    #expect(levels == 7452)
  }

  @Test(
    "frames of today's protocol, from other libraries' tests, are all understood",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: ["kraken-mixed-20260702-frames-nautilus", "kraken-mixed-20260723-frames-jkorf"])
  func frames(_ name: String) throws {
    let feed = EngineHarness(Kraken.venue, ["BTC-USD", "ETH-USDT"])
    feed.connect()
    feed.receive(
      #"{"channel":"instrument","type":"snapshot","data":{"pairs":[{"symbol":"BTC/USD","qty_precision":8,"price_precision":1},{"symbol":"ETH/USDT","qty_precision":8,"price_precision":4}]}}"#
    )
    var understood = 0
    for record in try Recording(name).texts where record.text.contains("\"channel\"") {
      feed.receive(record.text)
      #expect(feed.error == nil, "\(record.name): \(feed.error?.detail ?? "")")
      understood += 1
    }
    #expect(understood >= 5)
  }
}
