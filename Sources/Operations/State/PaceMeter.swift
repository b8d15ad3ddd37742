import Transport

/// Measures the pace of one loop once a second, even without viewers: O(feeds).
final class PaceMeter: @unchecked Sendable {
  // `@unchecked`: made before the loop begins, then used only on that loop.

  private unowned let loop: any OperatedLoop
  private(set) var pace = LoopPace()

  init(_ loop: any OperatedLoop) { self.loop = loop }

  /// Begins to measure. From anywhere, once.
  func start() {
    loop.loop.execute { [self] in
      pace.take(loop.totals)
      loop.loop.scheduleRepeating(every: .seconds(1)) { [self] in pace.take(loop.totals) }
    }
  }
}
