import Logging
import MarketData
import PubSub
import Recordings
import Transport
import Venues

/// A recording that the gateway serves as if its venue sent it now. Owned by one loop.
///
/// The gateway takes messages at its present time, so that windows, pulses and heartbeats run as with a live feed.
/// Times that the venue wrote into the messages stay unchanged.
package final class ReplaySession: Feed {
  /// Records to play before the loop turns again.
  private static let batch = 64

  package let pipeline: FeedPipeline
  package let slot: Int
  package private(set) var status: FeedStatus
  package var bytesReceived: UInt64 { UInt64(replayer.bytesPlayed) }
  package private(set) var connects = 0
  /// The market advances with the records and between them.
  package var nextDeadline: Timestamp { pipeline.market.nextDeadline }

  private let replayer: Replayer
  private let speed: ReplaySpeed
  package weak var handler: (any FeedHandler)?
  private var news = FeedNews()
  package var hasNews: Bool { !news.isEmpty }
  private let loop: EventLoop
  private let log: Logger
  private var timer: LoopTimer?
  /// Records to play before the loop turns again; 0: the timer has not come yet.
  private var left = 0
  /// Why the recording cannot be read further; reported when what came before is published.
  private var failure: String?
  private var changedInstruments: Set<InstrumentID> = []
  /// The record time that is played at `startedAt`.
  private let origin: Timestamp
  private var startedAt = Timestamp.distantPast

  /// - Parameter origin: the record time to begin at; recordings with the same origin keep their distance in time.
  package init(
    replayer: Replayer, origin: Timestamp, speed: ReplaySpeed, slot: Int, loop: EventLoop, log: Logger,
    now: Timestamp
  ) {
    self.replayer = replayer
    self.pipeline = replayer.pipeline
    self.origin = origin
    self.speed = speed
    self.slot = slot
    self.loop = loop
    self.log = log
    self.status = FeedStatus(venue: replayer.venue.name, state: .connecting, since: now)
    status.source = .replayed
  }

  package func start(_ now: Timestamp) {
    guard replayer.nextTime != nil else { return end("the recording is empty", now) }
    startedAt = now
    connects = 1
    log.warning("the prices of this feed are not real", metadata: ["source": "\(status.source.rawValue)"])
    set(.syncing, reason: "replaying a recording", now)
    play()
  }

  package func stop(_ now: Timestamp) {
    timer?.cancel()
    timer = nil
    left = 0
    set(.disconnected, reason: "stopped", now)
  }

  package func tick(_ now: Timestamp) {}
  package func check(_ now: Timestamp) {}

  /// Keeps the records as far apart as they are.
  package func timeJumped(by jump: Int64) { startedAt = startedAt + jump }

  package func advance(_ now: Timestamp) {
    pipeline.advance(now: now)
    note(now)
  }

  private func play() {
    timer = nil
    left = Self.batch
    handler?.feedArrived()
  }

  /// Plays one record, if its time has come.
  package func takeArrival(_ now: Timestamp) -> Bool {
    if let failure {
      self.failure = nil
      end(failure, now)
      return true
    }
    guard left > 0 else { return false }
    guard let next = replayer.nextTime else {
      left = 0
      end("the recording has ended", now)
      return true
    }
    if speed != .fastest {
      let wait = startedAt + speed.wait(for: next - origin) - now
      if wait > 0 {
        playAgain(after: .microseconds(wait))
        return false
      }
    }
    do throws(RecordingError) {
      try replayer.step(at: now)
    } catch {
      left = 0
      failure = error.description
      note(now)
      return true
    }
    status.lastMessage = now
    note(now)
    left -= 1
    if left == 0 { playAgain(after: .zero) }
    return true
  }

  private func playAgain(after wait: Duration) {
    left = 0
    timer = loop.schedule(after: wait) { [weak self] in self?.play() }
  }

  /// Notes what the changes say of books and channels.
  private func note(_ now: Timestamp) {
    for change in pipeline.changes.items {
      switch change {
      case .bookState(let id, let state):
        let symbol = pipeline.market[id].instrument.symbol
        if case .syncing(let reason) = state {
          status.syncing[symbol] = reason?.description ?? "awaiting a snapshot"
        } else {
          status.syncing[symbol] = nil
        }
        if state == .live, status.state == .syncing { set(.live, reason: "replaying a recording", now) }
        news.isStatusChanged = true
        changedInstruments.insert(id)
      case .channel(let id, let channel, let state):
        let symbol = pipeline.market[id].instrument.symbol
        var silent = status.silent[symbol] ?? []
        if case .silent = state { silent.insert(MarketChannels(channel)) }
        if state == .live { silent.remove(MarketChannels(channel)) }
        status.silent[symbol] = silent.isEmpty ? nil : silent
        news.isStatusChanged = true
      case .instrument(let id):
        news.isStatusChanged = true
        changedInstruments.insert(id)
      default: break
      }
    }
  }

  package func settled(_ now: Timestamp) -> Bool {
    pipeline.clear()
    return false
  }

  package func takeNews() -> FeedNews {
    defer { news = FeedNews() }
    return news
  }

  package func takeChangedInstruments() -> Set<InstrumentID> {
    defer { changedInstruments.removeAll(keepingCapacity: true) }
    return changedInstruments
  }

  private func end(_ reason: String, _ now: Timestamp) {
    log.notice("replay over", metadata: ["reason": "\(reason)", "records": "\(replayer.recordsPlayed)"])
    set(.disconnected, reason: reason, now)
  }

  private func set(_ state: FeedState, reason: String, _ now: Timestamp) {
    if status.state != state { status.since = now }
    status.state = state
    status.reason = reason
    news.isStatusChanged = true
  }
}
