import Bytes

/// The deliveries of one loop for another, until the other loop's mailbox takes them. Sans-IO.
///
/// If the mailbox is full, the frames are merged: one `.missed` per stream replaces them and tells the receiver that
/// frames are missing. Answers to single clients are kept, in order with their stream; the number of requesters bounds
/// them. So the cost of a blocked loop does not grow with time.
package struct DeliveryOutbox {
  /// The deliveries, in order.
  package private(set) var deliveries: [Delivery] = []
  /// The bytes of the frames in it.
  package private(set) var bytes = 0
  /// The number of merged frames since the start.
  package private(set) var framesMissed: UInt64 = 0
  /// The index from which nothing has been merged yet.
  private var fresh = 0
  private let loop: Int

  /// - Parameter loop: the loop that owns this outbox.
  package init(to loop: Int) { self.loop = loop }

  package var isEmpty: Bool { deliveries.isEmpty }

  package mutating func append(_ delivery: Delivery) {
    deliveries.append(delivery)
    bytes += Self.bytes(of: delivery)
  }

  /// The other loop took everything.
  package mutating func removeAll() {
    deliveries.removeAll(keepingCapacity: true)
    bytes = 0
    fresh = 0
  }

  /// The other loop took nothing: merges the frames that were added since the last time. O(deliveries).
  package mutating func merge() {
    guard fresh < deliveries.count else { return }
    /// The index of a stream's run, if no other item of the stream follows it.
    var runs: [StreamID: Int] = [:]
    var kept: [Delivery] = []
    kept.reserveCapacity(deliveries.count)
    bytes = 0
    for delivery in deliveries {
      switch delivery {
      case .frame(let frame, _):
        framesMissed += 1
        let missed = MissedFrames(
          stream: frame.stream, first: frame.kind == .snapshot ? frame.seq : frame.prev + 1, last: frame.seq,
          events: UInt64(frame.events))
        Self.add(missed, loop: loop, to: &kept, &runs)
      case .missed(let missed, _): Self.add(missed, loop: loop, to: &kept, &runs)
      case .joined(let result, _, _): keep(delivery, of: result.stream)
      case .snapshot(let frame, _, _): keep(delivery, of: frame.stream)
      case .nothing(let stream, _, _): keep(delivery, of: stream)
      }
    }
    func keep(_ delivery: Delivery, of stream: StreamID) {
      runs[stream] = nil
      bytes += Self.bytes(of: delivery)
      kept.append(delivery)
    }
    deliveries = kept
    fresh = kept.count
  }

  private static func add(
    _ missed: MissedFrames, loop: Int, to kept: inout [Delivery], _ runs: inout [StreamID: Int]
  ) {
    if let index = runs[missed.stream], case .missed(var run, _) = kept[index] {
      run.last = missed.last
      run.events += missed.events
      kept[index] = .missed(run, loop: loop)
    } else {
      runs[missed.stream] = kept.count
      kept.append(.missed(missed, loop: loop))
    }
  }

  private static func bytes(of delivery: Delivery) -> Int {
    switch delivery {
    case .frame(let frame, _), .snapshot(let frame, _, _): frame.bytes.count
    case .joined(let result, _, _):
      (result.snapshot?.bytes.count ?? 0) + result.replay.reduce(0) { $0 + $1.bytes.count }
    case .nothing, .missed: 0
    }
  }
}
