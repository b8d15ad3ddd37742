import Bytes
import Glibc

/// Bytes of a connection that the kernel has not taken yet, in order.
///
/// The first item has its own property, because most clients get one shared frame in most turns. Further items go into
/// a queue, which the connection borrows from the loop while it has any.
struct UnsentBytes: ~Copyable {
  private(set) var count = 0
  private var first: SharedBytes?
  /// The sent bytes of `first`.
  private var firstSent = 0
  /// The items after `first`.
  private var rest: WriteQueue?

  /// Adds bytes that are shared with others; they are retained, not copied.
  @inline(__always)
  mutating func append(_ bytes: SharedBytes, on loop: EventLoop) {
    count &+= bytes.count
    if first == nil, rest == nil {
      first = bytes
    } else {
      openRest(on: loop).append(bytes)
    }
  }

  /// Adds `bytes` without its first `sent` bytes.
  mutating func append(_ bytes: SharedBytes, from sent: Int, on loop: EventLoop) {
    guard first == nil, rest == nil else {
      count &+= bytes.count &- sent
      return openRest(on: loop).append(UnsafeRawBufferPointer(rebasing: bytes.unsafeBytes[sent...]))
    }
    count &+= bytes.count &- sent
    first = bytes
    firstSent = sent
  }

  /// Adds a copy of `bytes`.
  @inline(__always)
  mutating func append(_ bytes: RawSpan, on loop: EventLoop) {
    count &+= bytes.byteCount
    let rest = openRest(on: loop)
    bytes.withUnsafeBytes { rest.append($0) }
  }

  @inline(__always)
  private mutating func openRest(on loop: EventLoop) -> WriteQueue {
    if let rest { return rest }
    let queue = loop.memory.borrowQueue()
    rest = queue
    return queue
  }

  /// All bytes, if they are one shared item; otherwise nil.
  @inline(__always)
  var only: UnsafeRawBufferPointer? {
    guard rest == nil, let first else { return nil }
    return UnsafeRawBufferPointer(start: first.start + firstSent, count: first.count &- firstSent)
  }

  /// Drops the item that `only` returns.
  @inline(__always)
  mutating func removeOnly() {
    first = nil
    firstSent = 0
    count = 0
  }

  /// The pieces in order, until `body` returns false.
  @inline(__always)
  func forEachPiece(_ body: (UnsafeRawBufferPointer) -> Bool) {
    if let first {
      guard body(UnsafeRawBufferPointer(start: first.start + firstSent, count: first.count - firstSent)) else { return }
    }
    rest?.forEachPiece(body)
  }

  /// Copies to `target` until it is full; returns how many bytes.
  func gather(into target: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    forEachPiece { piece in
      let count = min(piece.count, target.count - filled)
      (target.baseAddress.unsafelyUnwrapped + filled).copyMemory(
        from: piece.baseAddress.unsafelyUnwrapped, byteCount: count)
      filled += count
      return filled < target.count
    }
    return filled
  }

  /// Calls `body` with as many pieces as `vectors` has room for, without copying them, and with their number of bytes.
  func withVectors<Result>(
    _ limit: Int, _ body: (_ pieces: UnsafeMutableBufferPointer<iovec>, _ bytes: Int) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: limit) { vectors in
      var count = 0
      var offered = 0
      forEachPiece { piece in
        vectors[count] = iovec(iov_base: UnsafeMutableRawPointer(mutating: piece.baseAddress), iov_len: piece.count)
        count += 1
        offered += piece.count
        return count < limit
      }
      return body(UnsafeMutableBufferPointer(start: vectors.baseAddress, count: count), offered)
    }
  }

  /// Drops the first `sent` bytes, at most `count`.
  mutating func consume(_ sent: Int, on loop: EventLoop) {
    count -= sent
    var left = sent
    if let item = first {
      let taken = min(left, item.count - firstSent)
      firstSent += taken
      left -= taken
      if firstSent == item.count {
        first = nil
        firstSent = 0
      }
    }
    if left > 0 { rest?.consume(left) }
    if count == 0 { giveBack(to: loop) }
  }

  /// Drops everything.
  mutating func removeAll(on loop: EventLoop) {
    first = nil
    firstSent = 0
    count = 0
    giveBack(to: loop)
  }

  private mutating func giveBack(to loop: EventLoop) {
    guard let queue = rest else { return }
    rest = nil
    loop.memory.giveBack(queue)
  }
}
