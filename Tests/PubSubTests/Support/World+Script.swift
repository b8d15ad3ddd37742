import Bytes
import MarketData
import TestSupport

@testable import PubSub

/// What happens on the markets of a `World`, from a seed.
extension World {
  private func ticker(last: Int64) {
    apply {
      var ticker = Ticker(instrument: InstrumentID(0), time: now)
      (ticker.last, ticker.open) = (last, 640_000)
      ticker.volume = Decimal64(mantissa: last, scale: 2)
      $0.events.append(.ticker(ticker))
    }
  }

  /// Trades, quotes, books and figures, most of them near one price, with books that are lost and found.
  func play(steps: Int, seed: UInt64, loops: ClosedRange<Int> = 0...0) {
    var random = SeededGenerator(seed: seed)
    for step in 0..<steps {
      let loop = Int.random(in: loops, using: &random)
      let price = 641_230 + Int64.random(in: -9...9, using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<3: trade(loop, id: UInt64(1_000 + step), price: price, side: step % 2 == 0 ? .buy : .sell)
      case 3..<7:
        book(
          loop, .delta, bids: [(price - 20, Int64.random(in: 0...3, using: &random))],
          asks: [(price + 20, Int64.random(in: 0...3, using: &random)), (price + 21, 5)])
      case 7 where loop == 0: quote(price - 11, price + 11)
      case 8 where loop == 0: ticker(last: price)
      case 9 where step % 3 == 0: apply(loop) { $0.events.append(.bookReset(InstrumentID(0), .gap)) }
      case 9, 10:
        book(
          loop, .snapshot, bids: (0..<30).map { (641_200 - $0, 1 + $0) }, asks: (0..<30).map { (641_260 + $0, 2 + $0) })
      default: run(milliseconds: 300)
      }
      settle()
    }
    run(milliseconds: 6_000)
  }

  /// Changes that a market reports seldom.
  func playRareChanges() {
    let (from, to) = (now, now + 3 * Microseconds.second)
    var hole = TradeHole(first: 11, last: 13, count: 3, from: from, to: to, covers: TimeSpan(from: from, to: to))
    hole.isSearched = true
    trade(id: 10_000, price: 641_230)
    apply { $0.events.append(.tradesMissing(InstrumentID(0), hole)) }
    hole.found = 2
    apply { $0.events.append(.tradesSearched(InstrumentID(0), hole)) }
    settle()
    for state in [ChannelState.doubted, .silent(attempt: 1), .silent(attempt: 2), .live] {
      for channel in MarketChannel.allCases {
        changes.removeAll()
        changes.items.append(.channel(InstrumentID(0), channel, state))
        publish(0)
      }
      settle()
    }
    trade(id: 10_001, price: 641_240)
    changes.removeAll()
    changes.trades.append(
      Trade(instrument: InstrumentID(0), id: TradeID(12_000), price: 641_250, size: 7, side: .buy, time: now))
    changes.items.append(.tradeGap(InstrumentID(0), 0..<1))
    publish(0)
    changes.removeAll()
    changes.items.append(.past(InstrumentID(0)))
    publish(0)
    settle()
    var instrument = markets[0][InstrumentID(0)].instrument
    instrument.priceScale = 2
    trade(id: 12_001, price: 641_260)
    apply { $0.append(instrument: instrument) }
    settle()
    run(milliseconds: 6_000)
  }
}
