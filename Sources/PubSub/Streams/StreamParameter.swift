import Bytes
import MarketData

/// The fields of a subscription that select one of a channel's streams. `ChannelFacts.parameters` says which of them a
/// channel has; `RequestItemParser` checks their ranges.
package enum StreamParameter: Sendable, CaseIterable {
  case depth, range, points, interval, last, zone, portfolio

  /// Its fields.
  package var fields: [String] {
    switch self {
    case .depth: ["depth"]
    case .range: ["range"]
    case .points: ["points"]
    case .interval: ["interval"]
    case .last: ["last"]
    case .zone: ["zone"]
    case .portfolio: PortfolioRequestItem.fields
    }
  }

  /// Sets the parameter in a key to the value of a request, or to the default. The resolver sets `portfolio`, because
  /// it needs the client's grant.
  func set(from item: ClientRequest.Item, in key: inout StreamKey) {
    switch self {
    case .depth: key.depth = item.depth ?? StreamLimits.defaultDepth
    case .range: key.range = item.range ?? .day
    case .points: key.points = item.points ?? StreamLimits.defaultPoints
    case .interval: key.candle = item.candle ?? .minute
    case .last: key.points = item.last ?? 1
    case .zone: key.zone = item.zone ?? StreamLimits.defaultZone
    case .portfolio: break
    }
  }

  /// Appends its fields as replies repeat them, with a comma before each: `,"depth":25`.
  func append(_ key: StreamKey, to out: inout ByteBuffer) {
    switch self {
    case .depth:
      out.append(",\"depth\":")
      if key.depth == 0 { out.append("\"full\"") } else { out.append(integer: UInt64(key.depth)) }
    case .range:
      out.append(",\"range\":\"")
      out.append(key.range.name)
      out.append(UInt8(ascii: "\""))
    case .points:
      out.append(",\"points\":")
      out.append(integer: UInt64(key.points))
    case .interval:
      out.append(",\"interval\":\"")
      out.append(key.candle.name)
      out.append(UInt8(ascii: "\""))
    case .last:
      out.append(",\"last\":")
      out.append(integer: UInt64(key.points))
    case .zone: Self.append(key.zone, ",\"zone\":", to: &out)
    case .portfolio:
      Self.append(key.portfolio?.id, ",\"portfolio\":", to: &out)
      Self.append(key.portfolio?.currency, ",\"currency\":", to: &out)
    }
  }

  private static func append(_ text: String?, _ name: StaticString, to out: inout ByteBuffer) {
    guard let text else { return }
    out.append(name)
    out.append(json: text)
  }
}

/// The limits of the parameters of a subscription.
package enum StreamLimits {
  /// Levels a side; 0 is all.
  package static let depths: [UInt16] = [10, 25, 100, 0]
  package static let defaultDepth: UInt16 = 25
  package static let points: ClosedRange<Int> = 2...1440
  package static let defaultPoints: UInt16 = 96
  /// The number of last documents of a topic in a snapshot.
  package static let documents: ClosedRange<Int> = 1...100
  /// Holdings and positions of all portfolios of a client.
  package static let portfolioLines = 500
  /// Of a deck.
  package static let defaultZone = "UTC"
  /// The number of candles in a snapshot.
  package static let candles = 100
}
