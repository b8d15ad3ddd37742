import Bytes
import MarketData

/// Every trade kept, and windows worked out from all of them: slow and plain, to compare rings with.
struct TradeHistory {
  struct Entry {
    var price: Int64
    var size: Int64
    var time: Int64
    var arrival: Int
  }

  var length: Int64
  var count: Int64
  /// By time, of equal times by arrival.
  private(set) var entries: [Entry] = []
  /// The newest bucket seen.
  private(set) var head = Int64.min

  init(length: Int64, count: Int) {
    self.length = length
    self.count = Int64(count)
  }

  static func floor(_ a: Int64, _ b: Int64) -> Int64 { a / b - (a % b < 0 ? 1 : 0) }

  mutating func add(price: Int64, size: Int64, time: Int64) {
    let entry = Entry(price: price, size: size, time: time, arrival: entries.count)
    let place = entries.lastIndex { $0.time <= time }.map { $0 + 1 } ?? 0
    entries.insert(entry, at: place)
    head = max(head, Self.floor(time, length))
  }

  mutating func advance(to now: Int64) { if !entries.isEmpty { head = max(head, Self.floor(now, length)) } }

  func trades(inBucket number: Int64) -> [Entry] { entries.filter { Self.floor($0.time, length) == number } }

  func trades(inWindowAt now: Int64) -> [Entry] {
    let last = max(head, Self.floor(now, length))
    return entries.filter { Self.floor($0.time, length) > last - count }
  }
}
