/// An event of a subscription.
///
/// For a slow consumer, only the latest state is kept, except for `trades` and `topic`: the consumer reads a value or
/// `.stale`, whichever is true now. Trades and documents are all kept, and a missing one is reported in its place.
public enum StreamEvent<Value: Sendable>: Sendable {
  /// The whole state of a stream; or trades or documents, each once. It ends `.stale`.
  case value(Value, StreamInfo)
  /// The last value is old until the next one. The client has already requested the next one.
  case stale(StreamInfo, StaleReason)
  /// Trades or documents are missing here, with their number if it is known: this client did not get them, or the
  /// gateway did not get trades from the exchange. Those that the gateway finds later have `isLate`.
  case gap(StreamInfo, missing: Int?)
  /// After a reconnection trades or documents continue where they stopped: nothing is missing.
  case resumed(StreamInfo)
  /// The gateway refuses a symbol; others are not affected.
  case refused(Refusal)
  /// This consumer was too slow: this number of its oldest unread events and notices were dropped.
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

/// The stream of an event.
public struct StreamInfo: Sendable, Hashable {
  /// The kind of data.
  public var channel: Channel
  /// `kraken:BTC-USD`; empty for a channel without symbols.
  public var symbol: String
  /// The smallest step between two prices, from the gateway: `0.01`. Pass it to ``ExactDecimal/trimmed(to:)``.
  public var priceIncrement: ExactDecimal?
  /// Of liquidations: whether the exchange tells of all. If not, counts and sums are lower bounds. Nil: unknown.
  public var isComplete: Bool?

  init(channel: Channel, symbol: String, priceIncrement: ExactDecimal? = nil, isComplete: Bool? = nil) {
    self.channel = channel
    self.symbol = symbol
    self.priceIncrement = priceIncrement
    self.isComplete = isComplete
  }
}

/// The reason why a value is old.
public enum StaleReason: Sendable, Hashable, CustomStringConvertible {
  /// There is no connection to the gateway.
  case disconnected
  /// A message of the stream is missing.
  case gap
  /// The gateway's book is out of sync with the exchange's, or the exchange does not send this channel any more
  /// although it sends others, with the gateway's reason (`checksum mismatch`, `no trades although the venue trades`).
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
  /// Of `.derivative`.
  case derivative(Derivative)
  /// Of `.liquidations`, oldest first.
  case liquidations([Liquidation])
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
    case .liquidations(let list): list.count
    default: nil
    }
  }

  /// The latest `count` of its events.
  func latest(_ count: Int) -> Payload {
    switch self {
    case .trades(let trades): .trades(trades.suffix(count))
    case .topic(let documents): .topic(documents.suffix(count))
    case .liquidations(let list): .liquidations(list.suffix(count))
    default: self
    }
  }
}

/// A refusal of the gateway, with the remedy.
public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// The requested channel; nil if the refusal is not about a subscription, or if this version does not know the
  /// channel.
  public var channel: Channel?
  /// The requested symbol; empty if the refusal is not about a symbol.
  public var symbol: String
  /// The error code.
  public var code: RefusalCode
  /// The error message, for people.
  public var message: String
  /// The remedy; empty if the gateway names none.
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
  /// The app: it requested something that does not exist.
  case request
  /// The person or the app: a token is missing, expired, or does not allow this.
  case credentials
  /// Neither side; the network failed.
  case network
  /// The gateway or its operator.
  case gateway
}
