/// Data of an instrument that a venue sends only while a client wants it.
package struct MarketWishes: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let derivative = MarketWishes(rawValue: 1 << 0)
  package static let liquidations = MarketWishes(rawValue: 1 << 1)
  /// The settlements of its funding so far.
  package static let fundingHistory = MarketWishes(rawValue: 1 << 2)
}
