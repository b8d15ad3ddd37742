import Bytes
import MarketData

/// What one turn's frames are for each client, without a list per client.
///
/// A *run* is frames of one stream that follow each other. A *bundle* is a sequence of runs, known by its number;
/// clients that get the same runs have the same number, so that a delivery is one store for each of them, and their
/// bytes are put side by side once, whatever number of clients they are for. Bundles form a tree: each has the runs of
/// its parent and one more.
///
/// Numbers are good until `removeAll`, at the end of the turn.
struct TurnBundles: ~Copyable {
  /// The bundle without frames.
  static let empty: UInt32 = 0
  private static let none = UInt32.max

  private struct Run {
    var first: UInt32
    var end: UInt32
    var bytes: UInt32
    var time: Timestamp
  }

  private struct Bundle {
    var parent: UInt32 = 0
    /// The last of its runs.
    var run: UInt32 = none
    var frames: UInt32 = 0
    var bytes: UInt32 = 0
    /// The bundle that the run `nextRun` leads to from here; `empty`: it would be too large.
    var nextRun: UInt32 = none
    var next: UInt32 = 0
    /// Where its bytes stand in `joined`, if they were put there since that was last emptied.
    var joinedAt: UInt32 = 0
    var joinedEpoch: UInt32 = 0
  }

  /// Bytes of a bundle of several frames; a client that gets more in a turn has them queued one by one.
  let bytesLimit: Int
  /// Bytes that are kept side by side for further clients; past it they are forgotten.
  private static let joinedLimit = 1 << 20
  /// Bundles whose memory is kept from turn to turn.
  private static let keptBundles = 16_384

  private var frames: ContiguousArray<StreamFrame> = []
  private var runs: ContiguousArray<Run> = []
  /// The number of the run that is being delivered.
  private var present: UInt32 = 0
  private var bundles: UnsafeMutablePointer<Bundle>
  private var capacity = 256
  private(set) var count = 1
  private var joined = ByteBuffer()
  private var joinedEpoch: UInt32 = 1
  /// What `bytes` was last asked for.
  private var last = (bundle: none, bytes: UnsafeRawBufferPointer(start: nil, count: 0))
  /// Shared copies of what `bytes` shows, for connections that keep some of it.
  private var shared: [UInt32: SharedBytes] = [:]
  private var compressed: [UInt32: CompressedTurn] = [:]
  private var path: ContiguousArray<UInt32> = []

  init(bytesLimit: Int) {
    self.bytesLimit = bytesLimit
    bundles = .allocate(capacity: capacity)
    bundles.initialize(to: Bundle())
  }

  deinit { bundles.deallocate() }

  // MARK: Delivering

  /// Begins a run: `advance` now leads to bundles that end with it.
  mutating func begin(_ run: some Collection<StreamFrame>, time: Timestamp) {
    let first = UInt32(frames.count)
    frames.append(contentsOf: run)
    let bytes = run.reduce(0) { $0 + $1.bytes.count }
    runs.append(
      Run(first: first, end: UInt32(frames.count), bytes: UInt32(clamping: bytes), time: time))
    present = UInt32(runs.count - 1)
  }

  /// The bundle of a client that had `bundle` and gets the present run; `empty` if it would be too large. O(1).
  @inline(__always)
  mutating func advance(_ bundle: UInt32) -> UInt32 {
    let from = bundles + Int(bundle)
    if from.pointee.nextRun == present { return from.pointee.next }
    return makeNext(bundle)
  }

