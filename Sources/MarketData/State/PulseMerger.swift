/// Makes pulses of one instrument's prices: at most one in 100 ms, and the last price always arrives within 200 ms.
///
/// - The first change after 100 ms or more without a pulse is published at once (leading edge).
/// - Changes within 100 ms of the last pulse are merged. The newest price is published on the first common tick that is
///   100 ms or more after that pulse (trailing edge), with `merged` saying how many changes it stands for. Common ticks
///   are the multiples of 100 ms since 1970, the same for every instrument, so that all that a client gets on a tick
///   leaves in one send. A pulse that leaves up to `lateness` after its tick counts as of the tick: a loop is always a
///   little late, and a busy market would else miss every other tick and have pulses of its own between them.
/// - If the price is by then back where the last pulse left it, nothing is published.
///
/// A plain debounce would stay silent as long as the market is busy. Every operation is O(1); nothing is allocated.
package struct PulseMerger: Sendable {
  /// The shortest time between two pulses, and the distance of the common ticks, µs.
  package static let interval: Int64 = 100 * Microseconds.millisecond
  /// How much nearer than that two pulses may come, µs.
  package static let lateness: Int64 = 10 * Microseconds.millisecond

  package let instrument: InstrumentID
  /// The price of the last pulse; nil before the first.
  package private(set) var published: Int64?
  private var publishedAt = Timestamp.distantPast
  private var newest: Int64 = 0
  private var merged = 0
  /// The common tick on which what is held back is published.
  private var tick = Timestamp.distantFuture

  package init(instrument: InstrumentID) { self.instrument = instrument }

  /// When `advance` must be called; `distantFuture` while nothing is held back.
  package var deadline: Timestamp { merged > 0 ? tick : .distantFuture }

  /// Takes the price of a trade. A price equal to the one before it is no change.
  ///
  /// Called later than `deadline`, it publishes what was held back and this price as one pulse.
  package mutating func price(_ price: Int64, now: Timestamp) -> Pulse? {
    guard published != nil else {
      newest = price
      merged = 1
      return publish(now: now)
    }
    if price != newest {
      newest = price
      merged += 1
      if merged == 1, now - publishedAt >= Self.interval { return publish(now: now) }
    }
    return advance(to: now)
  }

  /// Publishes what was held back if its tick has come.
  package mutating func advance(to now: Timestamp) -> Pulse? {
    guard merged > 0, now >= tick else { return nil }
    guard newest != published else {
      merged = 0
      return nil
    }
    return publish(now: now, countedFrom: now - tick <= Self.lateness ? tick : now)
  }

  /// Multiplies the prices after the scale was widened. Returns false, and forgets them, if one does not fit.
  package mutating func rescale(by factor: Int64) -> Bool {
    let (newNewest, o1) = newest.multipliedReportingOverflow(by: factor)
    let (newPublished, o2) = (published ?? 0).multipliedReportingOverflow(by: factor)
    guard !o1, !o2 else {
      self = PulseMerger(instrument: instrument)
      return false
    }
    newest = newNewest
    if published != nil { published = newPublished }
    return true
  }

  /// - Parameter counted: when the next 100 ms begin; `now` by default.
  private mutating func publish(now: Timestamp, countedFrom counted: Timestamp? = nil) -> Pulse {
    let pulse = Pulse(instrument: instrument, price: newest, previous: published, merged: merged, time: now)
    published = newest
    publishedAt = counted ?? now
    let earliest = publishedAt.rawValue + Self.interval
    tick = Timestamp(microseconds: -floorDivide(-earliest, Self.interval) * Self.interval)
    merged = 0
    return pulse
  }
}
