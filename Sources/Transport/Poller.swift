import CLinux
import Glibc

/// The events of a descriptor.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
  package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
  package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
  /// The peer has ended its direction; earlier bytes may still be unread.
  package static let peerEnded = Readiness(rawValue: EPOLLRDHUP.rawValue)
  package static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
  package static let error = Readiness(rawValue: EPOLLERR.rawValue)
}

/// The event queue of one loop.
///
/// Each descriptor is registered once, for both directions, edge-triggered, so no system call arms a write or re-arms a
/// read. Closing a descriptor removes it.
package protocol Poller: AnyObject {
  /// Watches `descriptor` in both directions; its events carry `token`. The poller reports present readiness at once.
  func add(_ descriptor: Int32, token: UInt64) throws(TransportError)

  /// Stops watching `descriptor`; necessary only if it stays open.
  func remove(_ descriptor: Int32)

  /// Takes as many events as `events` has room for, and waits up to `milliseconds` for the first one. Returns their
  /// number.
  func wait(milliseconds: Int32, into events: PollerEvents) -> Int

  /// Ends a `wait`, or makes the next one return at once. Callable from any thread.
  func wake()
}

/// The buffer for the events of a poller. Its owner frees it.
package struct PollerEvents {
  /// The most events of one call; others wait for the next.
  package static let capacity = 512
  /// Tokens from here on are for a poller's own use.
  static let firstReservedToken = UInt64.max

  fileprivate let base: UnsafeMutablePointer<epoll_event>

  init() {
    base = .allocate(capacity: Self.capacity)
    base.initialize(repeating: epoll_event(), count: Self.capacity)
  }

  func deallocate() { base.deallocate() }

  @inline(__always)
  subscript(index: Int) -> (token: UInt64, readiness: Readiness) {
    (clinux_epoll_token(base + index), Readiness(rawValue: base[index].events))
  }

  /// Puts an event into a place, 0..<`capacity`.
  package func set(_ index: Int, token: UInt64, readiness: Readiness) {
    base[index].events = readiness.rawValue
    base[index].data.u64 = token
  }
}

/// The kernel's own: an epoll set that is itself a descriptor a dispatch source can watch.
final class SystemPoller: Poller {
  /// Readable while there are events to take.
  let descriptor: Int32
  private let wakeDescriptor: Int32

  private init(descriptor: Int32, wake: Int32) {
    self.descriptor = descriptor
    wakeDescriptor = wake
  }

  /// - Throws: `.system` if the process has no free descriptors; a poller needs two.
  static func make() throws(TransportError) -> SystemPoller {
    let set = clinux_epoll_create()
    let setError = errno
    let wake = clinux_eventfd()
    let wakeError = errno
    // It is edge-triggered, so it need not be read: every write is a new edge.
    let interest = clinux_epoll_interest()
    let isComplete =
      set >= 0 && wake >= 0 && clinux_epoll_add(set, wake, interest, UInt64.max) == 0
    let addError = errno
    guard isComplete else {
      for made in [set, wake] where made >= 0 { Glibc.close(made) }
      if set < 0 { throw .system(call: "epoll_create1", errno: setError) }
      if wake < 0 { throw .system(call: "eventfd", errno: wakeError) }
      throw .system(call: "epoll_ctl", errno: addError)
    }
    return SystemPoller(descriptor: set, wake: wake)
  }

  deinit {
    Glibc.close(descriptor)
    Glibc.close(wakeDescriptor)
  }

  func add(_ descriptor: Int32, token: UInt64) throws(TransportError) {
    guard clinux_epoll_add(self.descriptor, descriptor, clinux_epoll_interest(), token) == 0 else {
      throw .system(call: "epoll_ctl", errno: errno)
    }
  }

  func remove(_ descriptor: Int32) {
    _ = clinux_epoll_remove(self.descriptor, descriptor)
  }

  func wait(milliseconds: Int32, into events: PollerEvents) -> Int {
    let count = epoll_wait(descriptor, events.base, Int32(PollerEvents.capacity), milliseconds)
    return count > 0 ? Int(count) : 0  // EINTR counts as no events: the caller comes round again.
  }

  func wake() {
    var one: UInt64 = 1
    _ = Glibc.write(wakeDescriptor, &one, 8)
  }
}
