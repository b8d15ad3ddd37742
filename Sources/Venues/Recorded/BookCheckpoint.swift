import MarketData

/// The state of a live book between two messages: a pipeline that is brought to it goes on with the next message, as if
/// it had taken all of those before.
package struct BookCheckpoint: Sendable, Equatable {
  /// How the next message is linked to the book.
  package struct Link: Sendable, Equatable {
    /// A message that was applied, to tell one that comes again.
    package struct Applied: Sendable, Equatable {
      package var first: Int64
      package var last: Int64
      package var previous: Int64
      package var time: Timestamp

      package init(first: Int64, last: Int64, previous: Int64, time: Timestamp) {
        self.first = first
        self.last = last
        self.previous = previous
        self.time = time
      }

      init(_ entry: AppliedNumbers.Entry) {
        self.init(
          first: entry.numbers.first, last: entry.numbers.last, previous: entry.numbers.previous, time: entry.time)
      }

      var numbers: UpdateNumbers { UpdateNumbers(first: first, last: last, previous: previous) }
    }

    /// Messages that are kept at most.
    package static let recentLimit = 8

    /// Whether the book was joined to a REST snapshot.
    package var isBridged: Bool
    /// The numbers of the newest message; of a bridged book the highest number that came, and the one it stands at.
    package var first: Int64
    package var last: Int64
    package var previous: Int64
    /// Whether a message has followed the snapshot.
    package var isJoined: Bool
    /// Oldest first, at most `recentLimit`.
    package var recent: [Applied]

    package init(
      isBridged: Bool, first: Int64, last: Int64, previous: Int64, isJoined: Bool, recent: [Applied]
    ) {
      self.isBridged = isBridged
      self.first = first
      self.last = last
      self.previous = previous
      self.isJoined = isJoined
      self.recent = recent
    }
  }

  /// The venue's own name of the market.
  package var venueSymbol: String
  package var priceScale: UInt8
  package var sizeScale: UInt8
  /// The most levels a side; nil: no limit.
  package var depthLimit: Int?
  /// The venue's time of the last message.
  package var time: Timestamp
  package var link: Link
  /// By rising price, as in `OrderBook`.
  package var bids: [PriceLevel]
  /// By falling price, as in `OrderBook`.
  package var asks: [PriceLevel]

  package init(
    venueSymbol: String, priceScale: UInt8, sizeScale: UInt8, depthLimit: Int?, time: Timestamp, link: Link,
    bids: [PriceLevel], asks: [PriceLevel]
  ) {
    self.venueSymbol = venueSymbol
    self.priceScale = priceScale
    self.sizeScale = sizeScale
    self.depthLimit = depthLimit
    self.time = time
    self.link = link
    self.bids = bids
    self.asks = asks
  }
}

/// A book that is out of sync.
package struct LostBook: Sendable, Equatable {
  /// The venue's own name of the market.
  package var venueSymbol: String
  package var reason: ResyncReason

  package init(venueSymbol: String, reason: ResyncReason) {
    self.venueSymbol = venueSymbol
    self.reason = reason
  }
}

extension FeedPipeline {
  /// The books that are out of sync for a reason, by instrument. O(instruments).
  package var lostBooks: [LostBook] {
    market.instruments.compactMap { state in
      guard !state.isKept, case .syncing(let reason?) = state.bookState else { return nil }
      return LostBook(venueSymbol: state.instrument.venueSymbol, reason: reason)
    }
  }

  /// The books that are kept, by instrument. O(levels).
  package var checkpoints: [BookCheckpoint] {
    market.instruments.compactMap { state in
      let index = state.instrument.id.index
      guard state.isKept, engine.books.indices.contains(index), let link = engine.books.lines[index].book.link else {
        return nil
      }
      return BookCheckpoint(
        venueSymbol: state.instrument.venueSymbol, priceScale: state.instrument.priceScale,
        sizeScale: state.instrument.sizeScale, depthLimit: state.book.depthLimit, time: state.bookTime, link: link,
        bids: state.book.bids, asks: state.book.asks)
    }
  }

  /// Brings the books to the states that they had in another run over the same messages. Books that are not among them
  /// stay as they are. The connection must be open and its subscriptions acknowledged, as far as messages did that.
  /// - Returns: false if a state does not fit this venue or its instruments; then this pipeline is of no more use.
  package func restore(_ checkpoints: [BookCheckpoint], lost: [LostBook], now: Timestamp) -> Bool {
    batch.removeAll()
    engine.skip(now: now)
    for book in lost {
      guard engine.restore(book, into: &batch) else { return false }
    }
    for checkpoint in checkpoints {
      guard engine.restore(checkpoint, now: now, into: &batch) else { return false }
    }
    apply(now)
    return true
  }

  /// Appends the present state to `changes`, for a reader that has seen none of it. O(instruments).
  package func appendPresent() { market.appendPresent(to: &changes) }
}
