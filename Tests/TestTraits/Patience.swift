/// How long a test looks for something that other threads bring about: 30 s, and at least 3,000 looks, because a busy
/// machine may let this test look only now and then. It decides failure only; success is seen at the first look that
/// shows it.
package struct Patience {
  private let deadline = ContinuousClock.now + .seconds(30)
  private var looks = 0

  package init() {}

  /// Waits a little before the next look; throws when it is over.
  package mutating func wait(for what: @autoclosure () -> String) async throws {
    looks += 1
    guard looks < 3_000 || ContinuousClock.now < deadline else {
      throw Overdue(description: "waited 30 s for \(what())")
    }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// What a test waited for in vain.
package struct Overdue: Error, CustomStringConvertible {
  package let description: String
}
