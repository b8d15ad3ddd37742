import MarketData

/// The first line of a recording.
package struct RecordingHeader: Sendable, Equatable {
  /// Of which set of files a recording is part, where the recorder began another now and then.
  package struct Part: Sendable, Equatable {
    /// What the names of its files begin with: `kraken-spot`.
    package var set: String
    /// The same in all files of one run of the recorder.
    package var run: Int64
    /// From 1.
    package var number: Int
    /// The name of the file before it, whose state it continues from; nil in the first.
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
  /// Nil if the file is all there is.
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

/// The kinds of record. `gap`: records are missing here that could not be written.
package enum RecordKind: String, Sendable { case open, text, binary, sent, http, close, gap }
