import Transport

extension LoopNode {
  /// Runs `work` on the node of `loop` and `then` with its result back here. On the loop.
  func ask<T: Sendable>(_ target: Int, _ work: @escaping @Sendable (LoopNode) -> T, then: @escaping (T) -> Void) {
    if target == loop.index { return then(work(self)) }
    let node = nodes[target]
    let reply = UncheckedTransfer(value: then)
    node.loop.execute { [self] in
      let result = work(node)
      loop.execute { reply.value(result) }
    }
  }
}
