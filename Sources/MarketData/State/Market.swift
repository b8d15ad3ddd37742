import Bytes

/// The state of every instrument that one feed connection carries. Sans-IO; owned by that connection's loop.
package final class Market {
  /// The checksum a venue defines over a book (Kraken: CRC-32 of the top ten levels).
  package typealias BookChecksum = @Sendable (_ book: borrowing OrderBook) -> UInt32

  package struct Configuration: Sendable {
    /// Make quotes from the top of the book, for venues without a quote channel.
    package var quotesFromBook: Bool
    /// Levels kept per side (Kraken: the subscribed depth, which its rule asks to cut to). Nil: 5,000… the venue's bound.
    package var bookDepthLimit: Int?
    package var checksum: BookChecksum?
    package init(quotesFromBook: Bool, bookDepthLimit: Int?, checksum: BookChecksum?) {
      self.quotesFromBook = quotesFromBook
      self.bookDepthLimit = bookDepthLimit
      self.checksum = checksum
    }
  }

  package private(set) var instruments: [InstrumentState] = []

  package init(configuration: Configuration) {}

  package subscript(_ id: InstrumentID) -> InstrumentState { instruments[id.index] }

  /// Applies the batch, event by event, and appends what moved to `changes`.
  package func apply(_ batch: borrowing EventBatch, now: Timestamp, into changes: inout MarketChanges) {
    fatalError("being written")
  }

  /// Moves time on: trailing pulses, rolling windows, books crossed for too long.
  package func advance(to now: Timestamp, into changes: inout MarketChanges) { fatalError("being written") }

  /// When `advance` next has something to do.
  package var nextDeadline: Timestamp { fatalError("being written") }

  /// Takes every book out of sync: the connection is gone.
  package func disconnect(into changes: inout MarketChanges) { fatalError("being written") }
}

/// All that is known of one instrument.
package final class InstrumentState {
  package var instrument: Instrument
  package var book: OrderBook
  package var bookState: BookState = .absent
  package var bookTime: Timestamp = .distantPast
  package var lastTrade: Trade?
  package var quote: Quote?
  /// The venue's own 24 h figures.
  package var ticker: Ticker?
  init(instrument: Instrument, book: OrderBook) { self.instrument = instrument; self.book = book }
}
