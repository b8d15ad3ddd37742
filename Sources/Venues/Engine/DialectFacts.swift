import Bytes
import MarketData

/// What is fixed about how a venue's connection lives. Data: whatever differs between venues in it is a value here and
/// no code there.
struct DialectFacts {
  /// What goes into one request.
  enum Grouping {
    /// One channel of one symbol. The first channel of all symbols comes before the second of any.
    case topic
    /// One channel of several symbols. What is sent in one go is joined.
    case channel(symbols: Int)
    /// All channels of several symbols.
    case symbols(Int)
  }

  /// How requests go out: at most `atOnce` in one go, one go in `every` µs.
  struct Pacing {
    var grouping: Grouping
    var atOnce: Int
    var every: Int64
    /// Requests that wait, and requests whose answers are awaited. Bounds memory; a few for each symbol are enough.
    var limit: Int
    /// Whether the limit is an address's: then connections share it.
    var isShared = false
    /// Where answers do not say what they are to: one request is under way at a time, and the next is sent when the
    /// one before it was answered, or has not been for so long, µs, while other messages came. Precondition: `atOnce`
    /// is 1.
    var oneByOne: Int64?
    /// Topics that a connection may begin and end in an hour; nil where nobody counts them. Before it would be more,
    /// another connection is made, which begins a count of its own.
    var topicsPerHour: Int?
    /// Messages that an address may send in a minute, whatever they are; nil where nobody counts them. It outlives the
    /// connection.
    var perMinute: Int?
  }

  struct Ping {
    enum Since {
      /// At this pace, whatever else there is.
      case ping
      /// So long after the last word from here.
      case sent
      /// So long after the last word from the venue.
      case heard
    }
    var after: Int64
    var since: Since
  }

  /// Where a book that is not whole in the stream gets its beginning from.
  struct Bridge {
    var rule: SequenceRule
    /// The path of a book's snapshot, of so many levels a side.
    var path: @Sendable (_ instrument: Instrument, _ levels: Int) -> String
    /// Reads a book's snapshot: its levels go to the end of the batch, the number or time that it stands at is
    /// returned.
    var read:
      @Sendable (
        inout FieldReader, _ index: Int, inout InstrumentTable, inout EventBatch
      ) throws(FeedError) -> Int64
    /// Snapshots that can be asked for, the deepest first: levels a side, and what a request costs of the weight.
    var snapshots: [(levels: Int, weight: Int)]
    /// Weight a minute for all connections of an address.
    var weightPerMinute: Int
    var concurrency: Int
    /// How much of the weight limit the snapshots of all symbols may take at the start, in minutes of it: with more
    /// symbols they are less deep.
    var startMinutes = 2
    /// Bytes that a snapshot has at most.
    var bodyLimit: Int
    /// A book that never changes still wants a snapshot, this long after its subscription was acknowledged, µs.
    var quietAfter = 5 * Microseconds.second
    /// From an update that a snapshot must have in it to the request for one, µs: where answers may be older.
    var delay: Int64 = 0
    /// The status by which the venue says that there is no such market: then it is refused.
    var missing: Int?
    var unnumbered: Unnumbered?
  }

  /// What is done about a book whose updates have a time and no number, so that a lost one shows in nothing.
  struct Unnumbered {
    /// A live book is renewed by a snapshot, without leaving sync: so long after its first one, and each time after so
    /// long, µs.
    var firstRenewal: Int64
    var renewal: Int64
    /// A trade changes the book. Where no update follows one for so long, µs, the channel is dead, not quiet.
    var tradePatience: Int64
    /// What a message says that is certainly of no book. One that cannot be read and does not have it may have been
    /// an update of any: all are renewed.
    var otherMark: StaticString
    /// Snapshots in a row that are put back for being older than a quiet book's subscription, by the gateway's clock.
    var quietAttempts = 3
    /// Snapshots in a row that are put back for being older than what came, before its times are not believed.
    var staleAttempts = 6
  }

  enum Book {
    /// A snapshot comes in the stream. The rule links what follows to it; nil where nothing is numbered.
    case streamed(SequenceRule?)
    /// Updates in the stream are joined to a REST snapshot.
    case bridged
    /// Each message is all of the book, which is sent again whether or not it has changed.
    case whole(WholeBooks)
  }

  /// Books of which each message is everything: one that is lost is made good by the next, and none has to be asked
  /// for.
  struct WholeBooks {
    /// Messages with older and older times are left out for so long, µs; then the venue's clock has been set back.
    var lateLimit: Int64
    /// After so long a silence, µs, a book is asked for apart from the stream and compared with what that said: the
    /// same is a quiet market, another one a stream that has died, and so is an answer that does not come within
    /// `probeWithin`.
    var probeAfter: Int64
    var probeWithin: Int64
    /// How long the stream has to catch up with an answer that differs, µs.
    var catchUp: Int64
  }

  /// What a name that the venue does not know, or will not carry, costs.
  enum BadName {
    /// Itself: it is refused in words.
    case itself
    /// Its whole request is refused: one that was refused before, or came after the others, is asked for apart from
    /// them.
    case itsRequest
    /// The venue ends the connection, without a word.
    case itsConnection(FatalNames)
  }

