import Bytes
import MarketData

extension ByteBuffer {
  /// Appends `2026-08-26T15:16:16.637831Z`, without quotes (RFC 3339, microseconds).
  mutating func append(rfc3339 time: Timestamp) {
    let moment = CivilTime(microseconds: time.microseconds)
    append(padded: moment.date.year, 4)
    append("-")
    append(padded: moment.date.month, 2)
    append("-")
    append(padded: moment.date.day, 2)
    append("T")
    append(padded: moment.hour, 2)
    append(":")
    append(padded: moment.minute, 2)
    append(":")
    append(padded: moment.second, 2)
    append(".")
    append(padded: moment.microsecond, 6)
    append("Z")
  }

  private mutating func append(padded value: Int64, _ digits: Int) {
    var power: Int64 = 1
    for _ in 1..<digits { power *= 10 }
    while power > 0 {
      append(UInt8(ascii: "0") + UInt8(value / power % 10))
      power /= 10
    }
  }

  /// Appends what `body` does for each of `items`, with commas between.
  mutating func append<Items: Sequence>(separated items: Items, _ body: (Items.Element, inout ByteBuffer) -> Void) {
    var isFirst = true
    for item in items {
      if !isFirst { append(",") }
      isFirst = false
      body(item, &self)
    }
  }

  /// Appends a number in quotes, with exactly `scale` digits after the point.
  mutating func append(quoted value: Int64, scale: UInt8) {
    append(UInt8(ascii: "\""))
    append(decimal: value, scale: scale)
    append(UInt8(ascii: "\""))
  }

  /// Appends a number in quotes, without zeros at its end: 0.0100 is `"0.01"`.
  mutating func append(shortest value: Int64, scale: UInt8) {
    var number = Decimal64(mantissa: value, scale: scale)
    while number.scale > 0, number.mantissa % 10 == 0 {
      number.mantissa /= 10
      number.scale -= 1
    }
    append(UInt8(ascii: "\""))
    append(number)
    append(UInt8(ascii: "\""))
  }

  /// Appends `levels` as an array of pairs without zeros at the end of numbers.
  mutating func append(shortestPairs levels: some Sequence<PriceLevel>, _ instrument: SimulatedInstrument) {
    append("[")
    append(separated: levels) { level, out in
      out.append("[")
      out.append(shortest: level.price, scale: instrument.priceScale)
      out.append(",")
      out.append(shortest: level.size, scale: instrument.sizeScale)
      out.append("]")
    }
    append("]")
  }

  /// Appends what was traded in the last 24 h in the quote currency, in quotes, with eight digits at most.
  mutating func append(quoteVolumeOf state: InstrumentMarket) {
    let volume = state.quoteVolume
    append(quoted: volume.mantissa, scale: volume.scale)
  }

  /// Appends `["PRICE","SIZE"]`.
  mutating func append(pair level: PriceLevel, _ instrument: SimulatedInstrument) {
    append("[")
    append(quoted: level.price, scale: instrument.priceScale)
    append(",")
    append(quoted: level.size, scale: instrument.sizeScale)
    append("]")
  }

  /// Appends `levels` as an array of pairs.
  mutating func append(pairs levels: some Sequence<PriceLevel>, _ instrument: SimulatedInstrument) {
    append("[")
    append(separated: levels) { level, out in out.append(pair: level, instrument) }
    append("]")
  }
}

extension InstrumentMarket {
  /// What was traded in the last 24 h in the quote currency, with eight digits at most.
  var quoteVolume: Decimal64 {
    let scale = instrument.priceScale + instrument.sizeScale
    let excess = scale > 8 ? scale - 8 : 0
    return Decimal64(
      mantissa: Int64(clamping: day.turnover / Int128(DecimalText.power(excess))), scale: scale - excess)
  }
}

/// Level changes gathered over a venue's batch interval, to be sent in one message with each price once.
struct LevelBatch {
  private var bids: [Int64: Int64] = [:]
  private var asks: [Int64: Int64] = [:]

  var isEmpty: Bool { bids.isEmpty && asks.isEmpty }

  mutating func add(_ change: SimulatedChange) { add(bids: change.bids, asks: change.asks) }

  mutating func add(bids: [PriceLevel], asks: [PriceLevel]) {
    for level in bids { self.bids[level.price] = level.size }
    for level in asks { self.asks[level.price] = level.size }
  }

  mutating func removeAll() {
    bids.removeAll(keepingCapacity: true)
    asks.removeAll(keepingCapacity: true)
  }

  /// Best first.
  var sortedBids: [PriceLevel] { bids.map { PriceLevel(price: $0.key, size: $0.value) }.sorted { $0.price > $1.price } }
  var sortedAsks: [PriceLevel] { asks.map { PriceLevel(price: $0.key, size: $0.value) }.sorted { $0.price < $1.price } }
}

extension ByteBuffer {
  /// Appends an order id: a version 4 UUID made from `seed`.
  mutating func append(orderID seed: UInt64) {
    var random = MarketRandom(seed: seed)
    let words = (random.next(), random.next())
    for index in 0..<16 {
      if [4, 6, 8, 10].contains(index) { append("-") }
      var byte = UInt8(truncatingIfNeeded: (index < 8 ? words.0 : words.1) >> UInt64((index & 7) * 8))
      if index == 6 { byte = byte & 0x0F | 0x40 }
      if index == 8 { byte = byte & 0x3F | 0x80 }
      for nibble in [byte >> 4, byte & 15] {
        append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
      }
    }
  }
}
