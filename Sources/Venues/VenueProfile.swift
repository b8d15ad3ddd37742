import MarketData

/// A description of a venue's feed, for people (`tidegate venues`) and for tests: how a book is checked, what shows
/// that a silent channel is dead, which limits apply. The engine does what it says.
package struct VenueProfile: Sendable {
  package enum Content: String, Sendable, CaseIterable {
    case instruments, book, quote, trades, ticker, heartbeat, derivative, liquidations
  }

  /// The sign that a silent channel is dead.
  package enum Silence: Sendable, Hashable {
    /// Something comes at least every so many µs, market or no market: a channel that misses several is dead and is
    /// subscribed again (`SilenceWatch`).
    case atLeast(every: Int64)
    /// Nothing has to come, and what is missing shows: the next message does not follow, or a checksum does not fit.
    case linked
    /// Nothing has to come. A channel that has died is contradicted by what does come: quotes or trades go through the
    /// best price of a book that stands still (`FrozenBook`), a ticker tells of trades that did not come, trades come
    /// without a ticker, a book's best price moves on without a quote (`ChannelDoubts`).
    case contradicted
    /// Nothing has to come. A quote names the last trade, and one that names another one contradicts the silence.
    case quoted
    /// Nothing has to come. Quotes that leave the last price behind make it doubtful, and the venue's figures by REST,
    /// asked for then, show whether trades are missing.
    case figures
    /// Nothing has to come; it lives as long as its connection does.
    case connection
  }

  package struct Channel: Sendable {
    /// By the venue's own name: `depth@100ms`.
    package let name: String
    package let content: Content
    package let silence: [Silence]
    /// Whether it dies with all channels of its symbol, the book included: then all of them are subscribed again.
    let isOfAll: Bool
    /// Whether it is subscribed only for instruments of which somebody wants it (`FeedEngine.want`).
    let isOnDemand: Bool
    /// Symbols in one request at most, where that is fewer than `Grouping` says: as what it begins with is large.
    let atMost: Int?

    init(
      _ name: String, _ content: Content, silence: Silence..., isOfAll: Bool = false, isOnDemand: Bool = false,
      atMost: Int? = nil
    ) {
      self.name = name
      self.content = content
      self.silence = silence.isEmpty ? [.connection] : silence
      self.isOfAll = isOfAll
      self.isOnDemand = isOnDemand
      self.atMost = atMost
    }

    /// The longest time between two messages of it that lives, market or no market, µs; nil where nothing is promised.
    var every: Int64? {
      for case .atLeast(let every) in silence { return every }
      return nil
    }
  }

  /// What is asked for by REST.
  package enum Request: String, Sendable, CaseIterable {
    case instruments, snapshots, volumes
  }

  package let channels: [Channel]
  /// Levels a side that are subscribed; nil is all.
  package let bookDepth: Int?
  /// What shows that a book is right, in a few words: `CRC-32 of the top ten after every message`.
  package let bookCheck: String
  package let requests: [Request]
  /// The venue's limits that are kept, each in a few words.
  package let limits: [String]
}

extension VenueProfile.Channel {
  /// How the gateway distinguishes its silence from its death, a few words each.
  package var silenceWords: [String] { silence.map { $0.words(of: content) } }
}

extension VenueProfile.Silence {
  /// A few words for a table.
  fileprivate func words(of content: VenueProfile.Content) -> String {
    switch self {
    case .atLeast(let every):
      every >= Microseconds.second
        ? "something every \(every / Microseconds.second) s" : "something every \(every / Microseconds.millisecond) ms"
    case .linked: "a message that is missing shows in the next"
    case .contradicted:
      switch content {
      case .trades: "a ticker that tells of trades shows"
      case .quote: "a book whose best price moves on shows"
      case .ticker: "trades without a ticker show"
      case .book, .instruments, .heartbeat, .derivative, .liquidations: "quotes or trades through a still book show"
      }
    case .quoted: "a quote that names another last trade shows"
    case .figures: "figures by REST show, asked for when quotes leave the last price"
    case .connection: "lives as long as the connection"
    }
  }
}

extension VenueProfile.Request {
  /// A few words for a table.
  package var words: String {
    switch self {
    case .instruments: "instruments"
    case .snapshots: "book snapshots"
    case .volumes: "24 h volumes"
    }
  }
}
