import DequeModule
import MarketData

/// The streams of a publisher by number and by key, and which numbers are free.
///
/// A stream without subscribers keeps its number and its `seq` for clients that return, until `idleLimit` others became
/// idle after it. Then a new stream gets its slot. The new stream's `seq` starts above that of every stream that the
/// table has given up, so for a client no position decreases within the epoch. A group is given up at once: there are
/// as many as clients can think of, and each has all its members.
struct StreamTable {
  /// The number of streams without subscribers that are kept for returning clients.
  static let idleLimit = 4_096

  let loop: Int
  let loops: Int
  /// The streams by number / `loops`; the first slot is unused, so that no stream has the number 0.
  private(set) var streams: [PublishedStream?] = [nil]
  private var byKey: [StreamKey: PublishedStream] = [:]
  /// Numbers that are reserved for streams of an earlier run.
  private var reserved: Set<UInt32>
  /// Where the search for the next free slot begins.
  private var nextSlot = 1
  /// A note of each time that a stream lost its last subscriber, oldest first; at most twice as many as there are
  /// streams.
  private var idle: Deque<(stream: PublishedStream, generation: UInt32)> = []
  /// The highest `seq` of a stream whose slot was given away, or of an earlier run.
  private var retiredSeq: UInt64

  /// - Parameters:
  ///   - loop: this loop; stream numbers are striped so that `number % loops == loop`.
  ///   - loops: 1…64, as many as fit in the bit mask of a delivery.
  init(loop: Int, loops: Int, numbering: KeptNumbering) {
    precondition((1...64).contains(loops) && (0..<loops).contains(loop), "loops are 1 to 64")
    self.loop = loop
    self.loops = loops
    retiredSeq = numbering.highest
    reserved = numbering.numbers.filter { Int($0) % loops == loop && Int($0) >= loops }
  }

  /// Streams that have a number, those without subscribers included.
  var count: Int { byKey.count }
  /// Notes of streams that became idle, outdated ones included.
  var idleCount: Int { idle.count }
  /// The highest `seq` so far. O(streams).
  var highestSeq: UInt64 { streams.reduce(retiredSeq) { max($0, $1?.seq ?? 0) } }

  subscript(id: StreamID) -> PublishedStream? {
    let number = Int(id.rawValue)
    guard number % loops == loop, number / loops < streams.count else { return nil }
    return streams[number / loops]
  }

  subscript(key: StreamKey) -> PublishedStream? { byKey[key] }

  /// Makes a stream with a free number, or with that of the stream that has been idle longest, if more than the limit
  /// are idle. Amortised O(1).
  mutating func make(
    _ key: StreamKey, market: Int, instrument: InstrumentID, members: [GroupMember] = []
  ) -> PublishedStream {
    let id = retireIdle()?.id ?? StreamID(rawValue: UInt32(freeSlot() * loops + loop))
    return insert(
      PublishedStream.make(
        StreamStart(
          id: id, seq: retiredSeq, key: key, market: market, instrument: instrument, members: members)))
  }

  /// Makes a stream of an earlier run; nil if there is another with its number or its key.
  mutating func restore(_ start: StreamStart) -> PublishedStream? {
    guard reserved.remove(start.id.rawValue) != nil, byKey[start.key] == nil, self[start.id] == nil else { return nil }
    return insert(PublishedStream.make(start))
  }

  /// Whether a number is reserved for a stream of an earlier run.
  func isReserved(_ number: UInt32) -> Bool { reserved.contains(number) }

  private mutating func insert(_ stream: PublishedStream) -> PublishedStream {
    let slot = Int(stream.id.rawValue) / loops
    while streams.count <= slot { streams.append(nil) }
    streams[slot] = stream
    byKey[stream.key] = stream
    return stream
  }

  /// A slot without a stream that is not reserved.
  private mutating func freeSlot() -> Int {
    while nextSlot < streams.count && streams[nextSlot] != nil || isReserved(UInt32(nextSlot * loops + loop)) {
      nextSlot += 1
    }
    return nextSlot
  }

  // MARK: Idle streams

  /// Notes that a stream has lost its last subscriber.
  mutating func noteIdle(_ stream: PublishedStream) {
    guard stream.key.group.isEmpty else { return giveUp(stream) }
    idle.append((stream, stream.idleGeneration))
    if idle.count > 2 * streams.count { forgetOutdatedNotes() }
  }

  private mutating func giveUp(_ stream: PublishedStream) {
    let slot = Int(stream.id.rawValue) / loops
    byKey[stream.key] = nil
    streams[slot] = nil
    nextSlot = min(nextSlot, slot)
    retiredSeq = max(retiredSeq, stream.seq)
  }

  /// Gives up the stream that has been idle longest, if more than the limit are idle.
  private mutating func retireIdle() -> PublishedStream? {
    while idle.count > Self.idleLimit, let (stream, generation) = idle.popFirst() {
      guard !stream.isRunning, stream.idleGeneration == generation else { continue }
      byKey[stream.key] = nil
      retiredSeq = max(retiredSeq, stream.seq)
      return stream
    }
    return nil
  }

  /// Drops the notes of streams that have run since. At most one note of each stream is current, so after this there
  /// are no more notes than streams. As many streams must become idle before this happens again: amortised O(1).
  private mutating func forgetOutdatedNotes() {
    idle.removeAll { $0.stream.isRunning || $0.stream.idleGeneration != $0.generation }
  }
}
