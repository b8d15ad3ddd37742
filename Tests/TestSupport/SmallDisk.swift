import Glibc
import Synchronization

/// A disk with space for a number of bytes in all its files. The write that exceeds it is done in part.
package final class SmallDisk: Sendable {
  private let left: Mutex<Int>

  package init(capacity: Int) { left = Mutex(capacity) }

  package func grow(to capacity: Int) { left.withLock { $0 = capacity } }

  /// Writes like write(2): returns -1 with `ENOSPC` if the disk is full.
  package func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    left.withLock { left in
      guard left > 0 else {
        errno = ENOSPC
        return -1
      }
      let count = Glibc.write(descriptor, bytes.baseAddress, min(left, bytes.count))
      left -= max(0, count)
      return count
    }
  }
}
