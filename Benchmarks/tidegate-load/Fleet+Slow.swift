import Glibc

/// What the server's kernel holds for slow clients.
extension Fleet {
  /// Adds one sample of the bytes that were sent to each slow client and not acknowledged, unsent ones included:
  /// `tx_queue` of the server's end in `/proc/net/tcp` (proc_net_tcp in the kernel's documentation).
  mutating func sampleSlow() {
    guard slowCount > 0 else { return }
    var ports: [UInt16: Int] = [:]
    for i in 0..<slowCount where slots[i].fd >= 0 {
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(slots[i].fd, $0, &length) }
      }
      if result == 0 { ports[UInt16(bigEndian: address.sin_port)] = i }
    }
    guard let text = ProcessProbe.wholeText(of: "/proc/net/tcp") else { return }
    for line in text.split(separator: "\n").dropFirst() {
      // sl, local address, remote address, state, tx_queue:rx_queue, …
      let fields = line.split(separator: " ", maxSplits: 5)
      guard fields.count > 4, Self.port(fields[1]) == plan.url.port, let remote = Self.port(fields[2]),
        ports[remote] != nil, let queued = Int(fields[4].prefix { $0 != ":" }, radix: 16)
      else { continue }
      figures.slowQueuedSamples += 1
      figures.slowQueuedTotal += queued
      figures.slowQueuedMost = max(figures.slowQueuedMost, queued)
    }
  }

  private static func port(_ address: Substring) -> UInt16? {
    address.split(separator: ":").last.flatMap { UInt16($0, radix: 16) }
  }
}
