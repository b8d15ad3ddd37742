import Dispatch
import Glibc
import Synchronization

/// Resolves names outside the loops, because `getaddrinfo` blocks.
enum Resolver {
  /// The most simultaneous look-ups; others wait. Each uses a thread of the pool.
  private static let limit = 4
  /// The most waiting look-ups; others fail.
  private static let queueLimit = 256

  private struct Work {
    var running = 0
    var waiting: [@Sendable () -> Void] = []
  }
  private static let work = Mutex(Work())
  /// Serial queues, made on demand: unlike a concurrent queue, they do not share the few threads of the global queues.
  private static var queue: DispatchQueue { DispatchQueue(label: "tidegate.resolver") }

  /// The addresses of `host`, in the order to try them (RFC 6724); `completion` runs on a queue of the resolver.
  static func resolve(
    _ host: String, port: UInt16, completion: @escaping @Sendable (Result<[KernelAddress], TransportError>) -> Void
  ) {
    let job: @Sendable () -> Void = { completion(lookUp(host, port)) }
    let admission: Bool? = work.withLock { work in
      if work.running < limit {
        work.running += 1
        return true
      }
      guard work.waiting.count < queueLimit else { return nil }
      work.waiting.append(job)
      return false
    }
    switch admission {
    case true?: queue.async { @Sendable in run(job) }
    case false?: break
    case nil:
      queue.async { @Sendable in
        completion(.failure(.resolution(host: host, reason: "\(queueLimit) look-ups are already waiting")))
      }
    }
  }

  private static func run(_ first: @escaping @Sendable () -> Void) {
    var job = first
    while true {
      job()
      let next: (@Sendable () -> Void)? = work.withLock { work in
        if work.waiting.isEmpty {
          work.running -= 1
          return nil
        }
        return work.waiting.removeFirst()
      }
      guard let next else { return }
      job = next
    }
  }

  private static func lookUp(_ host: String, _ port: UInt16) -> Result<[KernelAddress], TransportError> {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = streamSocket
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, String(port), &hints, &list)
    guard status == 0 else {
      let reason = status == EAI_SYSTEM ? TransportError.words(errno) : String(cString: gai_strerror(status))
      return .failure(.resolution(host: host, reason: reason))
    }
    defer { freeaddrinfo(list) }
    var addresses: [KernelAddress] = []
    var entry = list
    while let current = entry {
      if let address = current.pointee.ai_addr {
        addresses.append(KernelAddress(address, length: current.pointee.ai_addrlen))
      }
      entry = current.pointee.ai_next
    }
    return addresses.isEmpty
      ? .failure(.resolution(host: host, reason: "the name has no address")) : .success(addresses)
  }
}
