import Bytes
import MarketData

/// The canary: what is followed only to know that the venue speaks, where it promises nothing (`Cadence.Source.canary`).
extension SymbolHandler {
  /// Subscribes the canary, once on each connection, unless a market of it is followed for its own sake. Called while connected whenever
  /// nothing else waits to be sent: what is followed for its own sake goes first.
  final func followCanary(_ now: Timestamp) {
    guard !hasAskedCanary else { return }
    hasAskedCanary = true
    guard case .canary(let markets) = venue.cadence.source else { return }
    guard markets.allSatisfy({ place(named: $0) < 0 }) else { return }
    for market in markets {
      requestID += 1
      actions.append(.send(canaryRequest(for: market, id: requestID, now: now)))
      canaryMarks.append(Array(canaryMark(of: market).utf8))
    }
  }

  /// The connection is gone.
  final func forgetCanary() {
    hasAskedCanary = false
    canaryMarks.removeAll()
  }

  /// Whether a message about no followed symbol is of the canary. O(bytes); only such messages come here.
  final func isCanary(_ message: RawSpan) -> Bool { canaryMarks.contains { Salvage.contains(message, $0) } }

  private func place(named name: String) -> Int {
    var name = name
    return name.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
  }
}
