import Bytes
import MarketData

// The data of binary records of figures, candles and lines; see `BinaryPrices.swift`.

extension TickerChannel {
  static func appendBinary(_ day: DayTicker, mark: ChannelMark?, now: Timestamp, to out: inout ByteBuffer) {
    let ticker = day.ticker
    let prices = [ticker.last, ticker.bid, ticker.ask, ticker.open, ticker.high, ticker.low]
    let decimals = [ticker.volume, ticker.quoteVolume, ticker.vwap]
    let change = ticker.change
    var wrapped: Int64?
    if change == nil, let last = ticker.last, let open = ticker.open { wrapped = last &- open }
    let percent = changePercent(of: ticker)
    var fields: UInt64 = 0
    for (bit, price) in prices.enumerated() where price != nil { fields |= 1 << UInt64(bit) }
    for (bit, value) in decimals.enumerated() where value != nil { fields |= 1 << UInt64(6 + bit) }
    if change != nil { fields |= 1 << 9 }
    if wrapped != nil { fields |= 1 << 10 }
    if percent != nil { fields |= 1 << 11 }
    if ticker.trades != nil { fields |= 1 << 12 }
    if !day.own.isEmpty { fields |= 1 << 13 }
    if day.coveredFrom != nil { fields |= 1 << 14 }
    if mark != nil { fields |= 1 << 15 }
    out.append(varint: fields)
    out.append(day.source.binaryCode)
    var previous: Int64 = 0
    for case let price? in prices {
      out.append(zigzag: price &- previous)
      previous = price
    }
    for case let value? in decimals { out.append(binary: value) }
    if let change { out.append(binary: change) }
    if let percent { out.append(zigzag: percent) }
    if let trades = ticker.trades { out.append(zigzag: trades) }
    if !day.own.isEmpty { out.append(day.own.rawValue) }
    if let coveredFrom = day.coveredFrom { out.append(zigzag: now.microseconds &- coveredFrom.microseconds) }
    out.append(zigzag: now.microseconds &- ticker.time.microseconds)
    mark?.appendBinary(to: &out)
  }
}

extension DayTicker.Source {
  fileprivate var binaryCode: UInt8 {
    switch self {
    case .venue: 0
    case .gateway: 1
    case .mixed: 2
    }
  }
}

extension CandlesChannel {
  static func appendBinary(
    _ candles: ArraySlice<Candle>, _ interval: CandleInterval, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    let sizeScale = Int(instrument.sizeScale)
    out.append(interval.rawValue)
    out.append(varint: UInt64(candles.count))
    // Candles open at multiples of their length.
    var (number, close): (Int64, Int64) = (0, 0)
    for candle in candles {
      let volume = Ratio.decimal(candle.volume, scale: sizeScale, digits: sizeScale)
      let quoteVolume = candle.quoteVolume.flatMap {
        Ratio.decimal(
          $0, scale: Int(instrument.priceScale) + sizeScale, digits: WindowFigures.quoteVolumeDigits)
      }
      var flags: UInt8 = candle.isClosed ? 1 : 0
      if volume != nil { flags |= 2 }
      if quoteVolume != nil { flags |= 4 }
      if candle.trades != nil { flags |= 8 }
      out.append(flags | candle.source.rawValue << 4)
      let own = candle.time.microseconds / interval.length
      out.append(zigzag: own - number)
      out.append(zigzag: candle.open &- close)
      out.append(zigzag: candle.high &- candle.open)
      out.append(zigzag: candle.low &- candle.open)
      out.append(zigzag: candle.close &- candle.open)
      if let volume { out.append(binary: volume) }
      if let quoteVolume { out.append(binary: quoteVolume) }
      if let trades = candle.trades { out.append(zigzag: trades) }
      out.append(varint: UInt64(candle.rev))
      (number, close) = (own, candle.close)
    }
  }
}

extension SparklineChannel {
  private static let change: UInt8 = 1
  private static let open: UInt8 = 2
  private static let amount: UInt8 = 4
  private static let percent: UInt8 = 8
  private static let rose: UInt8 = 16
  private static let fell: UInt8 = 32
  private static let covered: UInt8 = 64

  static func appendBinarySnapshot(_ line: Sparkline, now: Timestamp, to out: inout ByteBuffer) {
    out.append(flags(line.change) | (line.coveredFrom == nil ? 0 : covered))
    out.append(line.range.rawValue)
    out.append(zigzag: now.microseconds &- line.from.microseconds)
    out.append(zigzag: line.step / Microseconds.second)
    out.append(varint: UInt64(line.points.count))
    var previous: Int64 = 0
    for point in line.points {
      out.append(zigzag: point &- previous)
      previous = point
    }
    append(line.change, after: previous, to: &out)
    if let coveredFrom = line.coveredFrom { out.append(zigzag: now.microseconds &- coveredFrom.microseconds) }
    out.append(varint: UInt64(line.gaps.count))
    for gap in line.gaps {
      out.append(zigzag: now.microseconds &- gap.from.microseconds)
      out.append(zigzag: gap.to.microseconds &- gap.from.microseconds)
    }
  }

  static func appendBinaryUpdate(
    _ tip: SparklineTip, _ change: PriceChange?, now: Timestamp, to out: inout ByteBuffer
  ) {
    out.append(flags(change))
    out.append(varint: UInt64(clamping: tip.index))
    out.append(zigzag: tip.price)
    out.append(zigzag: now.microseconds &- tip.from.microseconds)
    append(change, after: tip.price, to: &out)
  }

  private static func flags(_ change: PriceChange?) -> UInt8 {
    guard let change else { return 0 }
    var flags = Self.change
    if change.open != nil { flags |= open }
    if change.change != nil { flags |= amount }
    if change.percent != nil { flags |= percent }
    if change.trend > 0 { flags |= rose }
    if change.trend < 0 { flags |= fell }
    return flags
  }

  private static func append(_ change: PriceChange?, after price: Int64, to out: inout ByteBuffer) {
    guard let change else { return }
    if let open = change.open { out.append(zigzag: open &- price) }
    if let amount = change.change { out.append(binary: amount) }
    if let percent = change.percent { out.append(zigzag: percent) }
  }
}
