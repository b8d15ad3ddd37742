import MarketData
import Venues

/// All that a connection to a venue was given, in order and with its time, so that another one can be given the same.
struct FeedScript {
  enum Step {
    case prepare
    case connected
    /// Moves the engine's time on.
    case tick
    /// Moves the market's time on.
    case advance
    case message(Range<Int>)
    case response(request: Int, status: Int, body: Range<Int>)
  }

  private(set) var steps: [(now: Timestamp, step: Step)] = []
  private(set) var bytes: [UInt8] = []
  private(set) var messages = 0

  mutating func note(_ step: Step, now: Timestamp) { steps.append((now, step)) }

  mutating func note(message: UnsafeRawBufferPointer, now: Timestamp) {
    steps.append((now, .message(keep(message))))
    messages += 1
  }

  mutating func note(
    response request: Int, status: Int, body: UnsafeRawBufferPointer, now: Timestamp
  ) {
    steps.append((now, .response(request: request, status: status, body: keep(body))))
  }

  private mutating func keep(_ text: UnsafeRawBufferPointer) -> Range<Int> {
    let start = bytes.count
    bytes.append(contentsOf: text)
    return start..<bytes.count
  }

  /// Calls `body` with every step and all bytes, in order.
  func forEach(_ body: (_ now: Timestamp, _ step: Step, _ bytes: UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { all in
      for (now, step) in steps { body(now, step, all) }
    }
  }
}

extension FeedPipeline {
  /// Carries out a step of a script; what the engine wants done is dropped, since its answers are steps, too.
  @inline(__always)
  func perform(_ step: FeedScript.Step, now: Timestamp, _ bytes: UnsafeRawBufferPointer) {
    switch step {
    case .prepare: prepare(now: now)
    case .connected: connected(now: now)
    case .tick: tick(now: now)
    case .advance: advance(now: now)
    case .message(let range):
      receive(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[range])), now: now)
    case .response(let request, let status, let range):
      response(
        to: request, status: status, body: RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[range])),
        now: now)
    }
    clear()
    if !engine.actions.isEmpty { _ = takeActions() }
  }
}

extension FeedEngine {
  /// The same for an engine by itself.
  @inline(__always)
  func perform(
    _ step: FeedScript.Step, now: Timestamp, _ bytes: UnsafeRawBufferPointer, into batch: inout EventBatch
  ) throws(FeedError) {
    switch step {
    case .prepare: prepare(now: now, into: &batch)
    case .connected: connected(now: now, into: &batch)
    case .tick: tick(now: now, into: &batch)
    case .advance: break
    case .message(let range):
      try receive(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[range])), now: now, into: &batch)
    case .response(let request, let status, let range):
      response(
        to: request, status: status, body: RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[range])),
        now: now, into: &batch)
    }
    if !actions.isEmpty { actions.removeAll(keepingCapacity: true) }
  }
}
