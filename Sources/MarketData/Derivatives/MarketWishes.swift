/// What a venue sends of an instrument only while somebody wants it.
package struct MarketWishes: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let derivative = MarketWishes(rawValue: 1 << 0)
  package static let liquidations = MarketWishes(rawValue: 1 << 1)
}
