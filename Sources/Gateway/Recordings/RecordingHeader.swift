import MarketData

/// The first line of a recording.
package struct RecordingHeader: Sendable, Equatable {
  /// `binance`
  package var venue: String
  /// `spot`
  package var market: String
  /// The venue's own names.
  package var symbols: [String]
  package var channels: [String]
  package var started: Timestamp
  package var note: String

  package init(
    venue: String, market: String, symbols: [String], channels: [String], started: Timestamp, note: String = ""
  ) {
    self.venue = venue
    self.market = market
    self.symbols = symbols
    self.channels = channels
    self.started = started
    self.note = note
  }
}

/// The kinds of record.
package enum RecordKind: String, Sendable { case open, text, binary, sent, http, close }
