import TidegateClient

/// The traffic of a connection, in a line: `12.4 kB, 640 wake-ups and 660 messages a minute (512 binary)`.
package enum TrafficLine {
  /// - Parameter time: since the client began to connect.
  package static func text(_ traffic: Traffic, over time: Duration) -> String {
    // Of less than a second, the rates of a minute say nothing.
    let seconds = max(1, time / .seconds(1))
    func rate(_ count: Int) -> Int { Int((Double(count) * 60 / seconds).rounded()) }
    let bytes = rate(traffic.bytes)
    let size = bytes < 1_000 ? "\(bytes) B" : "\(bytes / 1_000).\(bytes / 100 % 10) kB"
    return "\(size), \(rate(traffic.wakeUps)) wake-ups and \(rate(traffic.messages)) messages a minute"
      + " (\(rate(traffic.records)) binary)"
  }
}
