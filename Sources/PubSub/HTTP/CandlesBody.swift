import Bytes
import MarketData

/// The answer with the candles of an instrument, from the same encoder as the stream's messages.
package struct CandlesBody {
  package var instrument: Instrument
  package var interval: CandleInterval
  /// In order of time, at the instrument's scales.
  package var candles: [Candle]
  /// The times in which the market was not observed, in order of time.
  package var gaps: [TimeSpan]
  /// The end of the previous page; nil if there is none.
  package var next: Timestamp?

  package init(
    _ instrument: Instrument, _ interval: CandleInterval, _ candles: [Candle], gaps: [TimeSpan], next: Timestamp?
  ) {
    self.instrument = instrument
    self.interval = interval
    self.candles = candles
    self.gaps = gaps
    self.next = next
  }

  /// Identifies the text without making it: equal for equal texts, in every run of the gateway. O(candles).
  package func add(to tag: inout ContentTag) {
    tag.add(UInt64(instrument.priceScale) << 16 | UInt64(instrument.sizeScale) << 8 | UInt64(interval.rawValue))
    tag.add(UInt64(candles.count))
    for candle in candles {
      tag.add(candle.time.microseconds)
      for price in [candle.open, candle.high, candle.low, candle.close] { tag.add(price) }
      tag.add(UInt64(truncatingIfNeeded: candle.volume))
      tag.add(UInt64(truncatingIfNeeded: candle.volume >> 64))
      tag.add(UInt64(truncatingIfNeeded: candle.quoteVolume ?? -1))
      tag.add(UInt64(truncatingIfNeeded: (candle.quoteVolume ?? -1) >> 64))
      tag.add(candle.trades ?? -1)
      tag.add(UInt64(candle.rev) << 16 | UInt64(candle.source.rawValue) << 8 | (candle.isClosed ? 1 : 0))
    }
    tag.add(UInt64(gaps.count))
    for gap in gaps {
      tag.add(gap.from.microseconds)
      tag.add(gap.to.microseconds)
    }
    tag.add(next?.microseconds ?? -1)
  }

  /// `,"interval":"1m","candles":[…],"gaps":[…],"next":…`
  package func append(to out: inout ByteBuffer) {
    out.append(UInt8(ascii: ","))
    CandlesChannel.appendFields(candles[...], interval, of: instrument, to: &out)
    out.append(",\"gaps\":[")
    for (index, gap) in gaps.enumerated() {
      out.append(index == 0 ? "{\"from\":" : ",{\"from\":")
      out.append(integer: gap.from.microseconds)
      out.append(",\"to\":")
      out.append(integer: gap.to.microseconds)
      out.append(UInt8(ascii: "}"))
    }
    out.append(UInt8(ascii: "]"))
    if let next {
      out.append(",\"next\":")
      out.append(integer: next.microseconds)
    }
  }
}
