import Synchronization

extension Gateway {
  /// Checks whether every loop turns: calls back within a second with the indices of loops that do not. If the first
  /// loop stands still, the answer never comes, so a watchdog must not wait for it.
  package func probeLoops(then: @escaping @Sendable (_ silent: [Int]) -> Void) {
    LoopProbe.run(nodes.map(\.loop), from: nodes[0].loop, then: then)
  }
}
