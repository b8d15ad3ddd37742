import Bytes

/// The unsent items of a connection after the first: shared frames by reference, other bytes as copies, in order.
///
/// A connection has one only while it needs it; loops keep a few for reuse.
final class WriteQueue {
  private struct Item {
    /// Nil: the next `count` bytes of `copied`.
    var shared: SharedBytes?
    var count: Int
  }

  @exclusivity(unchecked) private var items: ContiguousArray<Item> = []
  @exclusivity(unchecked) private var head = 0
  @exclusivity(unchecked) private var copied = ByteBuffer()
  @exclusivity(unchecked) private var copiedPeak = 0

  var isEmpty: Bool { head == items.count }

  @inline(__always)
  func append(_ bytes: SharedBytes) {
    items.append(Item(shared: bytes, count: bytes.count))
  }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) {
    copied.append(bytes)
    copiedPeak = max(copiedPeak, copied.count)
    if let last = items.indices.last, last >= head, items[last].shared == nil {
      items[last].count += bytes.count
    } else {
      items.append(Item(shared: nil, count: bytes.count))
    }
  }

  /// Calls `body` with the unsent pieces in order until it returns false.
  @inline(__always)
  func forEachPiece(_ body: (UnsafeRawBufferPointer) -> Bool) {
    var copiedOffset = 0
    for index in head..<items.count {
      let count = items[index].count
      let piece: UnsafeRawBufferPointer
      if let shared = items[index].shared {
        piece = UnsafeRawBufferPointer(start: shared.start + (shared.count - count), count: count)
      } else {
        piece = UnsafeRawBufferPointer(rebasing: copied.unsafeBytes[copiedOffset..<copiedOffset + count])
        copiedOffset += count
      }
      if !body(piece) { return }
    }
  }

  /// Drops the first `count` bytes.
  func consume(_ count: Int) {
    var left = count
    while left > 0 {
      let taken = min(left, items[head].count)
      if items[head].shared == nil { copied.consume(taken) }
      left -= taken
      if taken == items[head].count {
        items[head].shared = nil
        head += 1
      } else {
        items[head].count -= taken
      }
    }
    if head == items.count {
      items.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 64, head * 2 >= items.count {
      items.removeFirst(head)
      head = 0
    }
  }

  /// Drops everything.
  func removeAll() {
    items.removeAll(keepingCapacity: true)
    head = 0
    copied.removeAll()
  }

  /// Whether its memory is small enough to be kept for the next user.
  var isWorthKeeping: Bool { items.capacity <= 256 && copiedPeak <= 64 << 10 }
}
