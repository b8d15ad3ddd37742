/// When updates were published and how large their frames were: the rate and the burst shape of a run.
struct Trace {
  struct Entry {
    /// After the first entry, µs.
    var offset: Int64
    /// Of the whole frame.
    var bytes: Int
  }

  /// Entries kept: 200,000 of 16 bytes each.
  static let limit = 200_000

  private(set) var entries: [Entry] = []
  private var first: Int64 = 0

  /// Adds an update published at `time` (µs UTC); beyond the limit it is dropped, and the floor repeats what is kept.
  mutating func append(time: Int64, bytes: Int) {
    guard entries.count < Self.limit else { return }
    if entries.isEmpty { first = time }
    entries.append(Entry(offset: max(time - first, entries.last?.offset ?? 0), bytes: bytes))
  }

  /// From the first entry to where a repetition begins: the entries' span and one mean interval.
  var period: Int64 {
    guard entries.count > 1, let last = entries.last else { return 1_000_000 }
    return max(last.offset + last.offset / Int64(entries.count - 1), 1)
  }

  var meanBytes: Int {
    entries.isEmpty ? 0 : entries.reduce(0) { $0 + $1.bytes } / entries.count
  }

  var updatesPerSecond: Double {
    Double(entries.count) * 1e6 / Double(period)
  }

  /// A steady rate of frames of one size.
  static func steady(perSecond rate: Double, bytes: Int) -> Trace {
    var trace = Trace()
    let count = max(2, min(limit, Int(rate)))
    for i in 0..<count { trace.append(time: Int64(Double(i) * 1e6 / rate), bytes: bytes) }
    return trace
  }

  /// One `offset bytes` line per entry.
  var text: String { entries.map { "\($0.offset) \($0.bytes)\n" }.joined() }

  init() {}

  /// - Throws: `LoadError` naming the line that is not `offset bytes`.
  init(text: String) throws {
    for (index, line) in text.split(separator: "\n").enumerated() {
      let fields = line.split(separator: " ")
      guard fields.count == 2, let offset = Int64(fields[0]), let bytes = Int(fields[1]), offset >= 0, bytes > 0 else {
        throw LoadError("line \(index + 1) of the trace is not 'offset_us bytes': '\(line)'")
      }
      append(time: offset, bytes: bytes)
    }
    guard !entries.isEmpty else { throw LoadError("the trace is empty") }
  }
}