  /// What a connection costs that the venue ends, without a word, for a name that it does not know.
  struct FatalNames {
    /// The end of a connection is laid to a subscription no older than this, µs.
    var within: Int64
    /// How often a connection must end behind a symbol alone before that is refused.
    var strikes: Int
    /// How long it is not asked for then, µs.
    var rest: Int64
  }

  /// The list of markets, where it comes in the stream.
  struct StreamedList {
    /// Parts that are asked for together. One that `spell` has no request for is not wanted.
    var parts = 1
    /// What has not come after so long is asked for again, µs.
    var within: Int64
  }

  /// What the first message on a connection is, if the venue has one.
  enum Greeting {
    /// Nothing is awaited.
    case unanswered
    /// The venue must answer it before `RequestDeadline.answer` has passed and before it answers a subscription. Else
    /// the engine leaves the connection.
    case required
    /// A request like others, which is sent again until it is answered.
    case request
  }

  /// How to find the book of a message that could not be read: the message contains `mark`, and the symbol in the text
  /// at `key`.
  struct Salvaged {
    var mark: StaticString
    var key: StaticString
    var prefix: StaticString = ""
    var suffix: StaticString = ""
  }

  /// What is asked for of single markets by REST, where no list says it.
  struct PerMarket: Sendable {
    typealias Figures = @Sendable (inout FieldReader, inout InstrumentTable, inout Ticker) throws(FeedError) -> Void

    /// In front of a market's name: its details.
    var details: String
    /// Reads an answer to that, about a market as the list has it.
    var read: @Sendable (RawSpan, ListedMarket) throws(FeedError) -> MarketDetails
    /// The same for its 24 h figures, which are asked for in turn: into those of the ticker's market.
    var figures: [(path: String, read: Figures)] = []
    var requestsPerMinute: Int
    var concurrency: Int
    /// Bytes that an answer has at most.
    var bodyLimit: Int
    /// How long details are believed, µs.
    var detailsAge: Int64
    /// How often all figures of a market are asked for, at most, µs.
    var figuresEvery: Int64
    /// What the venue calls a symbol.
    var name: @Sendable (FeedSymbol) -> String
    /// Whether a market cannot be followed before its details are known.
    var waits: @Sendable (FeedSymbol) -> Bool
  }

  /// The figures of one market by REST, which show whether it trades though no trade comes: where the venue has no
  /// channel of tickers.
  struct Witness {
    var path: @Sendable (Instrument) -> String
    /// Requests a minute for all connections of an address: a small part of what the venue allows.
    var requestsPerMinute: Int
    /// Reads the last price, and the volume or the count of trades, as far as the answer has them.
    var read: PerMarket.Figures
  }

  /// That each symbol is followed on; the book's comes first.
  var channels: [VenueProfile.Channel]
  var book: Book
  /// Also where a streamed book may turn out to be bridged.
  var bridge: Bridge?
  var pacing: Pacing
  var ping: Ping?
  var greeting = Greeting.unanswered
  /// The list of markets, where it comes by REST.
  var list: MarketListing?
  /// Nil where the list comes by REST.
  var streamedList: StreamedList?
  var volumes: [VolumeListing] = []
  /// How long the answer to a subscription may take, µs.
  var answerWithin = RequestDeadline.answer
  var maintenance = Maintenance.Effect.isTold
  /// Nil where a channel of tickers shows whether a market trades.
  var witness: Witness?
  /// Of derivatives, where the stream does not say it.
  var derivativePolls = DerivativePolls()
  var badName = BadName.itself
  /// A symbol without any data for so long after subscribing is reported, µs: for venues that acknowledge every name.
  /// Nil for others.
  var silenceLimit: Int64?
  /// Whether a market is followed that is listed and not matched now. False where it would be acknowledged and silent.
  var carriesHalted = true
  /// Subscriptions in a row without a snapshot, of a book that has been live, after which the connection is made anew;
  /// nil where a subscription can be relied on to bring one.
  var silentAttempts: Int?
  /// Whether each topic of a request is answered by itself, and refused by itself: then what comes on one says nothing
  /// of the others. Otherwise a request is carried out as a whole or not at all.
  var answersEachTopic = false
  /// Whether the venue sends nothing by itself while no symbol is subscribed.
  var isSilentWithoutSymbols = false
  /// Whether the trades of a symbol are counted without holes.
  var countsTrades = false
  /// How trades that are missing are asked for; nil where they are not. Only where trades are counted.
  var tradePages: TradePages?
  /// Whether the first message of trades may be of trades from before the subscription, which nothing but their times
  /// tells.
  var beginsWithOldTrades = false
  var salvage: [Salvaged]
  /// Where no number tells that a book's message was lost: of these every message has one, and it says what the message
  /// is. What has none of them, or is a book's and does not say whose, may have been any book's. Empty where numbers
  /// tell.
  var kinds: [StaticString] = []
  /// Better words for a symbol that is not listed, for one who knows the venue's other names.
  var unlisted: (@Sendable (_ wanted: FeedSymbol, _ markets: [ListedMarket]) -> String?)?
}
