import Alerts
import MarketData

/// What a loop hands over of a market that rules name.
enum AlertMarketEvent: Sendable {
  case scales(price: UInt8, size: UInt8)
  /// - Parameter isFirst: it has been so before, without a request: no gap has ended.
  case feed(isLive: Bool, isFirst: Bool = false)
  case book(isLive: Bool, isFirst: Bool = false)
  /// Of a live trade, at the market's scale.
  case price(Int64)
  /// Of a live book or quote; a side without orders is 0.
  case quote(bid: Int64, ask: Int64)
  case depth(AlertThreshold.BookSideName, basisPoints: UInt16, size: Int64)

  /// Whether it may be left out where there is no room: a gap then says so.
  var isFigure: Bool {
    switch self {
    case .scales, .feed, .book: false
    case .price, .quote, .depth: true
    }
  }
}

/// Which figures of a market rules ask for.
struct AlertWatch: Sendable, Equatable {
  struct Depth: Sendable, Hashable {
    var side: AlertThreshold.BookSideName
    var basisPoints: UInt16
  }

  var symbol: String
  /// The engine's number of it.
  var source: AlertSource
  /// False: no rule needs it any longer.
  var isWanted: Bool
  var depths: [Depth] = []
}

/// Values from the loops that the desk has not processed yet, in the order of arrival.
struct AlertMailbox {
  /// Events that may wait: half a second of the busiest market.
  static let limit = 65_536

  private(set) var events: [(source: AlertSource, event: AlertMarketEvent, moment: AlertMoment)] = []
  /// Figures found no room.
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
