import Glibc

/// An IPv4 or IPv6 address and port.
package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  package let address: IPAddress
  package let port: UInt16

  package init(_ address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }

  /// - Parameter host: a numeric address.
  package init(host: String, port: UInt16) {
    guard let address = IPAddress(host) else { preconditionFailure("\(host) is not a numeric address") }
    self.init(address, port: port)
  }

  /// The numeric host: `127.0.0.1`, `::1`.
  package var host: String { address.description }

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
      let address = IPAddress(host)
    else { throw .invalidAddress(text) }
    self.init(address, port: port)
  }

  package var description: String { address.isIPv4 ? "\(address):\(port)" : "[\(address)]:\(port)" }
}

/// An address as the kernel takes it.
package struct KernelAddress: Sendable {
  private var storage = sockaddr_storage()
  private(set) var length: socklen_t

  package var family: Int32 { Int32(storage.ss_family) }

  package init(_ address: SocketAddress) {
    if address.address.isIPv4 {
      var v4 = sockaddr_in()
      v4.sin_family = sa_family_t(AF_INET)
      v4.sin_port = address.port.bigEndian
      v4.sin_addr = address.address.v4
      length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutableBytes(of: &storage) { to in withUnsafeBytes(of: v4) { to.copyMemory(from: $0) } }
    } else {
      var v6 = sockaddr_in6()
      v6.sin6_family = sa_family_t(AF_INET6)
      v6.sin6_port = address.port.bigEndian
      v6.sin6_addr = address.address.v6
      length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      withUnsafeMutableBytes(of: &storage) { to in withUnsafeBytes(of: v6) { to.copyMemory(from: $0) } }
    }
  }

  /// Nil unless `host` is a numeric address.
  package init?(host: String, port: UInt16) {
    guard let address = IPAddress(host) else { return nil }
    self.init(SocketAddress(address, port: port))
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
      if family == AF_INET6 {
        let v6 = bytes.loadUnaligned(as: sockaddr_in6.self)
        return SocketAddress(IPAddress(v6.sin6_addr), port: UInt16(bigEndian: v6.sin6_port))
      }
      let v4 = bytes.loadUnaligned(as: sockaddr_in.self)
      return SocketAddress(IPAddress(v4.sin_addr), port: UInt16(bigEndian: v4.sin_port))
    }
  }
}
