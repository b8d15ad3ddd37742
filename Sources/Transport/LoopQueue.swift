import Dispatch

/// The dispatch queue of a loop, and the source that wakes it. A driven loop has no source: nothing runs on its queue.
struct LoopQueue {
  private let queue: DispatchQueue
  private let source: (any DispatchSourceRead)?

  /// A serial queue, because all of the few threads of a global queue may be blocked while they wait for this.
  private static let farewells = DispatchQueue(label: "tidegate.shutdown")

  /// - Parameter descriptor: the poller's; nil: the loop is driven.
  init(label: String, watching descriptor: Int32?) {
    queue = DispatchQueue(label: label)
    source = descriptor.map { [queue] in DispatchSource.makeReadSource(fileDescriptor: $0, queue: queue) }
  }

  var isDriven: Bool { source == nil }

  func assertOnQueue() { dispatchPrecondition(condition: .onQueue(queue)) }

  /// Calls `body` on the queue when the descriptor is readable.
  func start(_ body: @escaping @Sendable () -> Void) {
    source?.setEventHandler(handler: body)
    source?.activate()
  }

  /// Runs `body` on the queue, after the source's handler has returned; at once in a driven loop.
  func runOutside(_ body: @escaping @Sendable () -> Void) {
    if isDriven { body() } else { queue.async(execute: body) }
  }

  /// Stops the source, and calls `body` when it has stopped.
  func stop(_ body: @escaping @Sendable () -> Void) {
    guard let source else { return body() }
    source.setCancelHandler(handler: body)
    source.cancel()
  }

  /// Calls the completions of a loop that has ended: in a driven loop in its driver's thread, else on another queue.
  func sayFarewell(_ completions: [@Sendable () -> Void]) {
    if isDriven {
      for completion in completions { completion() }
    } else {
      Self.farewells.async { for completion in completions { completion() } }
    }
  }
}
