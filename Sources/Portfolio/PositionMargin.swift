import Bytes

/// When the venue closes a position that has a margin of its own (isolated): where `entry` × size ÷ leverage, and what
/// was won since, is no more than the required part of the value at the mark. This is the formula of linear contracts
/// as Binance and OKX publish it, without fees and without the deductions of large positions.
extension PositionReading {
  /// `entry` × (leverage ∓ 1) ÷ (leverage × (1 ∓ maintenance)), the upper signs for a long. Nil if the required margin
  /// is unknown, or if no price is low enough: a long without leverage.
  func liquidationPrice() throws(WideDecimal.Failure) -> WideDecimal? {
    guard let maintenance else { return nil }
    let (one, leverage) = (WideDecimal(1), WideDecimal(leverage))
    let isLong = side == .long
    let held = try isLong ? leverage.minus(one) : leverage.plus(one)
    guard !held.isZero else { return nil }
    let required = WideDecimal(maintenance)
    let kept = try isLong ? one.minus(required) : one.plus(required)
    return try WideDecimal(entry).times(held).divided(by: leverage.times(kept), digits: Valuation.digits)
  }

  /// 100 × maintenance × mark × leverage ÷ (`entry` + won × leverage), of which the size is no part. Nil if the
  /// required margin or the mark is unknown, or if nothing of the own margin is left.
  func marginPercent() throws(WideDecimal.Failure) -> WideDecimal? {
    guard let maintenance, let mark = mark.price.map({ WideDecimal($0) }) else { return nil }
    let (entry, leverage) = (WideDecimal(entry), WideDecimal(leverage))
    let moved = try mark.minus(entry)
    let left = try (side == .long ? moved : -moved).times(leverage).plus(entry)
    return Valuation.percent(try WideDecimal(maintenance).times(mark).times(leverage), of: left)
  }
}
