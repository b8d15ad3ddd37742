import Synchronization

extension Gateway {
  /// Whether every loop turns: answers within a second with the indices of those that do not. If the first loop stands
  /// still, the answer never comes, so a watchdog must not wait for it.
  package func probeLoops(then: @escaping @Sendable (_ silent: [Int]) -> Void) {
    LoopProbe.run(nodes.map(\.loop), from: nodes[0].loop, then: then)
  }
}
