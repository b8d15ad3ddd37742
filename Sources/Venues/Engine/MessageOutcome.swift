import MarketData

/// What a message said beside market events, for the engine to act on once all of it has been read. Of each connection
/// there is one, which is never copied: its memory serves message after message.
struct MessageOutcome: ~Copyable {
  /// The numbers of a book event.
  struct Numbers {
    var numbers: UpdateNumbers
    /// Whether the event is to be joined to a REST snapshot.
    var isBridged = false
  }

  /// A subscription was refused. Which one: by the number of the request, the symbol, the channel, as far as the venue
  /// says it.
  struct Refusal {
    enum Effect {
      /// It will not be. A book is its symbol's; another channel is asked for again, slowly and for ever. Of several
      /// symbols in one request, which is to blame shows when the halves are asked for.
      case final
      /// The same, where the venue has looked at every symbol of the request.
      case finalForAll
      /// There is such a subscription already.
      case already
      /// The venue could not, this once: the same again after so many µs.
      case again(after: Int64)
      /// Too many requests: nothing is sent for so many µs, or ever longer if the venue does not say, and then the
      /// same again.
      case pause(Int64?)
    }
    /// A symbol, or one channel of it.
    struct Blame {
      var index: Int
      var channel: Int?
    }
    var id: Int?
    /// The part of its request that it is about, and that the rest goes on without.
    var index: Int?
    var channel: Int?
    /// Of a request that was refused whole, what spoilt it, as far as the venue names it: the rest is asked for again
    /// at once. A text that names all of it says nothing.
    var blames: [Blame] = []
    /// The venue's words, for people.
    var reason: String
    var effect = Effect.final
    /// Whether it is the oldest request's that awaits an answer: where the venue answers in order, and does not say to
    /// what.
    var isOfOldest = false
    /// What was refused, where no request is known.
    var what = "request"

    func blames(_ topic: Topic) -> Bool {
      blames.contains { $0.index == topic.index && $0.channel ?? topic.channel == topic.channel }
    }
  }

  enum Report {
    /// A subscription was carried out, or what ends one was. `index` nil: all of the request.
    case acknowledged(id: Int?, index: Int?, channel: Int?)
    case refused(Refusal)
    /// Of a request these topics were carried out. The rest was refused, for this reason.
    case taken(id: Int, [Topic], rest: String)
    /// The number of a symbol's newest trade, where the venue says it again.
    case newestTrade(index: Int, id: Int64)
    /// A trade with this number was left out on purpose.
    case passedTrade(index: Int, id: Int64)
    /// The venue is ready for subscriptions, and wants a ping this often, µs.
    case welcome(pingAfter: Int64?)
    /// The greeting was answered.
    case greeted
    /// The venue has ended a subscription by itself.
    case ended(Topic)
    /// A channel beside the book changes what it has not brought whole: the beginning of its subscription is missing.
    case unfounded(Topic)
    case maintenance(Bool)
    /// The connection ends soon, by the venue's plan, within so many µs.
    case leave(String, within: Int64)
    /// The connection is of no more use.
    case reconnect(String)
    /// The list of markets, or a part of it, where it comes in the stream.
    case listed([ListedMarket], part: Int = 0)
    /// A book is contradicted by what else was said; all of them if `index` is nil.
    case lost(index: Int?, ResyncReason)
    /// An answer that the venue waits for, outside all pacing.
    case send(String)
  }

  private(set) var now = Timestamp.distantPast
  /// Whether the message only answers something that was asked: it proves a socket and no market.
  var isAnswer = false
  /// Messages, or parts of one, that are not used.
  var ignored = 0
  /// Whether the message is not used and may be the canary's: of a symbol's channel, with another depth.
  var mayBeCanary = false
  /// Whether the books of the message were asked for apart from the stream (`FeedRequest.book`): they are compared with
  /// it, and are no news.
  var isProbe = false
  /// Of which symbol the message is, where the messages of the connection are counted and it follows the one before.
  var linked: Int?
  /// Why something before this message is missing of which it cannot be told whose it was: all books are out of sync
  /// when its events are taken.
  var lostBefore: ResyncReason?
  /// Those of the book events of the message, in their order, where the venue numbers them: nearly always one.
  private var first: Numbers?
  private var others: [Numbers] = []
  private(set) var reports: [Report] = []
  /// Topics beside books that spoke, as far as that is of interest.
  private(set) var heard: [Topic] = []
  /// How many of the venue's numbers each trade of the message stands for, in their order; empty: one.
  private(set) var fills: [Int64] = []

  /// A message begins to be read; the memory of the one before is kept.
  mutating func begin(now: Timestamp) {
    self.now = now
    isAnswer = false
    mayBeCanary = false
    isProbe = false
    ignored = 0
    linked = nil
    lostBefore = nil
    first = nil
    if !others.isEmpty { others.removeAll(keepingCapacity: true) }
    if !reports.isEmpty { reports.removeAll(keepingCapacity: true) }
    if !heard.isEmpty { heard.removeAll(keepingCapacity: true) }
    if !fills.isEmpty { fills.removeAll(keepingCapacity: true) }
  }

  /// A channel spoke that promises to (`VenueProfile.Channel.every`), or whose word is as good as an answer to its
  /// request; the book's does by its events.
  mutating func hear(_ topic: Topic) { heard.append(topic) }

  /// The trade that has just been appended stands for so many of the venue's numbers, of which its id is the last. 0:
  /// it begins another
  /// numbering. Of each trade of a message, or of none.
  mutating func fill(_ count: Int64) { fills.append(count) }

  mutating func report(_ report: Report) { reports.append(report) }

  /// The numbers of the book event that has just been appended.
  mutating func number(_ numbers: UpdateNumbers, isBridged: Bool = false) {
    let numbers = Numbers(numbers: numbers, isBridged: isBridged)
    if first == nil { first = numbers } else { others.append(numbers) }
  }

  /// The numbers of the book event that is the `index`th of the message; nil where the venue numbers nothing.
  func numbers(_ index: Int) -> Numbers? {
    index == 0 ? first : index <= others.count ? others[index - 1] : nil
  }
}
