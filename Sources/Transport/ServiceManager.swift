import Glibc

/// The service manager that started this process, told what it does by datagrams: sd_notify(3), without its library.
///
/// Each message is one small datagram that does not block; a manager that is gone is no reason to fail.
package struct ServiceManager: Sendable {
  private let address: sockaddr_un
  private let length: socklen_t
  /// How often the manager expects `alive`, µs; nil if it does not watch. Half of `WATCHDOG_USEC`, as
  /// sd_watchdog_enabled(3) recommends.
  package let watchInterval: UInt64?

  /// Nil where no manager listens: `NOTIFY_SOCKET` is not set, or is no path of a socket.
  /// - Parameters:
  ///   - environment: the process's variables.
  ///   - process: this process: a watch that was meant for another process (`WATCHDOG_PID`) does not count.
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
  package func alive() { send("WATCHDOG=1") }
  /// What the process does, for `systemctl status`.
  package func status(_ text: String) { send(Self.status(text)) }

  private static func status(_ text: String) -> String {
    "STATUS=" + text.replacing("\n", with: " ")
  }

  /// `SOCK_DGRAM`; see `streamSocket`. `SOCK_CLOEXEC` is `O_CLOEXEC` (socket(2)).
  private var datagramSocket: Int32 { 2 }

  private func send(_ message: String) {
    let socket = Glibc.socket(AF_UNIX, datagramSocket | O_CLOEXEC, 0)
    guard socket >= 0 else { return }
    defer { Glibc.close(socket) }
    var address = address
    var message = message
    message.withUTF8 { text in
      withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = sendto(
            socket, text.baseAddress, text.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), $0, length)
        }
      }
    }
  }
}
