import Glibc

/// The clocks that benchmarks read, ns.
enum CPUClock {
  /// CPU time of the calling thread.
  @inline(__always)
  static func thread() -> Int64 { read(CLOCK_THREAD_CPUTIME_ID) }
  /// CPU time of the process.
  @inline(__always)
  static func process() -> Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }
  /// Time that never goes back. Cheaper to read than CPU time, which takes a system call.
  @inline(__always)
  static func monotonic() -> Int64 { read(CLOCK_MONOTONIC) }

  @inline(__always)
  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// The least that lies between two readings of a clock, one right after the other.
  static func cost(of clock: () -> Int64) -> Int64 {
    var least = Int64.max
    for _ in 0..<2_000 {
      let start = clock()
      least = min(least, clock() - start)
    }
    return least
  }
}

/// Columns for people.
enum Table {
  static func number(_ value: Double) -> String {
    let tenths = Int64((value * 10).rounded())
    return value.magnitude < 100 ? "\(tenths / 10).\((tenths % 10).magnitude)" : "\(Int64(value.rounded()))"
  }

  static func ratio(_ value: Double) -> String {
    let thousandths = Int64((value * 1_000).rounded())
    let fraction = String(thousandths % 1_000)
    return "\(thousandths / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
  }

  static func row(_ name: String, width: Int, _ columns: [String]) -> String {
    let padded = name + String(repeating: " ", count: max(1, width - name.count))
    return columns.reduce(padded) { $0 + String(repeating: " ", count: max(1, 10 - $1.count)) + $1 }
  }

  /// The middle one. Precondition: not empty.
  static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
