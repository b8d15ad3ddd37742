import Bytes

@testable import Cluster

/// What happens at an exchange, known to the whole simulation: for each key, numbered events with their times. Odd keys
/// are books: each event adds its number to a sum. Even keys are trades.
struct SimulatedVenue {
  struct Event {
    let number: UInt64
    let time: Int64
  }

  let keys: [ClusterKey]
  /// Numbers count from 1 without a hole.
  private(set) var events: [[Event]]

  init(keys count: Int) {
    keys = (0..<count).map { ClusterKey(venue: "kraken", tokens: ["K\($0)", $0 % 2 == 0 ? "trades" : "book"]) }
    events = keys.map { _ in [] }
  }

  static func isBook(_ key: Int) -> Bool { key % 2 == 1 }

  mutating func happen(_ key: Int, at time: Int64) -> Event {
    let event = Event(number: UInt64(events[key].count + 1), time: time)
    events[key].append(event)
    return event
  }

  /// The state of a book after its first `count` events.
  static func sum(_ count: UInt64) -> UInt64 { count * (count + 1) / 2 }
}

/// The payload of a frame: numbers of events of trades, or a change or the sum of a book.
enum SimulatedFrame {
  static func bytes(_ numbers: [UInt64]) -> [UInt8] {
    numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) } }
  }

  static func numbers(_ bytes: UnsafeRawBufferPointer) -> [UInt64] {
    stride(from: 0, to: bytes.count, by: 8).map { start in
      (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << UInt64(8 * $1) }
    }
  }
}

/// The publisher of a simulated ingest: what it has read of the venue, and the streams of the present epoch.
struct SimulatedPublisher: ClusterStreams {
  private struct Stream {
    let key: Int
    var sequence: UInt64 = 1
    var ring: [SyncAnswer.Frame] = []
  }

  /// How many events of each key were read.
  private(set) var read: [UInt64]
  private let keys: [ClusterKey: Int]
  private let repeatsTrades: Bool
  private var streams: [UInt32: Stream] = [:]
  private var numbers: [Int: UInt32] = [:]
  private var last: UInt32 = 0
  /// Frames that a stream keeps, and events that it keeps for other epochs.
  static let ring = 40
  static let kept: UInt64 = 400

  init(keys: [ClusterKey], repeatsTrades: Bool) {
    self.keys = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1, $0) })
    self.repeatsTrades = repeatsTrades
    read = keys.map { _ in 0 }
  }

  /// An event was read: the frame of its stream, if that is open.
  mutating func take(_ key: Int, _ number: UInt64) -> (stream: UInt32, frame: SyncAnswer.Frame)? {
    guard number > read[key] else { return nil }
    precondition(number == read[key] + 1, "a feed reads in order")
    read[key] = number
    guard let stream = numbers[key], var state = streams[stream] else { return nil }
    let frame = SyncAnswer.Frame(
      sequence: state.sequence + 1, previous: state.sequence, mark: SimulatedVenue.isBook(key) ? 0 : number,
      bytes: SimulatedFrame.bytes([number]))
    state.sequence += 1
    state.ring.append(frame)
    if state.ring.count > Self.ring { state.ring.removeFirst() }
    streams[stream] = state
    return (stream, frame)
  }

  /// The key of a stream, for its subject.
  func key(_ stream: UInt32) -> Int? { streams[stream]?.key }

  mutating func open(_ key: ClusterKey) -> UInt32? {
    guard let index = keys[key] else { return nil }
    if let known = numbers[index] { return known }
    last += 1
    numbers[index] = last
    streams[last] = Stream(key: index)
    return last
  }

  mutating func close(_ stream: UInt32) {
    if let key = streams.removeValue(forKey: stream)?.key { numbers[key] = nil }
  }

  func sequence(_ stream: UInt32) -> UInt64? { streams[stream].map(\.sequence) }

  func frames(_ stream: UInt32, after sequence: UInt64) -> [SyncAnswer.Frame]? {
    guard let ring = streams[stream]?.ring, let start = ring.firstIndex(where: { $0.previous == sequence }) else {
      return nil
    }
    return Array(ring[start...])
  }

  func snapshot(_ stream: UInt32) -> SyncAnswer.Frame? {
    guard let state = streams[stream] else { return nil }
    let read = read[state.key]
    let isBook = SimulatedVenue.isBook(state.key)
    return SyncAnswer.Frame(
      sequence: state.sequence, previous: 0, mark: isBook ? 0 : read,
      bytes: SimulatedFrame.bytes([isBook ? SimulatedVenue.sum(read) : read]))
  }

  func events(_ stream: UInt32, after mark: UInt64) -> ClusterEvents {
    guard let state = streams[stream], !SimulatedVenue.isBook(state.key) else { return .unknown }
    let read = read[state.key]
    guard mark <= read else { return .behind }
    guard read - mark <= Self.kept else { return .unknown }
    return .update(
      SyncAnswer.Frame(
        sequence: state.sequence, previous: state.sequence, mark: read,
        bytes: mark < read ? SimulatedFrame.bytes(Array((repeatsTrades ? mark : mark + 1)...read)) : []))
  }
}

