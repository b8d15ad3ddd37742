/// The channels, by their names on the wire.
///
/// This file is the registry: a channel is a case here, and its line in `type`. What is true of it, what it encodes and
/// how its streams live is in the file of its type.
package enum ChannelName: String, Sendable, CaseIterable {
  case trades, quote, ticker, pulse, book, sparkline, candles, status, alerts, topic, rate, portfolio, deck
  case derivative, liquidations

  /// The type that describes the channel.
  var type: any Channel.Type {
    switch self {
    case .trades: TradesChannel.self
    case .quote: QuoteChannel.self
    case .ticker: TickerChannel.self
    case .pulse: PulseChannel.self
    case .book: BookChannel.self
    case .sparkline: SparklineChannel.self
    case .candles: CandlesChannel.self
    case .status: StatusChannel.self
    case .alerts: AlertsChannel.self
    case .topic: TopicChannel.self
    case .rate: RateChannel.self
    case .portfolio: PortfolioChannel.self
    case .deck: DeckChannel.self
    case .derivative: DerivativeChannel.self
    case .liquidations: LiquidationsChannel.self
    }
  }

  /// What is true of all its streams.
  package var facts: ChannelFacts { type.facts }
}
