import Access

/// Limits how fast a token publishes on the client port. Each call passes the time.
package struct TopicPace {
  /// The rate of one subject per second, and its burst.
  package static let documentsPerSecond = 20
  package static let kilobytesPerSecond = 512
  /// The most subjects that are remembered; one that is within its rates is forgotten first.
  static let subjectLimit = 4_096
  /// The wait of a subject beyond `subjectLimit`, µs.
  private static let fullWait: Int64 = 1_000_000

  private struct Subject {
    var documents: Int64 = 0
    var kilobytes: Int64 = 0
  }

  private let documents = Rate(perSecond: Self.documentsPerSecond)
  private let kilobytes = Rate(perSecond: Self.kilobytesPerSecond)
  private var subjects: [String: Subject] = [:]

  /// Counts a document. If it exceeds the rate, counts nothing and returns the µs to wait.
  /// - Parameter now: monotonic µs.
  mutating func take(_ subject: String, bytes: Int, now: Int64) -> Int64? {
    if subjects[subject] == nil, subjects.count >= Self.subjectLimit {
      subjects = subjects.filter { $0.value.documents > now || $0.value.kilobytes > now }
      guard subjects.count < Self.subjectLimit else { return Self.fullWait }
    }
    var counted = subjects[subject] ?? Subject()
    if let wait = documents.take(&counted.documents, now: now) { return wait }
    for _ in 0..<(bytes + 1_023) / 1_024 {
      if let wait = kilobytes.take(&counted.kilobytes, now: now) { return wait }
    }
    subjects[subject] = counted
    return nil
  }
}
