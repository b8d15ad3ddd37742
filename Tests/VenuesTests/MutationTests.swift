import MarketData
import TestSupport
import TestTraits
import Testing

@testable import Venues

@Suite("Damaged messages", .longComputation)
struct MutationTests {
  @Test(
    "no damage to a message crashes an engine, and what it refuses has a reason",
    arguments: VenueRegistry.samples.map { $0.venue.name }, testSeeds(3))
  func mutations(_ name: String, seed: UInt64) throws {
    let samples = try #require(VenueRegistry.samples(of: name))
    var random = SeededGenerator(seed: seed)
    let (feed, texts) = samples.toDamage(samples.venue)
    let pieces = Array(#"{}[]",:\0123456789.-eEuntrue"#.utf8)
    var refused = 0
    for round in 0..<1500 {
      var bytes = Array(texts.randomElement(using: &random)!.utf8)
      for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[at] = pieces.randomElement(using: &random)!
        case 2: bytes.remove(at: at)
        case 3: bytes.insert(pieces.randomElement(using: &random)!, at: at)
        case 4: bytes.removeSubrange(at...)
        default:
          let end = Int.random(in: at...min(bytes.count, at + 20), using: &random)
          bytes.insert(contentsOf: bytes[at..<end], at: at)
        }
      }
      let before = feed.engine.counts.rejected
      feed.receive(bytes)
      if let error = feed.error {
        refused += 1
        #expect(!error.detail.isEmpty, "seed \(seed), round \(round)")
        #expect(feed.engine.counts.rejected == before + 1, "seed \(seed), round \(round)")
      }
      // What was accepted keeps the book whole.
      for state in feed.market.instruments {
        #expect(zip(state.book.bids, state.book.bids.dropFirst()).allSatisfy { $0.price < $1.price }, "seed \(seed)")
        #expect(state.book.asks.allSatisfy { $0.size > 0 }, "seed \(seed), round \(round)")
      }
      if round % 50 == 0 { feed.wait(1) }
    }
    #expect(refused > 300, "the damage was not noticed: seed \(seed)")
    #expect(feed.engine.counts.messages >= 1500)
  }
}
