/// Notices that a venue which numbers the trades of an instrument has begun its numbers anew.
struct TradeNumbering {
  /// The highest number since the last beginning, and the newest time; nil before the first trade. The number is nil
  /// while ids are no numbers.
  private var highest: (id: TradeID, number: UInt64?, time: Timestamp)?
  /// The last id before a beginning that no published trade has shown yet: the trades since then were history.
  private var pending: TradeID?

  /// Notes a trade in the order of arrival. Returns the last id of the earlier numbers if the trade is the first
  /// published one of new numbers: newer than every earlier trade, and with a lower id or an id of another form. A
  /// trade that is late or comes again is neither. O(1).
  mutating func note(_ trade: Trade, at time: Timestamp) -> TradeID? {
    let number = trade.id.number
    if let last = highest {
      if time > last.time, !trade.id.isEmpty {
        if (number ?? .max) < (last.number ?? .min) || (number == nil) != (last.number == nil) { pending = last.id }
        highest = (trade.id, number, time)
      } else if let number, let known = last.number, number > known {
        highest = (trade.id, number, last.time)
      }
    } else if !trade.id.isEmpty {
      highest = (trade.id, number, time)
    }
    guard !trade.isBacklog, let before = pending else { return nil }
    pending = nil
    return before
  }
}

/// A venue that numbers its trades began the numbers of an instrument anew.
package struct Renumbering: Sendable {
  package var instrument: InstrumentID
  /// The last id of the earlier numbers.
  package var before: String
  /// The first of the new ones.
  package var after: String

}

/// The beginnings of new numbers in a market that nobody has taken yet, at most `limit`.
struct Renumberings {
  private static let limit = 16

  /// All there were.
  private(set) var count = 0
  private var waiting: [Renumbering] = []

  mutating func note(_ instrument: InstrumentID, before: TradeID, after: TradeID) {
    count += 1
    guard waiting.count < Self.limit else { return }
    waiting.append(Renumbering(instrument: instrument, before: before.text, after: after.text))
  }

  mutating func take() -> [Renumbering] {
    guard !waiting.isEmpty else { return [] }
    defer { waiting = [] }
    return waiting
  }
}
