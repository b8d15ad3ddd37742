import Bytes
import MarketData

/// What a simulated venue says of a contract beside its trades and its book: a function of the market's state and the
/// time, so that it draws no random number and a seed gives the same trades with it and without it.
struct SimulatedDerivative {
  /// The time between two settlements, µs.
  static let interval = 8 * Microseconds.hour
  /// Digits after the point of a rate.
  static let rateScale: UInt8 = 8
  /// One trade in so many is the end of somebody's position.
  static let liquidationShare: Int64 = 16

  /// Counts of 10^-`scale`, two digits more than the market's prices have.
  let mark: Int64
  let index: Int64
  let scale: UInt8
  /// A count of 10^-`rateScale`, per interval.
  let rate: Int64
  let settlement: Timestamp
  /// One-sided, in the venue's own sizes: contracts where it counts those.
  let openInterest: Int64
  /// The same in base units.
  let openInterestBase: Decimal64
  /// The same in the quote currency, with two digits.
  let openInterestQuote: Int64

  init(_ state: InstrumentMarket, now: Timestamp, interval: Int64 = interval) {
    let instrument = state.instrument
    let middle =
      if let bid = state.book.bestBid?.price, let ask = state.book.bestAsk?.price { (bid + ask) * 50 } else {
        state.day.last * 100
      }
    // The contract is worth a little more or less than what it is about, by turns: within 5 hundredths of a percent.
    let premium = Self.premium(instrument, now)
    scale = instrument.priceScale + 2
    index = max(1, middle - middle / 10_000 * premium)
    mark = max(1, (index + middle) / 2)
    rate = (mark - index) * Int64(DecimalText.power(Self.rateScale)) / index
    settlement = Timestamp(microseconds: (now.microseconds / interval + 1) * interval)
    openInterest = instrument.lot * (100_000 + state.sequence % 10_000)
    openInterestBase = instrument.baseUnits(openInterest)
    let value = Int128(openInterestBase.mantissa) * Int128(mark)
    let digits = Int(openInterestBase.scale + scale) - 2
    openInterestQuote = Int64(clamping: value / Int128(DecimalText.power(UInt8(min(max(digits, 0), 18)))))
  }

  private static func premium(_ instrument: SimulatedInstrument, _ time: Timestamp) -> Int64 {
    let minute = time.microseconds / Microseconds.minute
    return (minute * 37 + instrument.venueSymbol.utf8.reduce(0) { $0 + Int64($1) }) % 11 - 5
  }

  /// The last settlements of a perpetual before `now`, newest first, with rates as counts of 10^-`rateScale`.
  static func settlements(
    of instrument: SimulatedInstrument, before now: Timestamp, count: Int
  ) -> [(time: Timestamp, rate: Int64)] {
    let last = now.microseconds / interval
    return (0..<Int64(count)).map { back in
      let time = Timestamp(microseconds: (last - back) * interval)
      return (time, premium(instrument, time) * 5_000)
    }
  }

  /// Whether a trade is the end of a position: of a long one if it sold.
  static func isLiquidation(_ trade: SimulatedTrade) -> Bool { trade.id % liquidationShare == 0 }
}

extension Speller {
  /// The figures of a contract.
  func derivative(now: Timestamp, interval: Int64 = SimulatedDerivative.interval) -> SimulatedDerivative {
    SimulatedDerivative(state, now: now, interval: interval)
  }
  func mark(_ derivative: SimulatedDerivative) -> Spelled { number(derivative.mark, derivative.scale) }
  func index(_ derivative: SimulatedDerivative) -> Spelled { number(derivative.index, derivative.scale) }
  func rate(_ derivative: SimulatedDerivative) -> Spelled { rate(derivative.rate) }
  func rate(_ rate: Int64) -> Spelled { number(rate, SimulatedDerivative.rateScale) }

  /// The last settlements of funding, newest first.
  func settlements(_ count: Int, now: Timestamp) -> [(time: Timestamp, rate: Int64)] {
    SimulatedDerivative.settlements(of: state.instrument, before: now, count: count)
  }
}
