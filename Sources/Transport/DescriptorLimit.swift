import Glibc

/// How many descriptors the process may have open (`RLIMIT_NOFILE`).
package enum DescriptorLimit {
  /// The present limit.
  package static var current: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }

  /// Raises the soft limit to the hard one, which an unprivileged process may do, and returns the resulting limit. The
  /// usual soft limit of 1024 exists for programs that use select(2).
  @discardableResult
  package static func raise() -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return current }
    if limit.rlim_cur < limit.rlim_max {
      limit.rlim_cur = limit.rlim_max
      _ = setrlimit(resource, &limit)
    }
    return current
  }
}
