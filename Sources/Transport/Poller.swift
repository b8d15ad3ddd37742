import CLinux
import Glibc

/// What a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
  package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
  package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
  /// The peer has ended its direction; what it sent before may still be unread.
  package static let peerEnded = Readiness(rawValue: EPOLLRDHUP.rawValue)
  package static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
  package static let error = Readiness(rawValue: EPOLLERR.rawValue)
}

/// The event queue of one loop.
///
/// Everything is registered once, for both directions, edge-triggered: no system call arms a write or re-arms a read. Closing
/// a descriptor takes it out.
package class Poller {
  /// Events taken with one call; more wait for the next.
  package static let capacity = 512
  /// Tokens from here up are the poller's own.
  static let firstReservedToken = UInt64.max - 1

  fileprivate final let events: UnsafeMutablePointer<epoll_event>

  package init() {
    events = .allocate(capacity: Self.capacity)
    events.initialize(repeating: epoll_event(), count: Self.capacity)
  }

  deinit { events.deallocate() }

  /// Watches `descriptor` in both directions; its events carry `token`. It is told at once what it is ready for already.
  package func add(_ descriptor: Int32, token: UInt64) throws(TransportError) { preconditionFailure("abstract") }

  /// Stops watching `descriptor`; needed only where it stays open.
  package func remove(_ descriptor: Int32) { preconditionFailure("abstract") }

  /// Takes up to `capacity` events, waiting up to `milliseconds` for the first one. Returns how many there are.
  package func wait(milliseconds: Int32) -> Int { preconditionFailure("abstract") }

  /// Ends a `wait`, or makes the next one return at once. Callable from any thread.
  package func wake() { preconditionFailure("abstract") }

  /// The event at `index` of those last taken.
  @inline(__always)
  final func event(_ index: Int) -> (token: UInt64, readiness: Readiness) {
    (clinux_epoll_token(events + index), Readiness(rawValue: events[index].events))
  }

  /// Puts an event where `event` finds it; for what is not the real thing.
  package final func setEvent(_ index: Int, token: UInt64, readiness: Readiness) {
    events[index].events = readiness.rawValue
    events[index].data.u64 = token
  }
}

/// The kernel's own: an epoll set that is itself a descriptor a dispatch source can watch.
final class SystemPoller: Poller {
  /// Readable while there are events to take.
  let descriptor: Int32
  private let wakeDescriptor: Int32
  private let timerDescriptor: Int32

  private init(descriptor: Int32, wake: Int32, timer: Int32) {
    self.descriptor = descriptor
    wakeDescriptor = wake
    timerDescriptor = timer
    super.init()
  }

  /// - Throws: `.system` where the process is out of descriptors; one takes three.
  static func make() throws(TransportError) -> SystemPoller {
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
    return SystemPoller(descriptor: set, wake: wake, timer: timer)
  }

  deinit {
    Glibc.close(descriptor)
    Glibc.close(wakeDescriptor)
    Glibc.close(timerDescriptor)
  }

  override func add(_ descriptor: Int32, token: UInt64) throws(TransportError) {
    guard clinux_epoll_add(self.descriptor, descriptor, clinux_epoll_interest(), token) == 0 else {
      throw .system(call: "epoll_ctl", errno: errno)
    }
  }

  override func remove(_ descriptor: Int32) {
    _ = clinux_epoll_remove(self.descriptor, descriptor)
  }

  override func wait(milliseconds: Int32) -> Int {
    let count = epoll_wait(descriptor, events, Int32(Self.capacity), milliseconds)
    return count > 0 ? Int(count) : 0  // EINTR counts as no events: the caller comes round again.
  }

  override func wake() {
    var one: UInt64 = 1
    _ = Glibc.write(wakeDescriptor, &one, 8)
  }

  /// Makes the set readable at `deadline` (monotonic ns) though nobody is in `wait`.
  func arm(deadline: UInt64) {
    _ = clinux_timerfd_arm(timerDescriptor, deadline)
  }
}
