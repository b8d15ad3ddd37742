import PubSub
import WebSocket

/// The clients of one loop by transport and encoding, and the ended ones by reason. Owned by the loop.
package struct ClientCounts: Sendable, Equatable {
  /// How a client's connection ended. It is a label in metrics, so the list is short and fixed.
  package enum Ending: String, CaseIterable, Sendable {
    /// The client closed the connection, or its network failed.
    case client
    case slow
    case noPong = "no_pong"
    case rateLimited = "rate_limited"
    /// The client sent invalid requests, or broke the WebSocket protocol.
    case protocolErrors = "protocol"
    case unauthorized
    case forbidden
    case takenOver = "taken_over"
    case draining
    /// An operator ended it.
    case operators = "operator"
    case other

    /// - Parameter code: that the gateway closed it with; nil: it did not.
    package init(code: UInt16?) {
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
      case CloseCode.disconnected: self = .operators
      default: self = .other
      }
    }
  }

  /// By the index in `labels`.
  package private(set) var present = [Int](repeating: 0, count: ClientCounts.labels.count)
  /// By the index in `Ending.allCases`.
  package private(set) var ended = [UInt64](repeating: 0, count: Ending.allCases.count)

  /// How a client takes its messages.
  package enum Encoding: String, CaseIterable, Sendable {
    case plain, deflate
    /// Binary records; text messages are the same.
    case binary
    case binaryDeflate = "binary-deflate"
    /// Server-sent events, over HTTP.
    case events

    package func transport(isTLS: Bool) -> String { (self == .events ? "http" : "ws") + (isTLS ? "s" : "") }
  }

  /// Transport and encoding.
  package static let labels: [(transport: String, encoding: String)] = [false, true].flatMap { isTLS in
    Encoding.allCases.map { ($0.transport(isTLS: isTLS), $0.rawValue) }
  }

  package init() {}

  private static func index(isTLS: Bool, _ encoding: Encoding) -> Int {
    labels.firstIndex { $0 == (encoding.transport(isTLS: isTLS), encoding.rawValue) }!
  }

  package mutating func came(isTLS: Bool, _ encoding: Encoding) { present[Self.index(isTLS: isTLS, encoding)] += 1 }

  /// - Parameter code: that the gateway closed it with; nil: it did not.
  package mutating func left(isTLS: Bool, _ encoding: Encoding, code: UInt16?) {
    present[Self.index(isTLS: isTLS, encoding)] -= 1
    ended[Ending.allCases.firstIndex(of: Ending(code: code))!] += 1
  }

  package mutating func add(_ other: ClientCounts) {
    for index in present.indices { present[index] += other.present[index] }
    for index in ended.indices { ended[index] += other.ended[index] }
  }
}
