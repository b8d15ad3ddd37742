/// Numbers of trades that a venue counts without holes.
enum TradeSequence {
  /// A jump over more numbers than this says nothing of how many trades are missing: a venue may renumber. A busy
  /// market has a hundred trades a second, and this many in three hours.
  static let countable: Int64 = 1_000_000

  /// How many numbers lie between the last trade and the next: trades that never came. 0 before the first (`last` 0),
  /// and where numbers go back. Any two numbers may be given, since a venue may send any.
  /// - Parameter fills: how many numbers the next trade stands for, its own being the last of them.
  static func missed(after last: Int64, before next: Int64, fills: Int64 = 1) -> Int {
    last > 0 && next > last && next - last > fills ? Int(next - last - fills) : 0
  }
}
