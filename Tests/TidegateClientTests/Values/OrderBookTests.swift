import Foundation
import TestSupport
import Testing

@testable import TidegateClient

@Suite("Order book")
struct OrderBookTests {
  static func level(_ price: String, _ size: String) -> OrderBook.Level {
    OrderBook.Level(price: ExactDecimal(price)!, size: ExactDecimal(size)!)
  }

  @Test("spread, middle and running totals are exact")
  func figures() {
    var book = OrderBook(symbol: "kraken:BTC-USD", time: .distantPast)
    #expect(book.spread == nil && book.mid == nil && book.spreadPercent == nil && book.depth(5).bids.isEmpty)
    book.replace(
      with: BookLevels(
        bids: [Self.level("65173.18", "0.1"), Self.level("65173.00", "0.2")],
        asks: [Self.level("65173.40", "0.5"), Self.level("65174", "0.1"), Self.level("65175", "9")],
        time: .init(microseconds: 5)))
    #expect(book.time == .init(microseconds: 5) && book.spreadPercent?.description == "0.0003")
    #expect(book.spread?.description == "0.22")
    #expect(book.mid == ExactDecimal("65173.29"))
    let depth = book.depth(2)
    #expect(depth.bids.map(\.total) == [ExactDecimal("0.1")!, ExactDecimal("0.3")!])
    #expect(depth.asks.map(\.total) == [ExactDecimal("0.5")!, ExactDecimal("0.6")!])
    #expect(depth.asks.map(\.share) == [0.5 / 0.6, 1] && depth.bids.map(\.share) == [0.1 / 0.6, 0.3 / 0.6])
  }

  @Test("is what a dictionary of prices is, sorted, however many levels an update has", arguments: testSeeds(20))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var book = OrderBook(symbol: "s", time: .distantPast)
    var bids: [Int: Int] = [:]
    var asks: [Int: Int] = [:]
    for step in 0..<200 {
      var levels = BookLevels(time: .init(microseconds: Int64(step)))
      let isSnapshot = Int.random(in: 0..<20, using: &random) == 0
      if isSnapshot { (bids, asks) = ([:], [:]) }
      for _ in 0..<Int.random(in: 0...(step % 7 == 0 ? 200 : 8), using: &random) {
        let price = Int.random(in: 0..<150, using: &random)
        // The same price is written in several ways; a snapshot has each once.
        let text = "\(price)" + [".0", "", ".000"].randomElement(using: &random)!
        let size = Int.random(in: 0...2, using: &random)
        if Bool.random(using: &random) {
          if isSnapshot, bids[price] != nil { continue }
          bids[price] = size
          levels.bids.append(Self.level(text, "\(size)"))
        } else {
          if isSnapshot, asks[price] != nil { continue }
          asks[price] = size
          levels.asks.append(Self.level(text, "\(size)"))
        }
      }
      if isSnapshot { book.replace(with: levels) } else { book.update(with: levels) }
      let best = bids.filter { $0.value > 0 }.sorted { $0.key > $1.key }
      let lowest = asks.filter { $0.value > 0 }.sorted { $0.key < $1.key }
      #expect(
        book.bids.map { [$0.price, $0.size] } == best.map { [ExactDecimal($0.key), ExactDecimal($0.value)] },
        "seed \(seed), step \(step)")
      #expect(
        book.asks.map { [$0.price, $0.size] } == lowest.map { [ExactDecimal($0.key), ExactDecimal($0.value)] },
        "seed \(seed), step \(step)")
    }
  }
}
