import Bytes

/// The index of an instrument in its `Market`: consecutive from 0, never reused in a run.
@frozen
@usableFromInline
package struct InstrumentID: Sendable, Hashable, RawRepresentable {
  @usableFromInline package let rawValue: Int32
  @inlinable package init(rawValue: Int32) { self.rawValue = rawValue }
  @inlinable package init(_ index: Int) { self.rawValue = Int32(index) }
  @inlinable package var index: Int { Int(rawValue) }
}

/// One market of one venue.
///
/// **Sizes are in units of the base asset, on every venue and for every kind.** A venue that counts contracts has its
/// sizes multiplied by `contractSize` as they are read, exactly: the size scale has the digits of both. Inverse
/// contracts, which are worth a fixed sum of the quote currency, have no exact size in base units and are not carried.
package struct Instrument: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case spot
    case perpetual
    /// Expires on a day written `20261225`.
    case future(expiry: String)

    /// The kind without its details.
    package enum Family: String, Sendable, Hashable, CaseIterable { case spot, perpetual, future }

    package var family: Family {
      switch self {
      case .spot: .spot
      case .perpetual: .perpetual
      case .future: .future
      }
    }
  }

  package let id: InstrumentID
  /// The venue's name in symbols: `kraken`.
  package let venue: String
  /// The gateway's symbol: `kraken:BTC-USD`.
  package let symbol: String
  /// The venue's own name: `BTC/USD`, `BTCUSDT`.
  package let venueSymbol: String
  package let base: String
  package let quote: String
  package let kind: Kind
  /// Digits after the point in prices, as the venue prints them. A price is an `Int64` count of 10^-`priceScale`.
  package var priceScale: UInt8
  /// Base units in one unit of the venue's own sizes: 1 where it counts in base units, 0.01 where a contract is a
  /// hundredth of a bitcoin. Without trailing zeros, above 0.
  package let contractSize: Decimal64
  /// Digits after the point in sizes: as the venue prints them, and those of `contractSize` more. A size is an `Int64`
  /// count of 10^-`sizeScale` base units.
  package var sizeScale: UInt8
  /// The smallest step of a price; nil until the venue has said it.
  package var priceIncrement: Decimal64?
  /// The smallest step of a size in base units; nil until the venue has said it.
  package var sizeIncrement: Decimal64?

  package init(
    id: InstrumentID, venue: String, venueSymbol: String, base: String, quote: String, kind: Kind = .spot,
    contractSize: Decimal64 = Decimal64(mantissa: 1, scale: 0), priceScale: UInt8, sizeScale: UInt8,
    priceIncrement: Decimal64? = nil, sizeIncrement: Decimal64? = nil
  ) {
    self.id = id
    self.venue = venue
    self.venueSymbol = venueSymbol
    self.base = base
    self.quote = quote
    self.kind = kind
    self.contractSize = contractSize
    self.priceScale = priceScale
    self.sizeScale = sizeScale
    self.priceIncrement = priceIncrement
    self.sizeIncrement = sizeIncrement
    switch kind {
    case .spot: self.symbol = "\(venue):\(base)-\(quote)"
    case .perpetual: self.symbol = "\(venue):\(base)-\(quote)-PERP"
    case .future(let expiry): self.symbol = "\(venue):\(base)-\(quote)-\(expiry)"
    }
  }
}
