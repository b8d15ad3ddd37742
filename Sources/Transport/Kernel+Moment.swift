extension Kernel {
  /// Monotonic µs, for time-outs.
  package var monotonicMicroseconds: Int64 { Int64(uptime() / 1_000) }
}

extension EventLoop {
  /// Monotonic µs, for time-outs.
  package var moment: Int64 { kernel.monotonicMicroseconds }
}
