import Bytes
import MarketData

/// The canary: what is followed only to know that the venue speaks, where it promises nothing
/// (`Cadence.Source.canary`).
extension SymbolHandler {
  /// Subscribes the canary, once on each connection, unless a market of it is followed for its own sake. Called while
  /// connected whenever nothing else waits to be sent: what is followed for its own sake goes first.
  ///
  /// A connection that is full follows none: it has no room for another stream, and of so many markets one moves.
  final func followCanary(_ now: Timestamp) {
    guard !hasAskedCanary else { return }
    hasAskedCanary = true
    guard instruments.count < venue.symbolLimit, let markets = unfollowedCanary else { return }
    for market in markets {
      requestID += 1
      actions.append(.send(canaryRequest(for: market, id: requestID, now: now)))
    }
  }

  /// By what messages of the canary are known, where the venue needs one.
  final func makeCanaryMarks() -> [[UInt8]] {
    guard case .canary(let markets) = venue.cadence.source else { return [] }
    return markets.map { Array(canaryMark(of: $0).utf8) }
  }

  /// Whether a message about no followed symbol is of the canary, of this connection or of a recorded one. O(bytes);
  /// only such messages come here.
  final func isCanary(_ message: RawSpan) -> Bool {
    unfollowedCanary != nil && canaryMarks.contains { Salvage.contains(message, $0) }
  }

  /// The markets of the canary; nil if there is none, or one of them is followed for its own sake.
  private var unfollowedCanary: [String]? {
    guard case .canary(let markets) = venue.cadence.source else { return nil }
    return markets.allSatisfy { place(named: $0) < 0 } ? markets : nil
  }

  private func place(named name: String) -> Int {
    var name = name
    return name.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
  }
}
