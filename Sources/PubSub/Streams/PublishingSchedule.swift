import MarketData

/// The streams that wait to publish their changes: rate-limited ones for the next tick of their class, others for the
/// end of a batch. A stream waits once, however often it changes.
struct PublishingSchedule {
  /// By `RateClass.index`.
  private var waiting: [[PublishedStream]] = RateClass.intervals.map { _ in [] }
  private var ticks: [Timestamp] = RateClass.intervals.map { _ in .distantFuture }
  /// The streams that wait for the end of the batch.
  private(set) var batch: [PublishedStream] = []
  /// Whether the streams of a tick are publishing.
  var isTicking = false
  /// The groups that publish at the end of this tick or batch.
  private var groups: [GroupStream] = []

  /// The time at which a tick is next due.
  var nextDeadline: Timestamp { ticks.min() ?? .distantFuture }

  /// The stream publishes at the next multiple of its interval.
  mutating func addToTick(_ stream: PublishedStream, now: Timestamp) {
    if stream.isDirty { return }
    stream.isDirty = true
    let index = RateClass.index(of: stream.interval)
    if waiting[index].isEmpty {
      let interval = Int64(stream.interval) * Microseconds.millisecond
      ticks[index] = Timestamp(microseconds: (now.microseconds / interval + 1) * interval)
    }
    waiting[index].append(stream)
  }

  /// The group publishes at the end of this tick or batch.
  mutating func addGroup(_ group: GroupStream) {
    if !groups.contains(where: { $0 === group }) { groups.append(group) }
  }

  /// Takes the groups that have something to publish.
  mutating func takeGroups() -> [GroupStream] {
    guard !groups.isEmpty else { return [] }
    defer { groups.removeAll(keepingCapacity: true) }
    return groups
  }

  /// The stream publishes at the end of the batch.
  mutating func addToBatch(_ stream: PublishedStream) {
    if stream.isDirty { return }
    stream.isDirty = true
    batch.append(stream)
  }

  /// Takes the streams of a class whose tick is due; nil if none is. They do not wait any more.
  mutating func takeDue(at now: Timestamp) -> [PublishedStream]? {
    guard let index = ticks.firstIndex(where: { $0 <= now }) else { return nil }
    ticks[index] = .distantFuture
    let due = waiting[index]
    waiting[index].removeAll(keepingCapacity: true)
    for stream in due { stream.isDirty = false }
    return due
  }

  /// Ends the batch: its streams do not wait any more.
  mutating func endBatch() {
    for stream in batch { stream.isDirty = false }
    batch.removeAll(keepingCapacity: true)
  }
}
