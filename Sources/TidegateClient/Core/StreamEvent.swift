/// What a subscription tells.
///
/// Of every channel but `trades` and `topic` only the latest is kept for a consumer that is slow: it reads a value or
/// `.stale`, whichever is true now. Of trades and documents every one counts, and a missing one is reported in its
/// place.
public enum StreamEvent<Value: Sendable>: Sendable {
  /// The state of a stream, whole; or trades or documents, each once. What was stale is right again with it.
  case value(Value, StreamInfo)
  /// What the stream has shown is old until its next value. The client has asked for that already.
  case stale(StreamInfo, StaleReason)
  /// Trades or documents are missing here, for good: how many, where that is known.
  case gap(StreamInfo, missing: Int?)
  /// After a reconnection trades or documents continue where they stopped: nothing is missing.
  case resumed(StreamInfo)
  /// The gateway refuses a symbol; the others are unharmed.
  case refused(Refusal)
  /// This consumer was too slow: so many of its oldest unread events and notices were dropped.
  case dropped(count: Int)

  func map<Other>(_ read: (Value) -> Other?) -> StreamEvent<Other>? {
    switch self {
    case .value(let value, let info): read(value).map { .value($0, info) }
    case .stale(let info, let reason): .stale(info, reason)
    case .gap(let info, let missing): .gap(info, missing: missing)
    case .resumed(let info): .resumed(info)
    case .refused(let refusal): .refused(refusal)
    case .dropped(let count): .dropped(count: count)
    }
  }
}

extension StreamEvent: Equatable where Value: Equatable {}

/// Which stream something belongs to.
public struct StreamInfo: Sendable, Hashable {
  /// The kind of data.
  public var channel: Channel
  /// `kraken:BTC-USD`; empty for a channel without symbols.
  public var symbol: String
  /// The least step between two prices, as the gateway tells it: `0.01`. What ``ExactDecimal/trimmed(to:)`` wants.
  public var priceIncrement: ExactDecimal?

  init(channel: Channel, symbol: String, priceIncrement: ExactDecimal? = nil) {
    self.channel = channel
    self.symbol = symbol
    self.priceIncrement = priceIncrement
  }
}

/// Why what is shown is old.
public enum StaleReason: Sendable, Hashable, CustomStringConvertible {
  /// There is no connection to the gateway.
  case disconnected
  /// A message of the stream is missing.
  case gap
  /// The gateway's book does not fit the exchange's: why, in the gateway's words (`checksum mismatch`).
  case outOfSync(String)

  /// For people.
  public var description: String {
    switch self {
    case .disconnected: "no connection to the gateway"
    case .gap: "a message is missing"
    case .outOfSync(let reason): reason
    }
  }
}

/// The data of a stream of any channel.
public enum Payload: Sendable, Hashable {
  /// Of `.quote`.
  case quote(Quote)
  /// Of `.trades`, oldest first.
  case trades([Trade])
  /// Of `.ticker`.
  case ticker(Ticker)
  /// Of `.pulse`.
  case pulse(Pulse)
  /// Of `.book`, merged.
  case book(OrderBook)
  /// Of `.sparkline`, merged.
  case sparkline(Sparkline)
  /// Of `.candles`, merged.
  case candles(CandleSeries)
  /// Of `.status`.
  case status([FeedReport])
  /// Of `.rate`.
  case rate(Rate)
  /// Of `.topic`, oldest first.
  case topic([TopicDocument])
  /// Of `.alerts`, merged.
  case alerts(AlertList)
  /// Of `.portfolio`.
  case portfolio(Portfolio)
  /// Of `.deck`.
  case deck(DeckDay)

  /// How many events it has; nil if it is a state.
  var eventCount: Int? {
    switch self {
    case .trades(let trades): trades.count
    case .topic(let documents): documents.count
    default: nil
    }
  }

  /// The latest `count` of its events.
  func latest(_ count: Int) -> Payload {
    switch self {
    case .trades(let trades): .trades(trades.suffix(count))
    case .topic(let documents): .topic(documents.suffix(count))
    default: self
    }
  }
}

/// What a gateway refused, and what to do about it.
public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// The channel as asked for; nil if no subscription was refused, or of a channel that this version does not know.
  public var channel: Channel?
  /// The symbol as asked for; empty if no symbol was refused.
  public var symbol: String
  /// What is wrong, in one word.
  public var code: RefusalCode
  /// What is wrong, for people.
  public var message: String
  /// What to do; empty if the gateway says nothing.
  public var hint: String

  /// The side that can correct it.
  public var fault: Fault {
    switch code {
    case .unauthorized, .forbidden: .credentials
    case .rateLimited, .notReady, .unavailable: .gateway
    case .unknown: .gateway
    default: .request
    }
  }

  /// For people, with what to do.
  public var description: String {
    let subject = symbol.isEmpty ? "" : "\(symbol): "
    return subject + (hint.isEmpty ? message : "\(message); \(hint)")
  }
}

/// The side that can correct an error.
public enum Fault: Sendable, Hashable {
  /// The app: it asked for something that does not exist.
  case request
  /// The person or the app: a token is missing, expired, or does not allow this.
  case credentials
  /// Neither side; the network failed.
  case network
  /// The gateway or who runs it.
  case gateway
}
