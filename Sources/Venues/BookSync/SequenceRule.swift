/// The numbers by which a venue links a book's updates to each other and to a snapshot.
struct UpdateNumbers: Equatable {
  /// First and last update id that the message covers.
  var first: Int64
  var last: Int64
  /// The last id of the message before it, where the venue sends it (Binance futures `pu`); otherwise 0.
  var previous: Int64 = 0
}

/// A venue's rule for the numbers of its book updates. Data, so that a venue with another rule needs no other machine.
/// A class, as every book message looks at it: a copy of its closures takes five retains.
final class SequenceRule: Sendable {
  /// Whether all of `update` is in a snapshot taken at `snapshot`, so that it is to be dropped.
  let isOld: @Sendable (_ update: UpdateNumbers, _ snapshot: Int64) -> Bool
  /// Whether `update` is the first to be applied to a snapshot taken at `snapshot`, with no hole between.
  let joins: @Sendable (_ update: UpdateNumbers, _ snapshot: Int64) -> Bool
  /// Whether `update`, after one that ended at `last`, brings nothing new: it is that one again, or, where the
  /// numbers only ever rise, an older one.
  let isRepeat: @Sendable (_ update: UpdateNumbers, _ last: Int64) -> Bool
  /// Whether `update` follows the update that ended at `last` with no hole between.
  let follows: @Sendable (_ update: UpdateNumbers, _ last: Int64) -> Bool
  /// Whether an update that follows shows that none is missing before it: false where only their order is known, and
  /// the same again may be another one.
  let provesLinks: Bool
  /// False where the numbers are times: what is older than a snapshot is in it, and nothing tells a hole. Then a
  /// snapshot must not be older than anything that was not kept.
  let isNumbered: Bool
  /// Whether `update` may be the whole book, where nothing but its numbers tells a snapshot from a change: it is, if
  /// the book awaits one.
  let mayBeWhole: @Sendable (_ update: UpdateNumbers) -> Bool

  init(
    isOld: @escaping @Sendable (_ update: UpdateNumbers, _ snapshot: Int64) -> Bool = { _, _ in false },
    joins: @escaping @Sendable (_ update: UpdateNumbers, _ snapshot: Int64) -> Bool,
    isRepeat: @escaping @Sendable (_ update: UpdateNumbers, _ last: Int64) -> Bool = { _, _ in false },
    follows: @escaping @Sendable (_ update: UpdateNumbers, _ last: Int64) -> Bool, provesLinks: Bool = true,
    isNumbered: Bool = true, mayBeWhole: @escaping @Sendable (_ update: UpdateNumbers) -> Bool = { _ in false }
  ) {
    self.isOld = isOld
    self.joins = joins
    self.isRepeat = isRepeat
    self.follows = follows
    self.provesLinks = provesLinks
    self.isNumbered = isNumbered
    self.mayBeWhole = mayBeWhole
  }

  /// Binance spot, "How to manage a local order book correctly": drop `u <= L`; first `U <= L+1 <= u`; then `U <=
  /// last+1`. A new symbol answers `lastUpdateId` -1 with an empty book, which every update joins. Nothing follows
  /// the largest number.
  static let binanceSpot = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in snapshot < 0 || (update.first <= snapshot &+ 1 && update.last >= snapshot &+ 1) },
    isRepeat: { update, last in update.last <= last },
    follows: { update, last in update.first <= last &+ 1 })

  /// Binance futures, "How to manage a local order book correctly": drop `u < L`; first `U <= L <= u`, or `pu == L`,
  /// as live streams have been seen to continue a snapshot; then `pu == last`. Numbers are those of the whole
  /// matching engine, so `U` jumps.
  static let binanceFutures = SequenceRule(
    isOld: { update, snapshot in update.last < snapshot },
    joins: { update, snapshot in
      snapshot < 0 || update.previous == snapshot || (update.first <= snapshot && update.last >= snapshot)
    },
    isRepeat: { update, last in update.last == last },
    follows: { update, last in update.previous == last })
}
