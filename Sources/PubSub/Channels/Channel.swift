import MarketData

/// A channel: its facts, and how its streams are made. Each is a type in its own file, which `ChannelName.type` lists.
///
/// The publisher calls these functions when a stream begins. For each message it calls only methods of the stream's
/// class.
protocol Channel {
  static var facts: ChannelFacts { get }
  /// The members that the data of each snapshot and of each update has.
  static var data: WireDescription.ChannelData { get }

  /// A stream of the channel. The default is a stream of a document.
  static func makeStream(_ start: StreamStart) -> PublishedStream
  /// How many of a stream's messages are kept for clients that return. Nil, the default: its messages are whole, so
  /// that only the last one matters.
  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits?
  /// The document of a stream that shows one. The default is the one with the name in the key.
  static func document(of key: StreamKey) -> StreamDocumentName?
  /// Adds what a stream needs of the members of its composite market. The default adds nothing.
  static func addNeeds(of key: StreamKey, to wants: inout CompositeWants)
}

extension Channel {
  static func makeStream(_ start: StreamStart) -> PublishedStream { DocumentStream(start) }
  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits? { nil }
  static func document(of key: StreamKey) -> StreamDocumentName? { StreamDocumentName(key.channel, key.symbol) }
  static func addNeeds(of key: StreamKey, to wants: inout CompositeWants) {}
}

/// What is true of every stream of a channel. The resolver, the hub, the publisher and the descriptions for machines
/// read it.
package struct ChannelFacts: Sendable {
  /// Where the data comes from.
  package enum Source: Sendable {
    /// A market, so that the directory has the symbol. The loop of the market publishes the stream.
    case market
    /// The states of all feeds. Loop 0 publishes the stream.
    case feeds
    /// A `StreamDocument`. Loop 0 publishes the stream.
    case documents
  }

  /// What composite markets have of a channel of markets.
  package enum Composites: Sendable {
    case none
    /// Whole documents.
    case documents
    /// A state that changes in differences, as a market's does.
    case state
  }

  /// What the `symbols` of a subscription name.
  package enum Names: Sendable {
    case nothing, symbols, topics, decks
    /// Conversions: `ZEC-USD`.
    case rates
  }

  /// Who shares a stream.
  package enum Audience: Sendable {
    /// Everybody with the same parameters.
    case everyone
    /// Clients that may see the same symbols.
    case scope
    /// Clients of one owner.
    case owner
    /// Clients whose `PortfolioSubject` is the same.
    case subject
  }

  package var source = Source.market
  package var composites = Composites.none
  package var names = Names.symbols
  package var audience = Audience.everyone
  /// Whether every message matters; on other channels, only the latest does.
  package var isEvent = false
  /// Whether a client must be allowed all symbols.
  package var needsAllSymbols = false
  package var rate: RateRule
  /// The interval at which the data changes at most, ms. Streams of this class and faster ones publish each change.
  package var naturalInterval: UInt16 = 0
  /// In the order in which replies have them.
  package var parameters: [StreamParameter] = []
  /// Whether a snapshot is so large that a slow client is sent one at a time.
  package var hasLargeSnapshots = false
  /// Whether the data is the book itself, so that a joining client learns whether it is in sync.
  package var isBook = false
  /// The changes of a market that its streams receive.
  package var hears: MarketChangeKinds = []
  /// The order in which the streams of an instrument receive a change, lowest first. Equal ranks are not allowed.
  package var rank: UInt8 = 0
  /// The data that its streams request of the venue on demand. If not empty, only perpetuals and dated futures have the
  /// channel.
  package var wish: MarketWishes = []
  /// Whether a subscription may ask for a group of symbols.
  package var hasGroups = false
  /// The kind of its records in the binary encoding; nil: its messages are JSON text there, too.
  var binary: BinaryKind?
}

extension ChannelName {
  /// Whether every message matters (`trades`, `topic`); for the other channels, only the latest does.
  package var isEvent: Bool { facts.isEvent }
  /// Whether its data comes from a market, so that the directory has its symbol. Loop 0 publishes the others.
  package var isOfMarket: Bool { facts.source == .market }
  /// Whether subscriptions name something: a symbol, a topic, a pair of assets, or a deck.
  package var takesNames: Bool { facts.names != .nothing }
  /// Whether only perpetuals and dated futures have this channel.
  package var isOfDerivatives: Bool { !facts.wish.isEmpty }
  /// Whether composite markets have this channel.
  package var isOfComposites: Bool { facts.composites != .none }
  /// Whether a slow client gets the channel in a slower class. Event channels keep theirs: their bound is
  /// `ClientLimits.queuedEvents`.
  var isDegradable: Bool { !isEvent && isOfMarket }
}