  @inline(never)
  private mutating func makeNext(_ bundle: UInt32) -> UInt32 {
    let added = runs[Int(present)]
    let from = bundles[Int(bundle)]
    let frames = from.frames + added.end - added.first
    let bytes = Int(from.bytes) + Int(added.bytes)
    bundles[Int(bundle)].nextRun = present
    guard frames == 1 || bytes <= bytesLimit else {
      bundles[Int(bundle)].next = Self.empty
      return Self.empty
    }
    if count == capacity { grow() }
    (bundles + count).initialize(to: Bundle(parent: bundle, run: present, frames: frames, bytes: UInt32(bytes)))
    bundles[Int(bundle)].next = UInt32(count)
    count += 1
    return UInt32(count - 1)
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Bundle>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: bundles, count: count)
    bundles.deallocate()
    bundles = larger
    capacity *= 2
  }

  // MARK: Taking

  @inline(__always)
  func byteCount(of bundle: UInt32) -> Int { Int(bundles[Int(bundle)].bytes) }
  @inline(__always)
  func frameCount(of bundle: UInt32) -> Int { Int(bundles[Int(bundle)].frames) }

  /// When the first of a bundle's frames came.
  func time(of bundle: UInt32) -> Timestamp {
    var first = Timestamp.distantFuture
    var number = bundle
    while number != Self.empty {
      first = runs[Int(bundles[Int(number)].run)].time
      number = bundles[Int(number)].parent
    }
    return first
  }

  /// All frames of a bundle side by side. Good until the next call.
  @inline(__always)
  mutating func bytes(of bundle: UInt32) -> UnsafeRawBufferPointer {
    // Clients with the same frames follow each other, as a rule.
    bundle == last.bundle ? last.bytes : findBytes(of: bundle)
  }

  @inline(never)
  private mutating func findBytes(of bundle: UInt32) -> UnsafeRawBufferPointer {
    let bytes = joinedBytes(of: bundle)
    last = (bundle, bytes)
    return bytes
  }

  private mutating func joinedBytes(of bundle: UInt32) -> UnsafeRawBufferPointer {
    let wanted = bundles[Int(bundle)]
    if wanted.joinedEpoch == joinedEpoch {
      return UnsafeRawBufferPointer(
        start: joined.unsafeBytes.baseAddress.unsafelyUnwrapped + Int(wanted.joinedAt), count: Int(wanted.bytes))
    }
    if wanted.frames == 1 { return frames[Int(runs[Int(wanted.run)].first)].bytes.unsafeBytes }
    guard wanted.frames > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    if joined.count + Int(wanted.bytes) > Self.joinedLimit {
      joined.removeAll()
      joinedEpoch &+= 1
    }
    let start = joined.count
    findPath(to: bundle)
    for run in path.reversed() {
      for index in runs[Int(run)].first..<runs[Int(run)].end { joined.append(frames[Int(index)].bytes.unsafeBytes) }
    }
    bundles[Int(bundle)].joinedAt = UInt32(start)
    bundles[Int(bundle)].joinedEpoch = joinedEpoch
    return UnsafeRawBufferPointer(rebasing: joined.unsafeBytes[start...])
  }

  /// The same as an object, one for all its clients.
  mutating func sharedBytes(of bundle: UInt32) -> SharedBytes {
    let wanted = bundles[Int(bundle)]
    if wanted.frames == 1 { return frames[Int(runs[Int(wanted.run)].first)].bytes }
    if let known = shared[bundle] { return known }
    let made = SharedBytes(bytes(of: bundle))
    shared[bundle] = made
    return made
  }

  /// The form of a bundle for clients that take compressed messages: each frame as `form` makes it, side by side. Once
  /// for all of them.
  mutating func compressedBytes(of bundle: UInt32, _ form: (SharedBytes) -> SharedBytes) -> CompressedTurn {
    if let known = compressed[bundle] { return known }
    var turn = CompressedTurn(bytes: SharedBytes([]))
    var only: SharedBytes?
    var bytes = ByteBuffer(capacity: byteCount(of: bundle))
    forEachFrame(of: bundle) { frame, _ in
      let made = form(frame.bytes)
      if made !== frame.bytes {
        turn.compressedFrames += 1
        turn.bytesBefore += frame.bytes.count
        turn.bytesAfter += made.count
      }
      only = made
      bytes.append(made.unsafeBytes)
    }
    if let only, only.count == bytes.count { turn.bytes = only } else { turn.bytes = SharedBytes(bytes.unsafeBytes) }
    compressed[bundle] = turn
    compressed[bundle]?.isFirst = false
    return turn
  }

  /// The frames of a bundle in order, and when each came.
  mutating func forEachFrame(of bundle: UInt32, _ body: (StreamFrame, Timestamp) -> Void) {
    findPath(to: bundle)
    for run in path.reversed() {
      let run = runs[Int(run)]
      for index in run.first..<run.end { body(frames[Int(index)], run.time) }
    }
  }

  /// The runs of a bundle, the last one first.
  private mutating func findPath(to bundle: UInt32) {
    path.removeAll(keepingCapacity: true)
    var number = bundle
    while number != Self.empty {
      path.append(bundles[Int(number)].run)
      number = bundles[Int(number)].parent
    }
  }

  /// Ends the turn: all numbers but `empty` are void.
  mutating func removeAll() {
    guard !runs.isEmpty else { return }
    frames.removeAll(keepingCapacity: frames.count <= Self.keptBundles)
    runs.removeAll(keepingCapacity: runs.count <= Self.keptBundles)
    joined.removeAll()
    joinedEpoch &+= 1
    last.bundle = Self.none
    if !shared.isEmpty { shared.removeAll() }
    if !compressed.isEmpty { compressed.removeAll() }
    if capacity > Self.keptBundles {
      bundles.deallocate()
      capacity = 256
      bundles = .allocate(capacity: capacity)
    }
    bundles.initialize(to: Bundle())
    count = 1
  }
}

/// Whole frames side by side, as one turn has brought them to a client.
package struct TurnBytes {
  /// Good until the hub is called again.
  package let bytes: UnsafeRawBufferPointer
  package let frames: Int
  let bundle: UInt32
}

/// The same for clients that take compressed messages.
package struct CompressedTurn {
  package var bytes: SharedBytes
  /// Frames of it that are compressed, and their bytes before and after.
  package var compressedFrames = 0
  package var bytesBefore = 0
  package var bytesAfter = 0
  /// Whether it was made for this client, and not for another one before.
  package var isFirst = true
}
