import Bytes
import Foundation

/// Mistakes that the scanner cannot see: the value has the right kind and a wrong content.
enum MessageError: Error, Equatable, CustomStringConvertible {
  case notANumber(offset: Int)
  /// A list has more elements than allowed.
  case tooMany(offset: Int)
  /// A member that every such message has.
  case missing(String)

  var description: String {
    switch self {
    case .notANumber(let offset): "a wrong value before byte \(offset)"
    case .tooMany(let offset): "a list of too many elements at byte \(offset)"
    case .missing(let name): "`\(name)` is missing"
    }
  }
}

/// The value of a member that every such message has (protocol, *What `data` holds*).
func needed<Value>(_ value: Value?, _ name: String) throws -> Value {
  guard let value else { throw MessageError.missing(name) }
  return value
}

/// What the `data` of a snapshot or update holds.
enum StreamData {
  /// The whole value.
  case payload(Payload)
  /// The last known value of a channel that died alone at the exchange, with the reason.
  case silent(Payload, String)
  /// Trades, and those that the gateway says it did not get before them.
  /// - Parameter silence: why there are none, if the channel died alone at the exchange.
  case trades([Trade], lost: LostTrades?, silence: String?)
  /// All levels, or those that changed.
  case levels(BookLevels)
  /// A whole sparkline, without its symbol.
  case sparkline(Sparkline)
  /// The last candles, or those that changed.
  case candles([CandleSeries.Candle])
  /// Liquidations, and whether the exchange tells of all.
  case liquidations([Liquidation], isComplete: Bool?)
  /// Documents of a topic, in the order of their numbers.
  case documents([TopicDocument])
  /// All rules, or those that changed.
  case alerts(AlertChange)
  /// The book is out of sync with the exchange: the reason.
  case outOfSync(String)
  /// A change of one point of a sparkline.
  case sparklineChange(index: Int64, price: ExactDecimal, from: Int64?, SparklineMove)
}

extension StreamData {
  /// Reads the `data` of a channel.
  init(_ channel: Channel, isSnapshot: Bool, _ json: inout JSONScanner) throws {
    switch channel {
    case .quote: self = .quote(try Quote.message.read(&json))
    case .trades: self = .trades(try Trade.message.read(&json))
    case .ticker: self = .ticker(try Ticker.message.read(&json))
    case .pulse:
      let pulse = try Pulse.message.read(&json)
      self = pulse.isLive ? .payload(.pulse(pulse.value)) : .silent(.pulse(pulse.value), pulse.reason)
    case .book:
      let book = try BookLevels.message.read(&json)
      self = book.isLive ? .levels(book.value) : .outOfSync(book.reason)
    case .sparkline where isSnapshot:
      var message = try SparklineMessage.format.read(&json)
      message.line.take(message.move)
      self = .sparkline(message.line)
    case .sparkline:
      let change = try SparklineChange.format.read(&json)
      self = .sparklineChange(index: change.index, price: change.price, from: change.from, change.move)
    case .candles: self = .candles(try CandleSeries.message.read(&json))
    case .status: self = .payload(.status(try FeedReport.message.read(&json)))
    case .derivative: self = .payload(.derivative(try Derivative.format.read(&json)))
    case .liquidations:
      let list = try LiquidationList.format.read(&json)
      self = .liquidations(list.liquidations, isComplete: list.isComplete)
    case .rate: self = .payload(.rate(try Rate.format.read(&json)))
    case .topic: self = .documents(try TopicDocument.message.read(&json))
    case .alerts: self = .alerts(try AlertChange.format.read(&json))
    case .portfolio: self = .payload(.portfolio(try Portfolio.format.read(&json)))
    case .deck: self = .payload(.deck(try DeckDay.format.read(&json)))
    }
  }

  /// For a composite, the state says how many venues it has; for a market, that its book is out of sync.
  private static func quote(_ message: Sourced<Quote>) -> StreamData {
    var quote = message.value
    quote.composite = message.composite
    return message.isLive || quote.composite != nil ? .payload(.quote(quote)) : .outOfSync(message.reason)
  }

  /// For a composite, the state says how many venues it has; for a market, that a channel of it died.
  private static func ticker(_ message: Sourced<Ticker>) -> StreamData {
    var ticker = message.value
    ticker.composite = message.composite
    return message.isLive || ticker.composite != nil
      ? .payload(.ticker(ticker)) : .silent(.ticker(ticker), message.reason)
  }

  private static func trades(_ message: Sourced<TradeList>) -> StreamData {
    .trades(message.value.trades, lost: message.value.lost, silence: message.isLive ? nil : message.reason)
  }
}
