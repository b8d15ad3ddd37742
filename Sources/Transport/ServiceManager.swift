import Glibc

/// Notifies the service manager that started this process, by datagrams: sd_notify(3), without its library.
///
/// Each message is one small datagram that does not block. It is not an error if the manager no longer exists.
package struct ServiceManager: Sendable {
  private let address: sockaddr_un
  private let length: socklen_t
  /// How often the manager expects `alive`, µs; nil if it does not watch. Half of `WATCHDOG_USEC`, as
  /// sd_watchdog_enabled(3) recommends.
  package let watchInterval: UInt64?

  /// Nil without a manager: `NOTIFY_SOCKET` is not set, or is not the path of a socket.
  /// - Parameters:
  ///   - environment: the process's variables.
  ///   - process: the id of this process; a watchdog for another process (`WATCHDOG_PID`) is ignored.
  package init?(environment: [String: String], process: Int32 = getpid()) {
    guard let path = environment["NOTIFY_SOCKET"], path.utf8.count > 1, path.hasPrefix("/") || path.hasPrefix("@")
    else { return nil }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    // A name in the abstract namespace begins with a zero byte (unix(7)).
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    self.address = address
    length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let isForUs = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
    watchInterval =
      isForUs ? environment["WATCHDOG_USEC"].flatMap { UInt64($0) }.flatMap { $0 > 1 ? $0 / 2 : nil } : nil
  }

  package func ready(_ status: String) { send("READY=1\n" + Self.status(status)) }
  package func reloading(monotonicMicroseconds now: UInt64) { send("RELOADING=1\nMONOTONIC_USEC=\(now)") }
  package func stopping(_ status: String) { send("STOPPING=1\n" + Self.status(status)) }
  /// Reports that another process of the service is the main one from now on. Both are in the service's group.
  package func handOver(to process: Int32, _ status: String) { send("MAINPID=\(process)\n" + Self.status(status)) }
  package func alive() { send("WATCHDOG=1") }
  /// Reports what the process does, for `systemctl status`.
  package func status(_ text: String) { send(Self.status(text)) }

  /// The variables of a process without those that the manager set only for this one: passed sockets, and the
  /// watchdog's process.
  package static func inheritable(_ environment: [String: String]) -> [String: String] {
    environment.filter { !["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID"].contains($0.key) }
  }

  private static func status(_ text: String) -> String {
    "STATUS=" + text.replacing("\n", with: " ")
  }

  // MARK: Sockets that outlive the process

  /// A socket of an earlier process of the service that the manager has kept.
  package struct KeptSocket: Sendable {
    package let name: String
    package let descriptor: Int32

    package init(name: String, descriptor: Int32) {
      self.name = name
      self.descriptor = descriptor
    }
  }

  /// The sockets that the manager passes to this process: sd_listen_fds(3). This process closes them. Call this once;
  /// otherwise they would have two owners.
  package static func takeSockets(
    environment: [String: String], process: Int32 = getpid()
  ) -> [KeptSocket] {
    guard environment["LISTEN_PID"] == "\(process)", let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }),
      (1...64).contains(count)
    else { return [] }
    let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
    return (0..<count).compactMap { index in
      // SD_LISTEN_FDS_START.
      let descriptor = 3 + index
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
      return KeptSocket(name: index < names.count ? String(names[Int(index)]) : "", descriptor: descriptor)
    }
  }

  /// Makes the manager keep a socket for the next process of the service, if its unit allows that
  /// (`FileDescriptorStoreMax=`). Connections in the meantime wait in the kernel.
  package func keep(_ descriptor: Int32, as name: String) {
    send("FDSTORE=1\nFDNAME=\(name)", descriptor: descriptor)
  }

  /// Makes the manager release the sockets of that name.
  package func forget(_ name: String) { send("FDSTOREREMOVE=1\nFDNAME=\(name)") }

  /// `SOCK_DGRAM`; see `streamSocket`. `SOCK_CLOEXEC` is `O_CLOEXEC` (socket(2)).
  private var datagramSocket: Int32 { 2 }

  private func send(_ message: String, descriptor: Int32? = nil) {
    let socket = Glibc.socket(AF_UNIX, datagramSocket | O_CLOEXEC, 0)
    guard socket >= 0 else { return }
    defer { Glibc.close(socket) }
    var address = address
    var message = message
    message.withUTF8 { text in
      withUnsafeMutablePointer(to: &address) { pointer in
        var piece = iovec(iov_base: UnsafeMutableRawPointer(mutating: text.baseAddress), iov_len: text.count)
        withUnsafeMutablePointer(to: &piece) { pieces in
          var header = msghdr()
          header.msg_name = UnsafeMutableRawPointer(pointer)
          header.msg_namelen = length
          header.msg_iov = pieces
          header.msg_iovlen = 1
          var control = Control(descriptor: descriptor ?? -1)
          withUnsafeMutableBytes(of: &control) { bytes in
            if descriptor != nil {
              header.msg_control = bytes.baseAddress
              header.msg_controllen = bytes.count
            }
            _ = sendmsg(socket, &header, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
          }
        }
      }
    }
  }

  /// One descriptor as ancillary data (cmsg(3)): a `cmsghdr` with `SCM_RIGHTS`, and padding to a whole word.
  private struct Control {
    var length = MemoryLayout<Int>.size + 3 * MemoryLayout<Int32>.size
    var level = SOL_SOCKET
    /// `SCM_RIGHTS`, an enumerator in the header.
    var type: Int32 = 1
    var descriptor: Int32
    var padding: Int32 = 0

    init(descriptor: Int32) { self.descriptor = descriptor }
  }
}
