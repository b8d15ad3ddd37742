import Bytes
import MarketData

/// The lowest part of a large card.
extension PriceCard {
  /// High, low and volume of 24 h in three columns.
  func day(_ out: inout ByteBuffer) {
    let scale = figures.instrument.priceScale
    let quote = figures.instrument.quote
    let prices = [figures.high, figures.low].map { price in
      price.map { PriceWords($0, scale: scale, currency: quote) }.map { $0.sign + $0.digits } ?? "–"
    }
    let volume = figures.volume.map { PriceWords($0.mantissa, scale: $0.scale, currency: "").digits } ?? "–"
    let columns = [("24H HIGH", prices[0]), ("24H LOW", prices[1]), ("24H VOLUME", volume)]
    for (index, (label, value)) in columns.enumerated() {
      let x = 16 + Double(index) * 102
      text(label, x: x, y: 283, size: 10, weight: 500, opacity: 50, spacing: "0.1em", to: &out)
      text(value, x: x, y: 302, size: 13, weight: 500, opacity: 70, spacing: "0", room: 94, to: &out)
    }
  }

  /// The shielded pool: its share of the supply, its amount, and its change of 24 h.
  func shielded(_ pool: ShieldedPool, _ out: inout ByteBuffer) {
    text("SHIELDED POOL", x: 16, y: 281, size: 10, weight: 500, opacity: 50, spacing: "0.1em", to: &out)
    text("\(pool.percentText)%", x: 16, y: 306, size: 20, weight: 600, room: 110, to: &out)
    if let amount = pool.amountText(figures.instrument.base) {
      text(amount, x: right, y: 306, size: 13, weight: 500, opacity: 70, end: true, room: 170, to: &out)
    }
    if let change = pool.changeText, let hundredths = pool.changeHundredths {
      text(
        change, x: right, y: 329, size: 12, weight: 500, end: true,
        colour: hundredths == 0 ? "#fff" : hundredths > 0 ? Self.up : Self.down, room: 150, to: &out)
    }
  }
}
