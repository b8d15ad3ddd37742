import Bytes
import MarketData
import TestSupport

/// Books, rings and pulses.
enum StateBenchmarks {
  static var all: [MicroBenchmark] {
    [
      MicroBenchmark(name: "book: update a level near the top, 1,000 a side") { book(levels: 1_000, perMessage: 20) },
      MicroBenchmark(name: "book: update a level near the top, 5,000 a side") { book(levels: 5_000, perMessage: 20) },
      MicroBenchmark(name: "book: a message of one level near the top, 1,000 a side") {
        book(levels: 1_000, perMessage: 1)
      },
      ring("rings: push a trade into the lines of all ranges") { state, price, _ in
        state.lines.add(price: price, time: state.now)
      },
      ring("rings: push a trade into the minutes and the 24 h figures") { state, price, size in
        state.minutes.add(price: price, size: size, time: state.now)
      },
      MicroBenchmark(name: "pulse: take a price") {
        let state = Pulses()
        var random = SeededGenerator(seed: 33)
        let steps = (0..<(MicroBenchmark.batch * sets)).map { _ in Int64.random(in: 0...20_000, using: &random) }
        var set = 0
        return PreparedBenchmark {
          var pulses = 0
          let begin = set * MicroBenchmark.batch
          set = (set + 1) % sets
          for step in steps[begin..<(begin + MicroBenchmark.batch)] {
            state.now = state.now + step
            if state.merger.price(6_400_000 &+ (step & 63), now: state.now) != nil { pulses &+= 1 }
          }
          return pulses
        }
      },
      MicroBenchmark(name: "market: apply a trade (ring, pulse, statistics)") {
        let state = TradingMarket()
        var random = SeededGenerator(seed: 34)
        let steps = (0..<(MicroBenchmark.batch * sets)).map { _ in Int64.random(in: 0...20_000, using: &random) }
        var set = 0
        return PreparedBenchmark {
          let begin = set * MicroBenchmark.batch
          set = (set + 1) % sets
          for step in steps[begin..<(begin + MicroBenchmark.batch)] { state.trade(step) }
          return state.changed
        }
      },
    ]
  }

  /// Different data for so many batches in turn: a thousand operations again and again is a pattern that processors
  /// learn.
  private static let sets = 64

  private static func ring(_ name: String, _ push: @escaping @Sendable (Rings, Int64, Int64) -> Void) -> MicroBenchmark
  {
    MicroBenchmark(name: name) {
      let state = Rings()
      var random = SeededGenerator(seed: 32)
      let steps = (0..<(MicroBenchmark.batch * sets)).map { _ in Int64.random(in: 0...20_000, using: &random) }
      var set = 0
      return PreparedBenchmark {
        let begin = set * MicroBenchmark.batch
        set = (set + 1) % sets
        for step in steps[begin..<(begin + MicroBenchmark.batch)] {
          state.now = state.now + step
          push(state, 6_400_000 &+ step & 63, 1_000 &+ step)
        }
        return Int(state.lines.lastPrice ?? 0) &+ Int(state.minutes.figures(now: state.now).trades ?? 0)
      }
    }
  }

  private static func book(levels: Int, perMessage: Int) -> PreparedBenchmark {
    let state = Book(levels: levels)
    var random = SeededGenerator(seed: 31)
    // Half of the updates hit the best level, a quarter the next, and so on; a fifth of them remove.
    let updates = (0..<(MicroBenchmark.batch * sets)).map { index in
      let rank = Int64(min(random.next().trailingZeroBitCount, 31))
      let size: Int64 = Int.random(in: 0..<5, using: &random) == 0 ? 0 : Int64.random(in: 1...1_000_000, using: &random)
      let isBid = index % perMessage < perMessage / 2 || (perMessage == 1 && index % 2 == 0)
      return PriceLevel(price: isBid ? Book.middle - 1 - rank : Book.middle + rank, size: size)
    }
    var set = 0
    return PreparedBenchmark {
      let begin = set * MicroBenchmark.batch
      set = (set + 1) % sets
      for start in stride(from: begin, to: begin + MicroBenchmark.batch, by: perMessage) {
        let half = perMessage == 1 ? (start % 2 == 0 ? 1 : 0) : perMessage / 2
        state.book.update(bids: updates[start..<(start + half)], asks: updates[(start + half)..<(start + perMessage)])
      }
      return state.book.bids.count &+ state.book.asks.count
    }
  }

