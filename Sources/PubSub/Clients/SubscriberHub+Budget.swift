import Bytes
import MarketData

/// What waits for all clients of this loop: the hub's part of the gateway's budget.
extension SubscriberHub {
  /// Bytes that wait for clients that do not take them: queued here, or handed over and not with the kernel; of each as it was when it was
  /// last looked after. O(1).
  package var queuedBytes: Int { watchedBytes }

  /// Closes clients with 4108, those with the most waiting first, until `bytes` are let go of or nobody has anything waiting.
  /// - Parameters:
  ///   - clients: how many are closed at the most.
  ///   - limit: of the budget, for the reason that the clients are told.
  /// - Returns: how many were closed, and what waited for them. O(n log n) in the clients that have something waiting.
  package func shed(
    bytes: Int, clients: Int, limit: Int, into actions: inout [HubAction]
  ) -> (clients: Int, bytes: Int) {
    let heaviest = watched.map { (slot: $0, bytes: queuedBytes(of: $0)) }.filter { $0.bytes > 0 }
      .sorted { $0.bytes > $1.bytes }
    var freed = 0
    var closed = 0
    for candidate in heaviest {
      guard freed < bytes, closed < clients else { break }
      disconnect(
        id(of: candidate.slot), code: CloseCode.slow,
        reason: "slow: \(candidate.bytes) bytes unsent, all clients together are over \(limit)", into: &actions)
      freed += candidate.bytes
      closed += 1
    }
    return (closed, freed)
  }

  /// 0 for a client that is gone or being closed.
  func queuedBytes(of slot: UInt32) -> Int {
    guard let state = state(of: id(of: slot)) else { return 0 }
    return state.queue.bytes + (slots[Int(slot)].first?.bytes.count ?? 0) + state.unsent
  }
}
