import MarketData

/// Where an instrument's state lives and what is known of it.
package struct DirectoryEntry: Sendable {
  /// The loop that owns its market state.
  package var loop: Int
  /// The slot of its market in that loop's hub.
  package var market: Int
  package var instrument: Instrument
  package var bookState: BookState
  package init(loop: Int, market: Int, instrument: Instrument, bookState: BookState) {
    self.loop = loop
    self.market = market
    self.instrument = instrument
    self.bookState = bookState
  }
}

/// Every instrument by symbol: an immutable value that is replaced on every loop when it changes (rare).
package struct Directory: Sendable {
  package var entries: [String: DirectoryEntry] = [:]
  /// Venue names that are configured, with or without instruments yet.
  package var venues: [String] = []
  package init() {}
}
