import CLinux
import Glibc

/// What a descriptor is ready for.
struct Readiness: OptionSet {
  let rawValue: UInt32
  static let readable = Readiness(rawValue: EPOLLIN.rawValue)
  static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
  /// The peer has ended its direction; what it sent before may still be unread.
  static let peerEnded = Readiness(rawValue: EPOLLRDHUP.rawValue)
  static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
  static let error = Readiness(rawValue: EPOLLERR.rawValue)
}

/// The kernel's event queue of one loop: an epoll set that is itself a descriptor a dispatch source can watch.
///
/// Everything is registered once, for both directions, edge-triggered: no system call arms a write or re-arms a read. Closing
/// a descriptor takes it out of the set.
struct Poller: ~Copyable {
  /// Readable while there are events to take.
  let descriptor: Int32
  private let wakeDescriptor: Int32
  private let timerDescriptor: Int32
  private let events: UnsafeMutablePointer<epoll_event>
  /// Events taken with one call; more wait for the next.
  private static let capacity = 512
  /// Tokens from here up are the poller's own.
  static let firstReservedToken = UInt64.max - 1

  /// - Throws: `.system` where the process is out of descriptors.
  init() throws(TransportError) {
    let set = clinux_epoll_create()
    let setError = errno
    let wake = clinux_eventfd()
    let wakeError = errno
    let timer = clinux_timerfd()
    let timerError = errno
    // Edge-triggered, so neither has to be read: every write and every expiry is an edge of its own.
    let interest = clinux_epoll_interest()
    let isComplete =
      set >= 0 && clinux_epoll_add(set, wake, interest, UInt64.max) == 0
      && clinux_epoll_add(set, timer, interest, UInt64.max - 1) == 0
    let addError = errno
    guard isComplete else {
      for made in [set, wake, timer] where made >= 0 { Glibc.close(made) }
      if set < 0 { throw .system(call: "epoll_create1", errno: setError) }
      if wake < 0 { throw .system(call: "eventfd", errno: wakeError) }
      if timer < 0 { throw .system(call: "timerfd_create", errno: timerError) }
      throw .system(call: "epoll_ctl", errno: addError)
    }
    descriptor = set
    wakeDescriptor = wake
    timerDescriptor = timer
    events = .allocate(capacity: Self.capacity)
  }

  deinit {
    Glibc.close(descriptor)
    Glibc.close(wakeDescriptor)
    Glibc.close(timerDescriptor)
    events.deallocate()
  }

  /// Watches `descriptor` in both directions; its events carry `token`.
  func add(_ descriptor: Int32, token: UInt64) throws(TransportError) {
    guard clinux_epoll_add(self.descriptor, descriptor, clinux_epoll_interest(), token) == 0 else {
      throw .system(call: "epoll_ctl", errno: errno)
    }
  }

  /// Stops watching `descriptor`; needed only where it stays open.
  func remove(_ descriptor: Int32) {
    _ = clinux_epoll_remove(self.descriptor, descriptor)
  }

  /// Takes events, waiting up to `milliseconds` for the first one. Returns how many there are.
  func wait(milliseconds: Int32) -> Int {
    let count = epoll_wait(descriptor, events, Int32(Self.capacity), milliseconds)
    return count > 0 ? Int(count) : 0  // EINTR counts as no events: the caller comes round again.
  }

  /// The event at `index` of those last taken.
  @inline(__always)
  func event(_ index: Int) -> (token: UInt64, readiness: Readiness) {
    (clinux_epoll_token(events + index), Readiness(rawValue: events[index].events))
  }

  /// Ends a `wait`, or makes the next one return at once. Callable from any thread.
  func wake() {
    var one: UInt64 = 1
    _ = Glibc.write(wakeDescriptor, &one, 8)
  }

  /// Makes the set readable at `deadline` (monotonic ns) though nobody is in `wait`.
  func arm(deadline: UInt64) {
    _ = clinux_timerfd_arm(timerDescriptor, deadline)
  }
}
