import Bytes
import MarketData

@testable import VenueSimulator
@testable import Venues

/// What a connection says of its channels, and what has become known of its trades.
final class ChannelWitness {
  struct Event: CustomStringConvertible {
    let content: SimulatedContent
    let isLive: Bool
    let symbol: String
    let at: Timestamp
    var description: String { "\(symbol) \(content.rawValue) \(isLive ? "live" : "silent") at \(at.microseconds)" }
  }
  /// In order, without further attempts to revive a channel.
  private(set) var events: [Event] = []
  /// When the venue's figures were first asked for, by symbol, since the last live trade.
  private(set) var doubted: [String: Timestamp] = [:]
  /// The ids of the live trades, by instrument.
  private(set) var trades: [Int: [String]] = [:]
  /// Each change of a live book's best prices, by symbol. Only those since `clearBests`.
  private(set) var bests: [String: [Best]] = [:]
  /// When something last came of each channel beside the book, by symbol.
  private var spoken: [String: Timestamp] = [:]

  struct Best {
    let at: Timestamp
    let bid: Int64
    let ask: Int64
  }

  init(_ connection: WatchedConnection) {
    connection.onChanges = { [weak self, unowned connection] changes, now in
      self?.note(changes, connection.pipeline.market, now)
    }
  }

  /// Whether the channel has said something since `time`.
  func hasSpoken(_ content: SimulatedContent, of symbol: String, since time: Timestamp) -> Bool {
    (spoken["\(symbol) \(content.rawValue)"] ?? .distantPast) > time
  }

  private func spoke(_ content: SimulatedContent, _ id: InstrumentID, _ market: Market, _ now: Timestamp) {
    spoken["\(market[id].instrument.symbol) \(content.rawValue)"] = now
  }

  /// Forgets all but the present best prices.
  func clearBests() { bests = bests.mapValues { $0.suffix(1) } }

  private func note(_ changes: borrowing MarketChanges, _ market: Market, _ now: Timestamp) {
    for change in changes.items {
      switch change {
      case .channel(let id, let channel, let state):
        let symbol = market[id].instrument.symbol
        if state == .doubted {
          if doubted[symbol] == nil { doubted[symbol] = now }
          continue
        }
        if case .silent(let attempt) = state, attempt > 1 { continue }
        let content = SimulatedContent(rawValue: channel.name)!
        events.append(Event(content: content, isLive: state == .live, symbol: symbol, at: now))
      case .bookState(let id, let state):
        events.append(
          Event(content: .book, isLive: state == .live, symbol: market[id].instrument.symbol, at: now))
      case .quote(let quote): spoke(.quote, quote.instrument, market, now)
      case .ticker(let id): spoke(.ticker, id, market, now)
      case .trades(let id, let range):
        spoke(.trades, id, market, now)
        doubted[market[id].instrument.symbol] = nil
        for trade in changes.trades[range] { trades[id.index, default: []].append(trade.id.text) }
      case .bookDelta(let id, _, _, _), .bookSnapshot(let id):
        let state = market[id]
        guard let bid = state.book.bestBid?.price, let ask = state.book.bestAsk?.price else { continue }
        let last = bests[state.instrument.symbol]?.last
        if last?.bid == bid, last?.ask == ask { continue }
        bests[state.instrument.symbol, default: []].append(Best(at: now, bid: bid, ask: ask))
      default: break
      }
    }
  }
}

/// When the silence of a muted channel has been contradicted twice, as Staleness.md has it: from the truth of the
/// simulated market, and from the books that the connection has.
struct ChannelEvidence {
  let venue: Venue
  let content: SimulatedContent
  /// Since when the channel has been mute.
  let struck: Timestamp
  /// The market's trades around that time, the oldest first.
  let trades: [SimulatedTrade]
  /// The changes of the best prices since then.
  let bests: [ChannelWitness.Best]

  private static let second = Microseconds.second
  private var interval: Int64 { venue.market.tickerInterval ?? 0 }
  private var missed: ArraySlice<SimulatedTrade> { trades.drop { $0.time <= struck } }

  /// The latest time at which the gateway should know; nil if there is no such time, or none that the market's truth
  /// alone shows.
  var due: Timestamp? {
    switch content {
    case .trades:
      guard !venue.market.hasWitness else { return nil }
      let seen = trades.last { $0.time <= struck }?.time ?? struck
      // Later than what a trade that did arrive explains.
      guard let first = missed.first(where: { $0.time - seen > interval + 4 * Self.second }),
        let second = missed.first(where: { $0.time - first.time >= interval + 4 * Self.second })
      else { return nil }
      return second.time + interval + Self.second
    case .ticker:
      guard let first = missed.first else { return nil }
      let patience = max(6 * Self.second, interval * 5 / 2)
      return missed.first { $0.time - first.time >= patience }.map { $0.time + Self.second }
    case .quote:
      // A book may come half a second after its last quote.
      guard let before = bests.last(where: { $0.at <= struck + Self.second / 2 }) else { return nil }
      var first: ChannelWitness.Best?
      var last = before
      for best in bests where best.at > struck + Self.second / 2 {
        if best.bid == before.bid, best.ask == before.ask {
          first = nil
        } else if let first, best.at - first.at >= 6 * Self.second, (best.bid, best.ask) != (last.bid, last.ask) {
          return best.at + Self.second
        } else if first == nil {
          first = best
        }
        last = best
      }
      return nil
    case .book: return nil
    }
  }

  /// Whether so little happened until `end` that nothing can have been contradicted twice.
  func isInnocent(until end: Timestamp) -> Bool {
    switch content {
    case .trades: missed.prefix { $0.time <= end }.count < 2
    // The ticker of a trade shortly before may be missing, too.
    case .ticker: trades.filter { $0.time > struck - interval - Self.second && $0.time <= end }.count < 2
    case .quote: bests.filter { $0.at > struck - Self.second && $0.at <= end }.count < 2
    case .book: true
    }
  }
}
