import MarketData

/// A configured symbol taken apart: `BTC-USD` is base `BTC` and quote `USD`, `BTC-USDT-PERP` a perpetual,
/// `BTC-USDT-20261225` a future that expires on that day (UTC).
package struct FeedSymbol: Hashable, Sendable {
  package let base: String
  package let quote: String
  package let kind: Instrument.Kind

  /// Nil unless it is two non-empty names joined by one dash, and behind another dash `PERP` or a day that there can
  /// be.
  package init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    base = String(parts[0])
    quote = String(parts[1])
    switch parts.count {
    case 2: kind = .spot
    case _ where parts[2] == "PERP": kind = .perpetual
    default:
      let expiry = String(parts[2])
      guard Self.isDay(expiry) else { return nil }
      kind = .future(expiry: expiry)
    }
  }

  package init(base: String, quote: String, kind: Instrument.Kind = .spot) {
    self.base = base
    self.quote = quote
    self.kind = kind
  }

  /// What an instrument was configured by.
  init(_ instrument: Instrument) {
    self.init(base: instrument.base, quote: instrument.quote, kind: instrument.kind)
  }

  /// As it is configured.
  package var text: String {
    switch kind {
    case .spot: "\(base)-\(quote)"
    case .perpetual: "\(base)-\(quote)-PERP"
    case .future(let expiry): "\(base)-\(quote)-\(expiry)"
    }
  }

  static let advice =
    "write base and quote joined by a dash, as in BTC-USD; BTC-USDT-PERP is a perpetual, BTC-USDT-20261225 a dated future"

  /// `20261225`
  private static func isDay(_ text: String) -> Bool {
    guard text.utf8.count == 8, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else {
      return false
    }
    return number >= 1970_00_00 && (1...12).contains(number / 100 % 100) && (1...31).contains(number % 100)
  }
}
