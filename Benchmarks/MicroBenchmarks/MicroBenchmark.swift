/// Something small to be timed, by either runner.
package struct MicroBenchmark: Sendable {
  /// Operations of one call of `PreparedBenchmark.run`: the same for all, so that a time of a call in µs is a time of
  /// an operation in ns.
  package static let batch = 1_000

  /// What is timed, and what one operation is.
  package let name: String
  /// Makes the data; not timed.
  /// - Throws: `BenchmarkUnavailable` where something that it needs is not there.
  package let prepare: @Sendable () throws -> PreparedBenchmark

  /// Every benchmark, in the order in which data passes the house.
  package static var all: [MicroBenchmark] {
    DecimalBenchmarks.all + WireBenchmarks.all + DeflateBenchmarks.all + FeedBenchmarks.all + StateBenchmarks.all
      + AlertBenchmarks.all
      + PublisherBenchmarks.all
      + HubBenchmarks.all
      + NATSBenchmarks.all
  }
}

/// Something as it is beside the same without one of its parts, to be timed in turns: the ratio is what the part costs,
/// and a machine that is busy with something else slows both.
package struct SeamBenchmark: Sendable {
  package let name: String
  package let with: @Sendable () throws -> PreparedBenchmark
  package let without: @Sendable () throws -> PreparedBenchmark

  package static var all: [SeamBenchmark] { SeamBenchmarks.all }
}

/// A benchmark with its data, which may be run again and again.
package struct PreparedBenchmark {
  /// Bytes that a batch reads or makes; 0 where bytes say nothing.
  package let bytes: Int
  /// Brings the state back to where a batch may begin; not timed. Nil where a batch may follow on the one before.
  package let reset: (() -> Void)?
  /// Runs `MicroBenchmark.batch` operations. The result depends on all of them, so that none can be left out.
  package let run: () -> Int

  init(bytes: Int = 0, reset: (() -> Void)? = nil, run: @escaping () -> Int) {
    self.bytes = bytes
    self.reset = reset
    self.run = run
  }
}

/// Why a benchmark cannot run here.
package struct BenchmarkUnavailable: Error, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}

/// Many short texts in one run of bytes.
struct TextTable {
  private(set) var bytes: [UInt8] = []
  private(set) var ends: [Int] = []

  init() {}
  init(_ texts: [String]) {
    for text in texts { append(text) }
  }

  mutating func append(_ text: String) {
    bytes += text.utf8
    ends.append(bytes.count)
  }

  var count: Int { ends.count }

  /// Calls `body` with each text.
  @inline(__always)
  func forEach(_ body: (RawSpan) -> Void) {
    bytes.withUnsafeBytes { all in
      var start = 0
      for end in ends {
        body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: all[start..<end])))
        start = end
      }
    }
  }

  /// The first `count` texts.
  func prefix(_ count: Int) -> TextTable {
    var table = self
    table.ends = Array(ends.prefix(count))
    table.bytes = Array(bytes.prefix(table.ends.last ?? 0))
    return table
  }
}
