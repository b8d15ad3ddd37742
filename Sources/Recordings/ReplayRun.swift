import Bytes
import MarketData
import Venues

/// A pipeline and its market's place in a publisher.
struct FeedPipelineSlot {
  let pipeline: FeedPipeline
  let slot: Int
}

/// How far a replay is.
package struct ReplayProgress: Sendable {
  package var records: Int
  /// Of the recordings.
  package var time: Timestamp
  /// Bytes of files that were read, and of all files.
  package var bytesRead: Int
  package var bytes: Int

  /// `2026-08-21T10:15:00Z, 12 %, 1200000 records`
  package var description: String {
    let stamp = RecordingPart.stamp(time)
    return "\(stamp), \(bytes > 0 ? min(100, 100 * bytesRead / bytes) : 100) %, \(records) records"
  }
}

/// Recordings played side by side, record by record in the order of time; of equal times in the order of the tracks.
/// Nothing in it depends on the clock: pace is the caller's.
package final class ReplayRun {
  package let plan: ReplayPlan
  package let replayers: [Replayer]
  /// What was left out, files and whole recordings, and why.
  package let skipped: [RecordingError]
  /// What the indexes could not be used for.
  package let notes: [String]
  private let publisher: ReplayPublisher?
  private let window: Range<Timestamp>
  private let onChanges: (Replayer, Timestamp) throws(RecordingError) -> Void
  private var slots: [FeedPipelineSlot] = []
  private let bytes: Int
  private var records = 0
  private var hasSought = false

  /// All of a recording.
  package static let always = Timestamp.distantPast..<Timestamp.distantFuture

  /// - Parameters:
  ///   - publisher: publishes the changes of the markets.
  ///   - window: the records that are played. Those before it build the books, unseen; an index makes that short.
  ///   - onChanges: is called after each record, while the pipeline has its changes.
  /// - Throws: the problem of the first recording, if none can be replayed.
  package init(
    _ plan: ReplayPlan, publisher: ReplayPublisher? = nil, window: Range<Timestamp> = always,
    onChanges: @escaping (Replayer, Timestamp) throws(RecordingError) -> Void = { _, _ in }
  ) throws(RecordingError) {
    self.plan = plan
    self.publisher = publisher
    self.window = window
    self.onChanges = onChanges
    var notes: [String] = []
    var replayers: [Replayer] = []
    var skipped = plan.skipped
    for track in plan.tracks {
      do throws(RecordingError) {
        replayers.append(try Self.replayer(track.paths, from: window.lowerBound, &notes))
      } catch {
        skipped.append(error)
      }
    }
    if replayers.isEmpty, let first = skipped.first { throw first }
    self.replayers = replayers
    self.skipped = skipped
    self.notes = notes
    bytes = plan.tracks.reduce(0) { $0 + $1.bytes }
    if let publisher {
      slots = replayers.map {
        FeedPipelineSlot(pipeline: $0.pipeline, slot: publisher.add($0.pipeline.market, venue: $0.venue.name))
      }
    }
  }

  private static func replayer(
    _ paths: [String], from time: Timestamp, _ notes: inout [String]
  ) throws(RecordingError) -> Replayer {
    guard time > .distantPast else { return try Replayer(paths: paths) }
    let (entry, problems) = RecordingEntry.find(paths, before: time)
    notes += problems
    guard let entry else { return try Replayer(paths: paths) }
    do throws(RecordingError) {
      return try Replayer(paths: paths, at: entry)
    } catch {
      // Whatever is wrong with the recording itself shows from its beginning as well.
      let replayer = try Replayer(paths: paths)
      notes.append("\(error.description), so \(paths[0]) is read from its beginning")
      return replayer
    }
  }

  /// Builds the books of the moment at which the window begins, and publishes them. `run` does this first.
  /// - Parameter onProgress: called about every 1,000 records.
  package func seek(onProgress: (ReplayProgress) -> Void = { _ in }) throws(RecordingError) {
    guard window.lowerBound > .distantPast, !hasSought else { return }
    hasSought = true
    for (index, replayer) in replayers.enumerated() {
      while let time = replayer.nextTime, time < window.lowerBound {
        // Why a recording cannot be read any further, its result tells.
        _ = try? replayer.step()
        replayer.pipeline.clear()
        if replayer.recordsPlayed % 1_000 == 0 { onProgress(progress(time)) }
      }
      replayer.pipeline.clear()
      replayer.beginCounting()
      replayer.pipeline.appendPresent()
      try onChanges(replayer, window.lowerBound)
      if let publisher {
        try publisher.publish(slots[index], at: window.lowerBound)
      } else {
        replayer.pipeline.clear()
      }
    }
  }

  /// The track whose record is next; nil at the end. O(tracks).
  private var next: Int? {
    var best: Int?
    var time = window.upperBound
    for index in replayers.indices {
      if let due = replayers[index].nextTime, due < time {
        best = index
        time = due
      }
    }
    return best
  }

  /// When the next record is due, in record time; nil at the end.
  package var nextTime: Timestamp? { next.flatMap { replayers[$0].nextTime } }

  /// Plays the next record. False at the end. A recording that cannot be read any further ends there, as its result
  /// says.
  /// - Throws: what `publisher` throws.
  package func step() throws(RecordingError) -> Bool {
    guard let index = next, let time = replayers[index].nextTime else { return false }
    let replayer = replayers[index]
    try publisher?.advance(to: time, slots)
    // Why a recording cannot be read any further, its result tells.
    _ = try? replayer.step()
    records += 1
    try onChanges(replayer, time)
    if let publisher {
      try publisher.publish(slots[index], at: time)
    } else {
      replayer.pipeline.clear()
    }
    return true
  }

  /// Plays everything that is left.
  /// - Parameters:
  ///   - speed: at which it is played.
  ///   - wait: returns when so many µs have passed since the first call; not called at the greatest speed.
  ///   - onProgress: called about every 1,000 records, and before each wait.
  /// - Returns: what each track adds up to.
  package func run(
    speed: ReplaySpeed = .fastest, wait: (Int64) -> Void = { _ in },
    onProgress: (ReplayProgress) -> Void = { _ in }
  ) throws(RecordingError) -> [ReplayResult] {
    let clock = ReplayClock()
    try seek(onProgress: onProgress)
    guard let first = nextTime else { return replayers.map { $0.result(clock) } }
    var last = first
    while let time = nextTime {
      if speed != .fastest, time > last || records == 0 {
        onProgress(progress(time))
        wait(speed.wait(for: time - first))
      } else if records % 1_000 == 0 {
        onProgress(progress(time))
      }
      last = time
      guard try step() else { break }
    }
    return replayers.map { $0.result(clock) }
  }

  private func progress(_ time: Timestamp) -> ReplayProgress {
    ReplayProgress(
      records: records, time: time, bytesRead: replayers.reduce(0) { $0 + $1.fileBytesRead }, bytes: bytes)
  }
}
