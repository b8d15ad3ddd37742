import Bytes
import MarketData

extension ByteBuffer {
  /// Appends `2026-08-26T15:16:16.637831Z`, without quotes (RFC 3339, microseconds).
  mutating func append(rfc3339 time: Timestamp) { append(CivilTime(microseconds: time.microseconds).description) }

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
}

extension InstrumentMarket {
  /// What was traded in the last 24 h in the quote currency, with eight digits at most.
  var quoteVolume: Decimal64 { instrument.quoteUnits(day.turnover) }
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
