import Glibc

/// An IPv4 or IPv6 address and port.
package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  /// The numeric host: `127.0.0.1`, `::1`.
  package let host: String
  package let port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Reads `HOST:PORT` or `[V6]:PORT`; the host must be a numeric address or `localhost`.
  package init(parsing text: String) throws(TransportError) {
    guard let colon = text.lastIndex(of: ":") else { throw .invalidAddress(text) }
    var host = String(text[..<colon])
    if host == "localhost" {
      host = "127.0.0.1"
    } else if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
      guard host.contains(":") else { throw .invalidAddress(text) }
    } else if host.contains(":") {
      throw .invalidAddress(text)
    }
    let digits = text[text.index(after: colon)...]
    guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(digits),
      KernelAddress(host: host, port: port) != nil
    else { throw .invalidAddress(text) }
    self.init(host: host, port: port)
  }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// An address as the kernel takes it.
package struct KernelAddress: Sendable {
  private var storage = sockaddr_storage()
  private(set) var length: socklen_t

  package var family: Int32 { Int32(storage.ss_family) }

  /// Nil unless `host` is a numeric address.
  package init?(host: String, port: UInt16) {
    var v4 = sockaddr_in()
    var v6 = sockaddr_in6()
    if inet_pton(AF_INET, host, &v4.sin_addr) == 1 {
      v4.sin_family = sa_family_t(AF_INET)
      v4.sin_port = port.bigEndian
      length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutableBytes(of: &storage) { to in withUnsafeBytes(of: v4) { to.copyMemory(from: $0) } }
    } else if inet_pton(AF_INET6, host, &v6.sin6_addr) == 1 {
      v6.sin6_family = sa_family_t(AF_INET6)
      v6.sin6_port = port.bigEndian
      length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      withUnsafeMutableBytes(of: &storage) { to in withUnsafeBytes(of: v6) { to.copyMemory(from: $0) } }
    } else {
      return nil
    }
  }

  init(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
    self.length = min(length, socklen_t(MemoryLayout<sockaddr_storage>.size))
    withUnsafeMutableBytes(of: &storage) { to in
      to.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(self.length)))
    }
  }

  /// An empty address, which `accept4` or `getsockname` fills in.
  init(filledBy fill: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Void) {
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    self.length = length
    withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { fill($0, &length) }
    }
    self.length = length
  }

  func withPointer<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
    withUnsafePointer(to: storage) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) } }
  }

  /// Numeric. An IPv4 address of a connection on an IPv6 socket is shown as IPv4.
  package var socketAddress: SocketAddress {
    withUnsafeBytes(of: storage) { bytes in
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
        text[0] = 0
        let port: UInt16
        if family == AF_INET6 {
          var address = bytes.loadUnaligned(as: sockaddr_in6.self)
          port = UInt16(bigEndian: address.sin6_port)
          inet_ntop(AF_INET6, &address.sin6_addr, text.baseAddress, 64)
        } else {
          var address = bytes.loadUnaligned(as: sockaddr_in.self)
          port = UInt16(bigEndian: address.sin_port)
          inet_ntop(AF_INET, &address.sin_addr, text.baseAddress, 64)
        }
        var host = String(cString: text.baseAddress!)
        if host.hasPrefix("::ffff:"), host.contains(".") { host.removeFirst(7) }
        return SocketAddress(host: host, port: port)
      }
    }
  }
}
