import PubSub
import WebSocket

/// The clients of one loop by how they are connected, and how those that are gone went. Owned by the loop.
struct ClientCounts: Sendable, Equatable {
  /// How a client's connection ended: a label in metrics, so that the list is short and fixed.
  enum Ending: String, CaseIterable, Sendable {
    /// The client went, or its network did.
    case client
    case slow
    case noPong = "no_pong"
    case rateLimited = "rate_limited"
    /// It sent requests that make no sense, or broke the WebSocket protocol.
    case protocolErrors = "protocol"
    case unauthorized
    case forbidden
    case takenOver = "taken_over"
    case draining
    case other

    /// - Parameter code: that the gateway closed it with; nil: it did not.
    init(code: UInt16?) {
      switch code {
      case nil: self = .client
      case CloseCode.slow: self = .slow
      case CloseCode.noPong: self = .noPong
      case CloseCode.rateLimited: self = .rateLimited
      case CloseCode.protocolErrors, 1002, 1003, 1007, 1009: self = .protocolErrors
      case CloseCode.unauthorized: self = .unauthorized
      case CloseCode.forbidden: self = .forbidden
      case CloseCode.takenOver: self = .takenOver
      case CloseCode.draining: self = .draining
      default: self = .other
      }
    }
  }

  /// By the place in `labels`.
  private(set) var present = [Int](repeating: 0, count: ClientCounts.labels.count)
  /// By the place in `Ending.allCases`.
  private(set) var ended = [UInt64](repeating: 0, count: Ending.allCases.count)

  /// Transport and encoding.
  static let labels: [(transport: String, encoding: String)] = [
    ("ws", "plain"), ("ws", "deflate"), ("wss", "plain"), ("wss", "deflate"),
  ]

  private static func place(isTLS: Bool, deflates: Bool) -> Int { (isTLS ? 2 : 0) + (deflates ? 1 : 0) }

  mutating func came(isTLS: Bool, deflates: Bool) { present[Self.place(isTLS: isTLS, deflates: deflates)] += 1 }

  /// - Parameter code: that the gateway closed it with; nil: it did not.
  mutating func left(isTLS: Bool, deflates: Bool, code: UInt16?) {
    present[Self.place(isTLS: isTLS, deflates: deflates)] -= 1
    ended[Ending.allCases.firstIndex(of: Ending(code: code))!] += 1
  }

  mutating func add(_ other: ClientCounts) {
    for place in present.indices { present[place] += other.present[place] }
    for place in ended.indices { ended[place] += other.ended[place] }
  }
}
