/// A span of time, its end exclusive.
package struct TimeSpan: Sendable, Equatable {
  package var from: Timestamp
  package var to: Timestamp
  package init(from: Timestamp, to: Timestamp) {
    self.from = from
    self.to = to
  }
}

/// When an instrument was observed, so that no chart shows an unobserved time as quiet.
///
/// At most `limit` spans are kept. Beyond that, the shortest is dropped: the real coverage may then be larger than
/// reported, never smaller. Each call is O(`limit`); nothing is allocated after `init`.
struct Coverage: Sendable {
  static let limit = 32

  /// Closed spans in order of time; they neither touch nor overlap. The last one is open while the instrument is
  /// observed.
  private(set) var spans: [TimeSpan] = []
  /// Whether the instrument is being observed: the last span then has no end yet.
  private(set) var isOpen = false

  init() { spans.reserveCapacity(Self.limit + 1) }

  /// The instrument is observed from `time` on.
  mutating func begin(at time: Timestamp) {
    guard !isOpen else { return }
    isOpen = true
    insert(TimeSpan(from: time, to: .distantFuture))
  }

  /// The instrument has not been observed since `time`.
  mutating func end(at time: Timestamp) {
    guard isOpen, let last = spans.last else { return }
    isOpen = false
    spans.removeLast()
    if last.from < time { insert(TimeSpan(from: last.from, to: time)) }
  }

  /// Adds a span that is known from elsewhere.
  mutating func insert(_ span: TimeSpan) {
    guard span.from < span.to else { return }
    var merged = span
    // Spans that touch the new one are neighbours.
    var first = spans.count
    while first > 0, spans[first - 1].to >= span.from { first -= 1 }
    var end = first
    while end < spans.count, spans[end].from <= span.to {
      merged.from = min(merged.from, spans[end].from)
      merged.to = max(merged.to, spans[end].to)
      end += 1
    }
    spans.replaceSubrange(first..<end, with: CollectionOfOne(merged))
    if spans.count > Self.limit { forgetShortest() }
  }

  /// Takes a span out: it was not observed after all.
  mutating func remove(_ span: TimeSpan) {
    guard span.from < span.to else { return }
    var index = spans.firstIndex { $0.to > span.from } ?? spans.count
    while index < spans.count, spans[index].from < span.to {
      let old = spans[index]
      if old.from < span.from {
        spans[index].to = span.from
        index += 1
        if old.to > span.to { spans.insert(TimeSpan(from: span.to, to: old.to), at: index) }
      } else if old.to > span.to {
        spans[index].from = span.to
      } else {
        spans.remove(at: index)
      }
    }
    if spans.count > Self.limit { forgetShortest() }
  }

  /// Drops spans that end before `time`.
  mutating func forget(before time: Timestamp) {
    let old = spans.prefix { $0.to <= time }.count
    if old > 0 { spans.removeFirst(old) }
  }

  mutating func removeAll() {
    spans.removeAll(keepingCapacity: true)
    isOpen = false
  }

  /// Whether all of the span was observed. O(log `limit`).
  func covers(_ span: TimeSpan) -> Bool {
    var low = 0
    var high = spans.count
    while low < high {
      let middle = (low + high) / 2
      if spans[middle].from <= span.from { low = middle + 1 } else { high = middle }
    }
    return low > 0 && spans[low - 1].to >= span.to
  }

  /// The end of the last observed span; `distantFuture` while the instrument is observed, nil if it never was.
  var end: Timestamp? { spans.last?.to }

  /// The first moment of the window that was observed; nil if none was.
  func start(in window: TimeSpan) -> Timestamp? {
    guard let first = spans.first(where: { $0.to > window.from }), first.from <= window.to else { return nil }
    return max(first.from, window.from)
  }

  /// The unobserved times between `start(in:)` and the end of the window that lasted `shortest` µs or longer.
  func gaps(in window: TimeSpan, shortest: Int64) -> [TimeSpan] {
    guard var end = start(in: window) else { return [] }
    var gaps: [TimeSpan] = []
    for span in spans where span.to > window.from {
      if span.from >= window.to { break }
      if span.from > end, span.from - end >= shortest { gaps.append(TimeSpan(from: end, to: span.from)) }
      end = max(end, span.to)
    }
    if end < window.to, window.to - end >= shortest { gaps.append(TimeSpan(from: end, to: window.to)) }
    return gaps
  }

  /// The first moment after `now` at which `start(in:)` and `gaps(in:shortest:)` may return something else for a window
  /// that ends at the time of the call, if no span is added; never later than the real change.
  /// - Parameter length: the length of the window; nil if its start is fixed.
  func nextChange(after now: Timestamp, length: Int64?, shortest: Int64) -> Timestamp {
    var next = Timestamp.distantFuture
    /// A result may already be wrong a microsecond later.
    func note(_ time: Timestamp) {
      if time > now { next = min(next, time) } else if time == now { next = now + 1 }
    }
    for span in spans {
      note(span.from)
      if span.to != .distantFuture { note(span.to + shortest) }
      guard let length else { continue }
      note(span.from + (length - shortest))
      note(span.from + length)
      if span.to != .distantFuture { note(span.to + length) }
    }
    return next
  }

  /// From when on the last 24 h were observed without a gap of a minute or longer; nil if all of them were.
  func incompleteSince(now: Timestamp) -> Timestamp? {
    let window = TimeSpan(from: now - Microseconds.day, to: now)
    // An open gap grows by whole minutes, so that two answers about a market at rest are equal.
    let thisMinute = now - now.microseconds % Microseconds.minute
    if let gap = gaps(in: window, shortest: Microseconds.minute).last {
      return gap.to == now ? thisMinute : gap.to
    }
    guard let start = start(in: window) else { return thisMinute }
    return start - window.from >= Microseconds.minute ? start : nil
  }

  private mutating func forgetShortest() {
    var shortest = 0
    for index in spans.indices.dropFirst() {
      if spans[index].to - spans[index].from < spans[shortest].to - spans[shortest].from { shortest = index }
    }
    spans.remove(at: shortest)
  }
}

/// A coverage to which spans are added in the order of their starts: spans that touch are joined and inserted as one,
/// so that a thousand consecutive candles cost one insertion.
struct CoverageRun {
  private(set) var coverage: Coverage
  private var open: TimeSpan?

  init(_ coverage: Coverage) { self.coverage = coverage }

  mutating func add(_ span: TimeSpan) {
    guard let run = open, span.from >= run.from, span.from <= run.to else {
      finish()
      open = span
      return
    }
    open?.to = max(run.to, span.to)
  }

  /// Whether all of the span was observed, also counting added spans. O(log `Coverage.limit`).
  func covers(_ span: TimeSpan) -> Bool {
    guard let run = open, run.from < span.to, run.to > span.from else { return coverage.covers(span) }
    return (run.from <= span.from || coverage.covers(TimeSpan(from: span.from, to: run.from)))
      && (run.to >= span.to || coverage.covers(TimeSpan(from: run.to, to: span.to)))
  }

  /// Inserts the joined span.
  mutating func finish() {
    if let run = open { coverage.insert(run) }
    open = nil
  }
}