/// A client of an edge, and what it checks of one stream.
struct SimulatedClient {
  let key: Int
  private(set) var run: UInt32 = 0
  private(set) var sequence: UInt64 = 0
  /// The last event that it knows.
  private(set) var last: UInt64 = 0
  private(set) var sum: UInt64 = 0
  /// Where epochs ended that were followed before. One may come back, if the ingest after it dies.
  private(set) var oldRuns: [UInt32: UInt64] = [:]
  /// Snapshots that say that trades are missing, or may be.
  private(set) var saidLosses = 0
  private(set) var continuations = 0
  private(set) var hasStarted = false

  init(key: Int) { self.key = key }

  /// The rule that a frame breaks; nil if it breaks none.
  mutating func take(_ frame: EdgeFrame) -> String? {
    let numbers = SimulatedFrame.numbers(frame.bytes)
    let isBook = SimulatedVenue.isBook(key)
    if frame.run != run {
      if let end = oldRuns[frame.run], frame.sequence < end {
        return "an old epoch came back at \(frame.sequence) of \(end)"
      }
      guard frame.kind != .update else { return "an update of another epoch" }
      if run != 0 { oldRuns[run] = sequence }
    } else {
      guard frame.sequence > sequence else { return "the sequence went back from \(sequence) to \(frame.sequence)" }
    }
    switch frame.kind {
    case .update:
      guard frame.previous == sequence else { return "a gap that nobody mentioned" }
      if let broken = apply(numbers, isBook) { return broken }
    case .continued:
      guard !isBook else { return "a book cannot be continued" }
      continuations += 1
      if let broken = apply(numbers, isBook) { return broken }
    case .snapshot(let reason):
      guard numbers.count == 1 else { return "a snapshot without its state" }
      guard hasStarted || reason == .subscribe else { return "the first snapshot has the reason \(reason)" }
      guard !hasStarted || reason != .subscribe else { return "a second first snapshot" }
      if isBook {
        sum = numbers[0]
      } else {
        guard numbers[0] >= last else { return "trades went back from \(last) to \(numbers[0])" }
        if hasStarted, numbers[0] > last { saidLosses += 1 }
        last = numbers[0]
      }
      hasStarted = true
    }
    run = frame.run
    sequence = frame.sequence
    return nil
  }

  private mutating func apply(_ numbers: [UInt64], _ isBook: Bool) -> String? {
    for number in numbers {
      if isBook {
        sum += number
      } else {
        guard number > last else { return "trade \(number) came twice" }
        guard number == last + 1 else { return "trades between \(last) and \(number) are missing, and nobody said so" }
        last = number
      }
    }
    return nil
  }

  /// How many of the venue's events it knows.
  var known: UInt64? {
    guard SimulatedVenue.isBook(key) else { return last }
    // The sum of the first n numbers, if it is one: about the root of twice the sum.
    let root = UInt64(Double(2 * sum).squareRoot())
    return (max(1, root) - 1...root + 1).first { SimulatedVenue.sum($0) == sum }
  }
}
