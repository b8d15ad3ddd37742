import History
import MarketData
import PubSub
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

extension LoopNode: Loops, LoopMarkets {
  var run: String { settings.run }

  func now() -> Timestamp { clock.now() }

  func askMarkets<Value: Sendable>(
    _ loop: Int, _ question: @escaping @Sendable (any LoopMarkets) -> Value, then: @escaping (Value) -> Void
  ) { ask(loop, question, then: then) }

  func readStore<Value: Sendable>(
    _ work: @escaping @Sendable (HistoryStore) throws -> Value?, then: @escaping @Sendable (Value?) -> Void
  ) -> Bool? { history?.readForClient(work, then: then) }

  func storedSymbol(of place: MarketPlace) -> String? { history?.symbol(place.instrument, place.market) }

  func wantAllHistory(of place: MarketPlace) { history?.wantAll(of: place.instrument, place.market) }
}
