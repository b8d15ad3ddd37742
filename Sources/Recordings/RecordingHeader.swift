import MarketData

/// The first line of a recording.
package struct RecordingHeader: Sendable, Equatable {
  /// The set of files that a recording belongs to, if the recorder rotates files.
  package struct Part: Sendable, Equatable {
    /// The beginning of the names of its files: `kraken-spot`.
    package var set: String
    /// The same in all files of one run of the recorder.
    package var run: Int64
    /// From 1.
    package var number: Int
    /// The name of the previous file, from whose state this one continues; nil in the first.
    package var follows: String?

    package init(set: String, run: Int64, number: Int, follows: String? = nil) {
      self.set = set
      self.run = run
      self.number = number
      self.follows = follows
    }
  }

  /// `binance`
  package var venue: String
  /// `spot`
  package var market: String
  /// The venue's own names.
  package var symbols: [String]
  package var channels: [String]
  package var started: Timestamp
  package var note: String
  /// Nil if the recording is a single file.
  package var part: Part?

  package init(
    venue: String, market: String, symbols: [String], channels: [String], started: Timestamp, note: String = "",
    part: Part? = nil
  ) {
    self.venue = venue
    self.market = market
    self.symbols = symbols
    self.channels = channels
    self.started = started
    self.note = note
    self.part = part
  }
}

/// The kinds of record. `gap`: records that could not be written are missing here. `state`: the books at a recording's
/// beginning, if it was cut out of another one.
package enum RecordKind: String, Sendable { case open, text, binary, sent, http, close, gap, state }
