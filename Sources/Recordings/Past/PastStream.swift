import Bytes
import MarketData
import PubSub
import Venues

/// Recorded time for one client: the streams of some markets, as a live client would get them. It is played in turns
/// of bounded cost, from the last key frame before the window on. Used by one thread at a time.
///
/// What it brings depends on the recordings and on the request only, not on the turns: two clients with the same
/// request get the same bytes. Ticks of slower streams and the ends of candles come at their own times between the
/// records.
package final class PastStream {
  /// The most that one turn may cost.
  package struct Limits: Sendable {
    /// Records.
    package var records = 5_000
    /// Bytes of messages. The message that reaches the limit is the last.
    package var bytes = 256 << 10
    /// Its time; checked every 64 records.
    package var seconds = 0.02
    package init() {}
  }

  /// Why it cannot begin or go on.
  package struct Problem: Error {
    package let failure: RecordedPast.Failure
    /// The market that has the problem.
    package let symbol: String

    package init(failure: RecordedPast.Failure, symbol: String) { (self.failure, self.symbol) = (failure, symbol) }
  }

  package enum Output {
    /// A stream began. Its snapshot, if there is data, is the next message.
    case joined(JoinResult, Instrument)
    /// A message, or several of another protocol, as unmasked WebSocket frames.
    case message(StreamFrame)
  }

  package enum Step: Sendable, Equatable {
    /// The turn is over; there is more.
    case more
    /// Nothing is due before that moment.
    case waits(Timestamp)
    /// The window is over, or the recordings are.
    case ended
  }

  /// Recordings of one stream at most: each has a publisher, whose numbers are those with the same rest.
  private static let partLimit = 16
  /// A hole in the recordings longer than this is jumped over.
  package static let longestIdle = 10 * Microseconds.minute
  /// How long the ticks after the last record are waited for: the longest interval of a stream.
  private static let tail = 5 * Microseconds.second

  private let past: RecordedPast
  private let keys: [String: [StreamKey]]
  private let window: Range<Timestamp>
  private let epoch: String
  private let limits: Limits
  private var parts: [Part] = []
  /// Parts so far.
  private var partsMade = 0
  private var out: [Delivery] = []
  /// Records before the window that may still be played.
  private var seekLeft: Int
  /// The moment that has been played.
  package private(set) var position: Timestamp
  private var end: Timestamp?

  /// - Parameters:
  ///   - keys: the streams of single markets, in order.
  ///   - window: the moments that are played.
  ///   - epoch: of the streams' numbers.
  /// - Throws: the problem of the first market that has no recording then.
  package init(
    _ past: RecordedPast, keys: [StreamKey], window: Range<Timestamp>, epoch: String, limits: Limits = Limits()
  ) throws(Problem) {
    self.past = past
    self.keys = Dictionary(grouping: keys, by: \.symbol)
    self.window = window
    self.epoch = epoch
    self.limits = limits
    seekLeft = past.limits.records
    position = window.lowerBound
    var seen: Set<String> = []
    for key in keys where seen.insert(key.symbol).inserted { try add(key.symbol, at: window.lowerBound) }
  }

  /// Plays what is due until `target`, as far as one turn goes.
  /// - Throws: that a recording cannot be read any further.
  package func turn(until target: Timestamp, _ take: (Output) -> Void) throws(Problem) -> Step {
    var (records, bytes) = (limits.records, 0)
    let clock = ReplayClock()
    while true {
      if records == 0 || bytes >= limits.bytes { return .more }
      if records % 64 == 0, clock.wallSeconds >= limits.seconds { return .more }
      records -= 1
      if try seek() { continue }
      if join(take, &bytes) { continue }
      let part = next
      let time = part?.replayer.nextTime ?? tailEnd
      let due = dueTick(before: time) ?? (part == nil ? nil : time)
      guard let due else { return .ended }
      guard due <= target else { return .waits(due) }
      position = due
      for part in parts { bytes += advance(part, to: due, take) }
      guard due == time, let part else { continue }
      bytes += try play(part, time, take)
      if part.replayer.nextTime == nil { try follow(part) }
    }
  }

  // MARK: Recordings

  /// One recording that is played.
  private final class Part {
    let replayer: Replayer
    let publisher: StreamPublisher
    let track: RecordingCatalog.Track
    /// The records before this moment build the books, unseen.
    let start: Timestamp
    /// The markets that are taken from it, in order.
    var symbols: [String]
    /// Of the last record before `start`.
    var last: Timestamp?
    /// Whether its markets have reached the window.
    var isPresent = false
    /// The instruments that have been looked at, and the streams that are still to be joined.
    private var seen = 0
    private var waiting: [JoinRequest] = []
    /// The last tick that moved nothing on.
    var stuck = Timestamp.distantPast

    /// The moment that its markets have.
    var now = Timestamp.distantPast

    init(
      _ replayer: Replayer, _ publisher: StreamPublisher, _ track: RecordingCatalog.Track, _ symbol: String,
      from start: Timestamp
    ) {
      (self.replayer, self.publisher, self.track, self.start) = (replayer, publisher, track, start)
      symbols = [symbol]
      _ = publisher.add(market: replayer.pipeline.market, venue: replayer.venue.name)
    }

    /// When something is due that no record brings.
    var deadline: Timestamp {
      let due = min(publisher.nextDeadline, replayer.pipeline.market.nextDeadline)
      return isPresent && due > stuck ? due : .distantFuture
    }

    /// The request for the next stream of a market that has appeared; nil if there is none.
    func nextJoin(_ keys: [String: [StreamKey]]) -> JoinRequest? {
      guard isPresent else { return nil }
      let instruments = replayer.pipeline.market.instruments
      while waiting.isEmpty, seen < instruments.count {
        let instrument = instruments[seen].instrument
        seen += 1
        guard symbols.contains(instrument.symbol) else { continue }
        waiting = (keys[instrument.symbol] ?? []).map { key in
          JoinRequest(
            key: key, market: 0, instrument: instrument.id, loop: 0, client: ClientID(slot: 0, generation: 0),
            request: 0, item: 0, reason: .subscribe)
        }
      }
      return waiting.isEmpty ? nil : waiting.removeFirst()
    }
  }

  /// Opens the recording that has a market at a time, unless it is open: then the market is taken from it, too.
  private func add(_ symbol: String, at time: Timestamp) throws(Problem) {
    do throws(RecordedPast.Failure) {
      // A file that begins with the window has its first record.
      let track = try past.catalog.track(of: symbol, at: time + 1, orBefore: window.upperBound, past.paths)
      if let part = parts.first(where: { $0.track.files == track.files && !$0.isPresent }) {
        part.symbols.append(symbol)
        return
      }
      guard partsMade < Self.partLimit else { throw .tooMuch }
      let replayer = try past.open(track, at: time)
      let publisher = StreamPublisher(loop: partsMade, loops: Self.partLimit, epoch: epoch, remembers: false)
      parts.append(Part(replayer, publisher, track, symbol, from: time))
      partsMade += 1
    } catch {
      throw Problem(failure: error, symbol: symbol)
    }
  }

  /// Opens the recordings in which the markets of a part go on. Then the part is forgotten.
  private func follow(_ part: Part) throws(Problem) {
    for symbol in part.symbols {
      let start = past.catalog.start(of: symbol, after: position, except: part.track)
      guard let start, start < window.upperBound else { continue }
      try add(symbol, at: start)
      parts.removeAll { $0 === part }
    }
  }

  /// Plays a record before the window; false if all are there.
  private func seek() throws(Problem) -> Bool {
    for part in parts where !part.isPresent {
      if let time = part.replayer.nextTime, time < part.start {
        guard seekLeft > 0 else { throw Problem(failure: .tooMuch, symbol: part.symbols[0]) }
        seekLeft -= 1
        part.last = time
        try step(part)
        part.replayer.pipeline.clear()
        return true
      }
      let pipeline = part.replayer.pipeline
      part.isPresent = true
      part.now = position
      pipeline.clear()
      pipeline.appendPresent()
      publish(part)
      if part.replayer.nextTime.map({ $0 >= window.upperBound }) ?? true { try checkPause(part) }
      return true
    }
    return false
  }

  /// A recording has nothing in the window: it goes on in another one, or its market is known from just before.
  private func checkPause(_ part: Part) throws(Problem) {
    let next = part.replayer.nextTime
    if next == nil { try follow(part) }
    guard parts.contains(where: { $0 === part }), part.start == window.lowerBound else { return }
    if let last = part.last, part.start - last <= RecordedPast.longestPause { return }
    throw Problem(failure: .nothingRecorded(last: part.last, next: next), symbol: part.symbols[0])
  }

  private func step(_ part: Part) throws(Problem) {
    do throws(RecordedPast.Failure) {
      try past.step(part.replayer)
    } catch {
      throw Problem(failure: error, symbol: part.symbols[0])
    }
  }

  /// The part whose record is next; of equal times the first. Nil at the end.
  private var next: Part? {
    var best: Part?
    var time = window.upperBound
    for part in parts {
      guard let due = part.replayer.nextTime, due < time else { continue }
      (best, time) = (part, due)
    }
    return best
  }

  // MARK: Time

  /// The end of the ticks after the last record.
  private var tailEnd: Timestamp {
    let end = self.end ?? min(window.upperBound, position + Self.tail)
    self.end = end
    return end
  }

  /// The next tick up to `time`; nil if there is none, or if what is before `time` is jumped over.
  private func dueTick(before time: Timestamp) -> Timestamp? {
    let due = parts.reduce(Timestamp.distantFuture) { min($0, $1.deadline) }
    guard due < time, time - due <= Self.longestIdle else { return nil }
    return max(due, position)
  }

  private func advance(_ part: Part, to due: Timestamp, _ take: (Output) -> Void) -> Int {
    part.now = due
    guard part.deadline <= due else { return 0 }
    let pipeline = part.replayer.pipeline
    if pipeline.market.nextDeadline <= due {
      pipeline.advance(now: due)
      publish(part)
    }
    if part.publisher.nextDeadline <= due { part.publisher.advance(to: due, into: &out) }
    // Whatever does not move on must not hold everything up.
    if part.deadline <= due { part.stuck = due }
    return deliver(part, take)
  }

  private func play(_ part: Part, _ time: Timestamp, _ take: (Output) -> Void) throws(Problem) -> Int {
    try step(part)
    publish(part)
    return deliver(part, take)
  }

  // MARK: Messages

  /// Joins the next stream that is still to be joined; false if there is none.
  private func join(_ take: (Output) -> Void, _ bytes: inout Int) -> Bool {
    for part in parts {
      guard let request = part.nextJoin(keys) else { continue }
      part.publisher.perform(.join(request), now: part.now, into: &out)
      bytes += deliver(part, take)
      return true
    }
    return false
  }

  private func publish(_ part: Part) {
    let pipeline = part.replayer.pipeline
    guard !pipeline.changes.items.isEmpty else { return }
    part.publisher.publish(pipeline.changes, market: 0, now: part.now, into: &out)
    pipeline.clear()
  }

  /// Hands over what was published.
  /// - Returns: its bytes.
  private func deliver(_ part: Part, _ take: (Output) -> Void) -> Int {
    guard !out.isEmpty else { return 0 }
    defer { out.removeAll(keepingCapacity: true) }
    return out.reduce(0) { $0 + Self.hand($1, part, take) }
  }

  private static func hand(_ delivery: Delivery, _ part: Part, _ take: (Output) -> Void) -> Int {
    switch delivery {
    case .frame(let frame, _), .snapshot(let frame, _, _):
      take(.message(frame))
      return frame.bytes.count
    case .joined(let result, _, _):
      let instruments = part.replayer.pipeline.market.instruments
      guard let state = instruments.first(where: { $0.instrument.symbol == result.key.symbol }) else { return 0 }
      take(.joined(result, state.instrument))
      guard let frame = result.snapshot else { return 0 }
      take(.message(frame))
      return frame.bytes.count
    // All is delivered to one loop, which takes everything.
    case .nothing, .missed: return 0
    }
  }
}