  private final class Book {
    static let middle: Int64 = 6_412_350
    var book = OrderBook(depthLimit: 5_000)
    init(levels: Int) {
      let bids = (0..<Int64(levels)).map { PriceLevel(price: Self.middle - 1 - $0, size: 1_000 + $0) }
      let asks = (0..<Int64(levels)).map { PriceLevel(price: Self.middle + $0, size: 1_000 + $0) }
      book.replace(bids: bids[...], asks: asks[...])
    }
  }

  private final class Rings {
    var lines = RangeLines()
    var minutes = MinuteRing()
    var now = Timestamp(milliseconds: 1_790_000_000_000)
  }

  private final class Pulses {
    var merger = PulseMerger(instrument: InstrumentID(0))
    var now = Timestamp(milliseconds: 1_790_000_000_000)
  }

  private final class TradingMarket {
    private let bench = MarketBench()
    private(set) var changed = 0
    func trade(_ step: Int64) {
      bench.trade(step: step)
      changed &+= bench.changes.items.count
    }
  }
}

/// A market of one instrument with a live book, and what its last batch changed.
final class MarketBench {
  static let symbol = "binance:BTC-USDT"
  static let middle: Int64 = 6_412_350
  let instrument = Instrument(
    id: InstrumentID(0), venue: "binance", venueSymbol: "BTCUSDT", base: "BTC", quote: "USDT", priceScale: 2,
    sizeScale: 5)
  let market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
  var changes = MarketChanges()
  private(set) var now = Timestamp(milliseconds: 1_790_000_000_000)
  private var batch = EventBatch()
  private let tradeID = TradeID(3_735_683_259)

  init() {
    batch.append(instrument: instrument)
    for rank in 0..<Int64(1_000) {
      batch.bids.append(PriceLevel(price: Self.middle - 1 - rank, size: 1_000 + rank))
      batch.asks.append(PriceLevel(price: Self.middle + rank, size: 1_000 + rank))
    }
    batch.events.append(
      .book(BookEvent(instrument: instrument.id, kind: .snapshot, bidRange: 0..<1_000, askRange: 0..<1_000, time: now)))
    apply()
    trade(step: 1)
    quote(step: 1)
  }

  private func apply() {
    changes.removeAll()
    market.apply(batch, now: now, into: &changes)
    batch.removeAll()
  }

  func trade(step: Int64) {
    now = now + step
    batch.events.append(
      .trade(
        Trade(
          instrument: instrument.id, id: tradeID, price: Self.middle + (step & 63), size: 1 + step, side: .buy,
          time: now)))
    apply()
  }

  func quote(step: Int64) {
    now = now + 1
    batch.events.append(
      .quote(
        Quote(
          instrument: instrument.id, bid: Self.middle - 1, bidSize: 1 + now.microseconds % 9_999, ask: Self.middle,
          askSize: 1 + step, time: now)))
    apply()
  }

  /// Ten levels a side change, at the ranks 0 to 39.
  func book(step: Int64) {
    now = now + step + 1
    for k in 0..<Int64(10) {
      let rank = (k * 4 + step) % 40
      batch.bids.append(PriceLevel(price: Self.middle - 1 - rank, size: 1 + (now.microseconds &+ k) % 99_999))
      batch.asks.append(PriceLevel(price: Self.middle + rank, size: 1 + (now.microseconds &- k) % 99_999))
    }
    batch.events.append(
      .book(BookEvent(instrument: instrument.id, kind: .delta, bidRange: 0..<10, askRange: 0..<10, time: now)))
    apply()
  }
}
