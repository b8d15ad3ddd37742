import ArgumentParser
import Bytes
import CAllocations
import Gateway
import Glibc
import MarketData
import Recordings
import TestSupport
import Venues

/// What a message of each recorded session costs.
struct RecordingsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recordings",
    abstract:
      "The same as 'venues' with recorded sessions instead of simulated ones: TIDEGATE_RECORDINGS names their folder.",
    discussion: """
      The first part of a recording is replayed, until books are there and tables have grown; then the messages of the rest are given \
      to the same pipeline. Recordings with few messages are left out.
      """)

  @Option(help: "Only recordings whose name contains this.") var filter = ""
  @Option(help: "Recordings with fewer messages are left out.") var least = 3_000

  /// What is measured of a recording at the most.
  private static let limit = 30_000
  private static let round = 250

  func run() throws {
    guard let folder = recordingsFolder else {
      throw ValidationError("TIDEGATE_RECORDINGS does not name a folder of recordings")
    }
    let names = Self.names(in: folder).filter { $0.hasSuffix(".ndjson.gz") && (filter.isEmpty || $0.contains(filter)) }
    print(
      Table.row(
        "recording", width: 44, ["messages", "B/msg", "path ns", "median", "levels", "rejected", "allocs/1000"]))
    for name in names.sorted() {
      do throws(RecordingError) {
        if let row = try measure("\(folder)/\(name)", String(name.dropLast(10))) { print(row) }
      } catch {
        print("\(name): \(error)")
      }
    }
  }

  private static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return names
  }

  /// Nil for a recording that is not of a market that is carried, or that has few messages.
  private func measure(_ path: String, _ name: String) throws(RecordingError) -> String? {
    guard (try? ReplaySource(path: path)) != nil else { return nil }
    var script = FeedScript()
    let reader = try RecordingReader(path: path)
    var records = 0
    while let record = try reader.next() {
      records += 1
      if record.kind == .text { script.note(message: reader.payload.unsafeBytes, now: record.time) }
    }
    guard script.messages >= least else { return nil }
    // A third to warm up, and all records but the messages belong to it.
    let replayer = try Replayer(path: path)
    for _ in 0..<(records / 3) {
      try replayer.step()
      replayer.pipeline.clear()
    }
    return measure(name, script, replayer.pipeline)
  }

  private func measure(_ name: String, _ script: FeedScript, _ pipeline: FeedPipeline) -> String {
    let skipped = script.messages / 3
    var rounds: [Double] = []
    var seen = 0
    var measured = 0
    var size = 0
    var levels = 0
    var start: Int64 = 0
    var allocations: UInt64 = 0
    let rejected = pipeline.engine.counts.rejected
    script.forEach { now, step, bytes in
      guard case .message(let range) = step else { return }
      seen += 1
      guard seen > skipped, measured < Self.limit else { return }
      if measured % Self.round == 0 {
        start = CPUClock.thread()
        allocations &-= allocations_count()
      }
      pipeline.receive(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[range])), now: now)
      if pipeline.market.nextDeadline <= now { pipeline.advance(now: now) }
      levels += pipeline.changes.bids.count + pipeline.changes.asks.count
      pipeline.clear()
      if !pipeline.engine.actions.isEmpty { _ = pipeline.takeActions() }
      measured += 1
      size += range.count
      if measured % Self.round == 0 {
        allocations &+= allocations_count()
        rounds.append(Double(CPUClock.thread() - start) / Double(Self.round))
      }
    }
    // A round that was begun and not ended counts for nothing.
    if measured % Self.round != 0 { allocations &+= allocations_count() }
    return Table.row(
      name, width: 44,
      [
        "\(measured)", Table.number(Double(size) / Double(max(measured, 1))), Table.number(rounds.min() ?? 0),
        Table.number(rounds.isEmpty ? 0 : Table.median(rounds)),
        Table.number(Double(levels) / Double(max(measured, 1))),
        "\(pipeline.engine.counts.rejected - rejected)",
        Table.number(Double(allocations) * 1_000 / Double(max(measured, 1))),
      ])
  }
}
