import Synchronization

extension Gateway {
  /// Checks whether every loop turns: calls back within a second with the indices of loops that are stuck. If the first
  /// loop is stuck, the answer never comes, so a watchdog must not wait for it.
  package func probeLoops(then: @escaping @Sendable (_ silent: [Int]) -> Void) {
    LoopProbe.run(nodes.map(\.loop), from: nodes[0].loop, then: then)
  }
}
