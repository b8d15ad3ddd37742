import CLoad
import COpenSSL
import Glibc

/// An option or a peer that cannot be used, in words for the person at the terminal.
struct LoadError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A `ws://` or `wss://` URL taken apart.
struct StreamURL {
  let host: String
  let port: UInt16
  let path: String
  /// `wss`.
  let isSecure: Bool

  /// - Throws: `LoadError` unless the text is `ws://` or `wss://` and an IPv4 address or `localhost`, with an optional
  ///   port and path.
  init(_ text: String) throws {
    isSecure = text.hasPrefix("wss://")
    guard isSecure || text.hasPrefix("ws://") else { throw LoadError("'\(text)' is not a ws:// or wss:// URL") }
    let rest = text.dropFirst(isSecure ? 6 : 5)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    let authority = rest[..<slash].split(separator: ":", omittingEmptySubsequences: false)
    guard authority.count <= 2, let name = authority.first, !name.isEmpty else {
      throw LoadError("'\(text)' has no usable host; write ws://127.0.0.1:8080/v1/stream")
    }
    host = name == "localhost" ? "127.0.0.1" : String(name)
    if authority.count == 2 {
      guard let port = UInt16(authority[1]), port > 0 else { throw LoadError("'\(authority[1])' is not a port") }
      self.port = port
    } else {
      port = isSecure ? 443 : 80
    }
    path = slash == rest.endIndex ? "/" : String(rest[slash...])
    var parsed = in_addr()
    guard inet_pton(AF_INET, host, &parsed) == 1 else {
      throw LoadError("'\(host)' is not an IPv4 address; the load test runs on loopback, as 127.0.0.1")
    }
  }

  init(loopbackPort: UInt16, path: String) {
    host = "127.0.0.1"
    port = loopbackPort
    self.path = path
    isSecure = false
  }
}

/// Thin wrappers over the system calls that the load test makes.
enum Sockets {
  static func address(_ host: String, _ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return address
  }

  static func withAddress<R>(_ address: sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  static func set(_ fd: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(fd, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// A socket with `TCP_NODELAY`.
  static func stream(nonblocking: Bool) throws -> Int32 {
    let flags = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (nonblocking ? SOCK_NONBLOCK.rawValue : 0))
    let fd = socket(AF_INET, flags, 0)
    guard fd >= 0 else { throw LoadError("no socket: \(reason(errno))") }
    set(fd, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    return fd
  }

  static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }

  /// Raises the limit of open files to what `count` sockets need.
  static func allowFiles(_ count: Int) throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let wanted = rlim_t(count + 64)
    guard limit.rlim_cur < wanted else { return }
    var raised = rlimit(rlim_cur: wanted, rlim_max: max(wanted, limit.rlim_max))
    if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { return }
    raised = rlimit(rlim_cur: min(wanted, limit.rlim_max), rlim_max: limit.rlim_max)
    guard wanted <= limit.rlim_max, setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 else {
      throw LoadError("\(count) sockets need more open files than the limit of \(limit.rlim_max): ulimit -n \(wanted)")
    }
  }

  /// The body of a GET, read until its end or 5 s of silence.
  static func get(_ url: StreamURL, path: String) throws -> [UInt8] {
    let fd = try stream(nonblocking: false)
    defer { close(fd) }
    var patience = timeval(tv_sec: 5, tv_usec: 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    guard withAddress(address(url.host, url.port), { connect(fd, $0, $1) }) == 0 else {
      throw LoadError("cannot connect to \(url.host):\(url.port): \(reason(errno))")
    }
    let tls = url.isSecure ? try TLSClient() : nil
    let session = tls?.session(on: fd)
    defer { if let session { SSL_free(session) } }
    if tls != nil {
      guard let session, case .done = TLSClient.handshake(session) else {
        throw LoadError("no TLS with \(url.host):\(url.port): \(TLSClient.reason)")
      }
    }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: \(url.host):\(url.port)\r\nConnection: close\r\n\r\n".utf8)
    let isSent =
      session.map { TLSClient.write($0, request) }
      ?? (send(fd, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
    guard isSent else {
      throw LoadError("cannot ask \(url.host):\(url.port) for \(path): \(reason(errno))")
    }
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while answer.count < 64 << 20 {
      let n = session.map { TLSClient.read($0, &chunk, chunk.count) } ?? recv(fd, &chunk, chunk.count, 0)
      guard n > 0 else { break }
      answer += chunk[..<n]
    }
    guard answer.starts(with: Array("HTTP/1.1 200".utf8)) else {
      let line = answer.prefix { $0 != UInt8(ascii: "\r") }
      throw LoadError("GET \(path) was answered '\(String(decoding: line, as: UTF8.self))'")
    }
    return answer
  }
}

/// The clocks that the load test reads.
enum Clock {
  static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
  /// Nanoseconds that never go back.
  static var monotonic: Int64 { read(CLOCK_MONOTONIC) }
  /// Microseconds UTC.
  static var utc: Int64 { read(CLOCK_REALTIME) / 1000 }
  /// CPU nanoseconds of this process.
  static var processCPU: Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }
}

/// Text to the terminal, unbuffered.
enum Terminal {
  static func say(_ text: String) { write(text, to: 2) }

  static func write(_ text: String, to fd: Int32) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(fd, bytes, bytes.count)
  }
}
