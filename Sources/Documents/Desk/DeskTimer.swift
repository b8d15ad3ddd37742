import Dispatch

/// Calls a desk at intervals, on its queue.
struct DeskTimer {
  private var source: (any DispatchSourceTimer)?
  /// ms; 0: it has not been set.
  private var interval = 0

  mutating func start(_ queue: DispatchQueue, everyMilliseconds interval: Int, _ body: @escaping @Sendable () -> Void) {
    let source = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler(handler: body)
    self.source = source
    set(everyMilliseconds: interval)
    source.activate()
  }

  /// Changes the interval, from now on.
  mutating func set(everyMilliseconds wanted: Int) {
    guard let source, wanted != interval else { return }
    interval = wanted
    source.schedule(
      deadline: .now() + .milliseconds(wanted), repeating: .milliseconds(wanted),
      leeway: .milliseconds(min(20, wanted / 20)))
  }

  mutating func cancel() {
    source?.cancel()
    source = nil
    interval = 0
  }
}
