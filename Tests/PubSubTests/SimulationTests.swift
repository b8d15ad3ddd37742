import Bytes
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import PubSub

@Suite("Publishers and hubs together, under a seeded random market with random clients", .longComputation)
struct SimulationTests {
  @Test(
    "every client's book is the publisher's at the same seq, links hold, and nothing is lost without notice",
    arguments: testSeeds(12))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var limits = ClientLimits()
    limits.queuedEvents = 8
    let world = World(loops: 2, instruments: 2, limits: limits, bookDepthLimit: 60)
    var nextTrade: UInt64 = 1
    var published: [UInt64] = []
    let depths = [0, 10, 25, 100]
    let intervals = [0, 0, 100, 250]
    for _ in 0..<900 {
      switch Int.random(in: 0..<40, using: &random) {
      case 0..<2:
        // Half of them take binary records.
        let isBinary = world.clients.count % 2 == 1
        if world.clients.count < 24 {
          _ = world.client(on: Int.random(in: 0..<2, using: &random), isBinary: isBinary)
        }
      case 2..<5:
        guard let client = world.clients.randomElement(using: &random),
          world.hubs[client.loop].state(of: client.id) != nil
        else { continue }
        let symbol = ["kraken:BTC-USD", "coinbase:BTC-USD", "kraken:A1-USD"].randomElement(using: &random)!
        let depth = depths.randomElement(using: &random)!
        let interval = intervals.randomElement(using: &random)!
        let channel = Int.random(in: 0..<3, using: &random)
        if channel == 0 {
          client.send("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
        } else {
          client.send(
            "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"\(symbol)\"],\"depth\":\(depth),\"interval_ms\":\(interval)}]}"
          )
        }
      case 5:
        guard let client = world.clients.randomElement(using: &random), let stream = client.streams.keys.sorted().first
        else { continue }
        client.send("{\"op\":\"unsubscribe\",\"streams\":[\(stream)]}")
      case 6:
        if let client = world.clients.randomElement(using: &random), !client.isStuck { client.leave() }
      case 7:
        guard let client = world.clients.randomElement(using: &random), !client.isStuck,
          world.hubs[client.loop].state(of: client.id) != nil
        else { continue }
        client.isStuck = true
        client.unsent(1000)
      case 8..<10:
        guard
          let client = world.clients.filter({ $0.isStuck && world.hubs[$0.loop].state(of: $0.id) != nil })
            .randomElement(using: &random)
        else { continue }
        client.isStuck = false
        client.unsent(0)
      case 10:
        let loop = Int.random(in: 0..<2, using: &random)
        world.apply(loop) { $0.events.append(.bookReset(InstrumentID(0), .gap)) }
      case 11..<14:
        let loop = Int.random(in: 0..<2, using: &random)
        world.book(
          loop, .snapshot, bids: (0..<40).map { (999 - Int64($0), Int64.random(in: 1...9, using: &random)) },
          asks: (0..<40).map { (1001 + Int64($0), Int64.random(in: 1...9, using: &random)) },
          instrument: Int.random(in: 0..<2, using: &random))
      case 14..<18:
        published.append(nextTrade)
        world.trade(id: nextTrade, price: Int64.random(in: 990...1010, using: &random))
        nextTrade += 1
      case 18..<30:
        let loop = Int.random(in: 0..<2, using: &random)
        let bids = (0..<Int.random(in: 0...3, using: &random)).map { _ in
          (Int64.random(in: 930...999, using: &random), Int64.random(in: 0...3, using: &random))
        }
        let asks = (0..<Int.random(in: 0...3, using: &random)).map { _ in
          (Int64.random(in: 1001...1070, using: &random), Int64.random(in: 0...3, using: &random))
        }
        world.book(loop, .delta, bids: bids, asks: asks, instrument: Int.random(in: 0..<2, using: &random))
      case 30..<35:
        world.step(Int.random(in: 0..<2, using: &random), count: Int.random(in: 1...8, using: &random))
      case 35..<37: world.flush()
      default:
        world.now = world.now + Int64.random(in: 1...150, using: &random) * Microseconds.millisecond
        world.tick()
      }
    }
    for client in world.clients where world.hubs[client.loop].state(of: client.id) != nil {
      client.isStuck = false
      client.unsent(0)
    }
    world.settle()
    world.run(milliseconds: 6000)

    var books: [String: String] = [:]
    for client in world.clients {
      #expect(client.faults.isEmpty, "seed \(seed): \(client.faults.first ?? "")")
      for (index, book) in client.bookAt {
        let other = books.updateValue(book, forKey: index)
        #expect(other == nil || other == book, "seed \(seed): two books at \(index)")
      }
      guard world.hubs[client.loop].state(of: client.id) != nil else { continue }
      for (number, stream) in client.streams where stream.channel == "book" {
        let entry = world.hubs[0].directory.entries[stream.symbol]!
        let state = world.markets[entry.loop][entry.instrument.id]
        guard state.bookState == .live else { continue }
        #expect(
          ModelClient.text(of: stream) == text(of: state.book, depth: stream.depth),
          "seed \(seed): stream \(number) of \(stream.symbol)")
      }
      for (_, ids) in client.tradeIDs { #expect(ids == ids.sorted(), "seed \(seed): trades out of order") }
    }
    #expect(!books.isEmpty, "seed \(seed): no book was ever shown")
  }

  private func text(of book: OrderBook, depth: Int) -> String {
    func levels(_ side: [PriceLevel]) -> String {
      var out = ByteBuffer()
      for (index, level) in side.reversed().prefix(depth == 0 ? .max : depth).enumerated() {
        if index > 0 { out.append(" ") }
        out.append(decimal: level.price, scale: 1)
        out.append("x")
        out.append(decimal: level.size, scale: 8)
      }
      return out.description
    }
    return levels(book.bids) + " | " + levels(book.asks)
  }
}
