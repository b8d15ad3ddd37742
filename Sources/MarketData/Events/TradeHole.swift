/// Consecutive trades of an instrument that exist by the venue's numbering and have not arrived.
package struct TradeHole: Sendable, Equatable {
  /// The numbers of the first and the last of them.
  package var first: Int64
  package var last: Int64
  /// How many they are, 1 or more. Nil where the numbers jumped further than trades can be counted: the venue may have
  /// renumbered, and how many are missing, if any, is unknown.
  package var count: Int64?
  /// How many of them have arrived since, late or by REST.
  package var found: Int64 = 0
  /// The venue's times of the trades before and after them.
  package var from: Timestamp
  package var to: Timestamp
  /// The time that counts as observed once all of them are there: from the arrival of the trade before, if that is
  /// earlier than its time, to the arrival of the one after.
  package var covers: TimeSpan
  /// Whether the gateway asks the venue for them.
  package var isSearched = false

  package init(first: Int64, last: Int64, count: Int64?, from: Timestamp, to: Timestamp, covers: TimeSpan) {
    self.first = first
    self.last = last
    self.count = count
    self.from = from
    self.to = to
    self.covers = covers
  }

  /// How many are still missing; nil if that is unknown.
  package var missing: Int64? { count.map { max(0, $0 - found) } }
}
