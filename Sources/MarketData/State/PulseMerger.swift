/// Makes pulses of one instrument's prices: at most one in 100 ms, and the last price always arrives within 200 ms.
///
/// - The first change after 100 ms or more without a pulse is published at once (leading edge).
/// - Changes within 100 ms of the last pulse are merged. The newest price is published on the first common tick that is
///   100 ms or more after that pulse (trailing edge), with `merged` saying how many changes it stands for. Common ticks
///   are the multiples of 100 ms since 1970, the same for every instrument, so that all pulses of a tick for a client
///   leave in one send. A pulse that leaves up to `lateness` after its tick counts as on the tick. A loop is always a
///   little late, and otherwise a busy market would miss every other tick and have its pulses between them.
/// - If the price is then the same as in the last pulse, nothing is published.
///
/// A simple debounce would send nothing while the market is busy. Every operation is O(1); nothing is allocated.
package struct PulseMerger: Sendable {
  /// The shortest time between two pulses, and the distance of the common ticks, µs.
  package static let interval: Int64 = 100 * Microseconds.millisecond
  /// How much less than that the time between two pulses may be, µs.
  package static let lateness: Int64 = 10 * Microseconds.millisecond

  package let instrument: InstrumentID
  /// The price of the last pulse; nil before the first.
  package private(set) var published: Int64?
  private var publishedAt = Timestamp.distantPast
  private var newest: Int64 = 0
  private var merged = 0
  /// The common tick on which the delayed pulse is published.
  private var tick = Timestamp.distantFuture

  package init(instrument: InstrumentID) { self.instrument = instrument }

  /// When `advance` must be called; `distantFuture` without a delayed pulse.
  package var deadline: Timestamp { merged > 0 ? tick : .distantFuture }

  /// Takes the price of a trade. A price equal to the previous one is not a change.
  ///
  /// Called later than `deadline`, it publishes the delayed pulse and this price as one pulse.
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

  /// Publishes the delayed pulse if its tick has come.
  package mutating func advance(to now: Timestamp) -> Pulse? {
    guard merged > 0, now >= tick else { return nil }
    guard newest != published else {
      merged = 0
      return nil
    }
    return publish(now: now, countedFrom: now - tick <= Self.lateness ? tick : now)
  }

  /// Multiplies the prices after the scale was widened. Returns false, and drops them, if one does not fit.
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

  /// - Parameter counted: the time from which the next 100 ms count; `now` by default.
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
