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
  private let publisher: ReplayPublisher?
  private var places: [FeedPipelineSlot] = []
  private let bytes: Int
  private var records = 0

  /// - Parameter publisher: publishes the changes of the markets.
  /// - Throws: the problem of the first recording, if none can be replayed.
  package init(_ plan: ReplayPlan, publisher: ReplayPublisher? = nil) throws(RecordingError) {
    self.plan = plan
    self.publisher = publisher
    var replayers: [Replayer] = []
    var skipped = plan.skipped
    for track in plan.tracks {
      do throws(RecordingError) {
        replayers.append(try Replayer(paths: track.paths))
      } catch {
        skipped.append(error)
      }
    }
    if replayers.isEmpty, let first = skipped.first { throw first }
    self.replayers = replayers
    self.skipped = skipped
    bytes = plan.tracks.reduce(0) { $0 + $1.bytes }
    if let publisher {
      places = replayers.map {
        FeedPipelineSlot(pipeline: $0.pipeline, slot: publisher.add($0.pipeline.market, venue: $0.venue.name))
      }
    }
  }

  /// The track whose record is next; nil at the end. O(tracks).
  private var next: Int? {
    var best: Int?
    var time = Timestamp.distantFuture
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
    try publisher?.advance(to: time, places)
    // Why a recording cannot be read any further, its result tells.
    _ = try? replayer.step()
    records += 1
    if let publisher {
      try publisher.publish(places[index], at: time)
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
