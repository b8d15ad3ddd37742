/// Trades that are known to be missing: their time counts as not observed until all of them are there.
extension Chart {
  /// Trades of the span are missing. Its candles are `partial` from now on, and lines have a gap there if it is as long
  /// as a bucket. Returns whether closed candles changed, so that `reissue` has work. O(minutes of the span).
  mutating func miss(_ span: TimeSpan) -> Bool {
    // Short holes show in candles alone, so only these need to know them: a coverage keeps few spans.
    for range in ChartRange.allCases where range == .day || span.to - span.from >= range.bucketLength {
      coverage[Int(range.rawValue)].remove(span)
    }
    return note(span)
  }

  /// All trades of the span are there. Returns whether closed candles changed. O(minutes of the span).
  ///
  /// If the span begins shortly before the end of the last observation, no trade of that time was under way either: it
  /// would have a lower number than the one that the span begins with, and be missing before that.
  mutating func complete(_ span: TimeSpan) -> Bool {
    var span = span
    if let unsure, unsure.from < span.from, span.from <= unsure.to {
      span.from = unsure.from
      self.unsure = nil
    }
    for index in coverage.indices { coverage[index].insert(span) }
    return note(span)
  }

  /// Whether the figures of the minute are a venue's, which has all of its trades.
  func isVenueMinute(_ time: Timestamp) -> Bool {
    minutes.minute(MinuteRing.number(of: time)).map(\.isVenue) ?? false
  }

  /// What is known of the span has changed.
  private mutating func note(_ span: TimeSpan) -> Bool {
    coverageRevision &+= 1
    revision &+= 1
    guard closedBefore != MinuteRing.none, !minutes.isEmpty else { return false }
    var minute = max(MinuteRing.number(of: span.from), oldestWhole)
    let end = min(MinuteRing.number(of: span.to), closedBefore - 1)
    var isLate = false
    while minute <= end {
      isLate = markLate(minute) || isLate
      minute += 1
    }
    return isLate
  }
}
