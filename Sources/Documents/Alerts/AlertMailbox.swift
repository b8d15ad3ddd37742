import Alerts
import MarketData

/// An event of a market that rules name, as a loop hands it over.
package enum AlertMarketEvent: Sendable {
  case scales(price: UInt8, size: UInt8)
  /// - Parameter isFirst: the state was the same before the desk asked for it: no gap has ended.
  case feed(isLive: Bool, isFirst: Bool = false)
  case book(isLive: Bool, isFirst: Bool = false)
  /// The price of a live trade, at the market's scale.
  case price(Int64)
  /// The best prices of a live book or quote; a side without orders is 0.
  case quote(bid: Int64, ask: Int64)
  case depth(AlertThreshold.BookSideName, basisPoints: UInt16, size: Int64)
  /// A figure of a perpetual or dated future, at the scale of its measure.
  case contract(AlertThreshold.Measure, Int64)
  /// Earlier prices, in order of time: at most those of the minutes of a day.
  case past([(time: Timestamp, price: Int64)])

  /// Whether the event may be left out if the mailbox is full; a gap then stands for it.
  var isFigure: Bool {
    switch self {
    case .scales, .feed, .book, .past: false
    case .price, .quote, .depth, .contract: true
    }
  }
}

/// The figures of a market that rules need.
package struct AlertWatch: Sendable, Equatable {
  package struct Depth: Sendable, Hashable {
    package var side: AlertThreshold.BookSideName
    package var basisPoints: UInt16
  }

  package var symbol: String
  /// The engine's number of the symbol.
  package var source: AlertSource
  /// False: no rule needs it any longer.
  package var isWanted: Bool
  package var depths: [Depth] = []
  /// The windows of changes, in minutes, in order.
  package var windows: [UInt16] = []
  /// What only perpetuals and dated futures have.
  package var contracts: [AlertThreshold.Measure] = []
}

/// Values from the loops that the desk has not processed yet, in the order of arrival.
struct AlertMailbox {
  /// Events that may wait: half a second of the busiest market.
  static let limit = 65_536

  private(set) var events: [(source: AlertSource, event: AlertMarketEvent, moment: AlertMoment)] = []
  /// Whether figures were left out because the mailbox was full.
  private(set) var hasOverflown = false

  /// Adds a market's values; returns whether the desk must be called.
  mutating func add(_ source: AlertSource, _ news: [AlertMarketEvent], at moment: AlertMoment) -> Bool {
    let wasEmpty = events.isEmpty && !hasOverflown
    for event in news {
      if event.isFigure, events.count >= Self.limit {
        hasOverflown = true
      } else {
        events.append((source, event, moment))
      }
    }
    return wasEmpty
  }

  mutating func take() -> AlertMailbox {
    defer { self = AlertMailbox() }
    return self
  }
}
