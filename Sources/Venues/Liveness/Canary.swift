import Bytes
import MarketData

/// The markets that are followed for a sign of life alone, where the venue promises none (`Cadence`). A value.
struct Canary {
  private let markets: [String]
  /// By what its messages are known.
  private let marks: [[UInt8]]
  /// Whether it has been seen to on this connection.
  private var isSettled = false

  init(_ source: Cadence.Source) {
    guard case .canary(let markets, let prefix) = source else {
      (markets, marks) = ([], [])
      return
    }
    self.markets = markets
    marks = markets.map { Array("\(prefix)\($0)\"".utf8) }
  }

  /// The markets to subscribe, once on each connection: none where one of them is followed for its own sake.
  ///
  /// A connection that is full follows none: it has no room for another stream, and of so many markets one moves.
  mutating func takeMarkets(_ instruments: InstrumentTable, limit: Int) -> [String] {
    guard !isSettled else { return [] }
    isSettled = true
    return instruments.count < limit && isUnfollowed(instruments) ? markets : []
  }

  /// Whether a message about no followed symbol is of the canary, of this connection or of a recorded one. O(bytes);
  /// only such messages come here.
  func isMeant(by message: RawSpan, _ instruments: InstrumentTable) -> Bool {
    !markets.isEmpty && isUnfollowed(instruments) && marks.contains { MalformedMessageScan.contains(message, $0) }
  }

  private func isUnfollowed(_ instruments: InstrumentTable) -> Bool {
    markets.allSatisfy { instruments.index(named: $0) == nil }
  }

  mutating func disconnected() { isSettled = false }
}
