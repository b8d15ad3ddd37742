import Access
import Logging
import PubSub
import Synchronization
import Transport

/// Logs refused clients: who, by which limit, how many.
package final class RefusalLog: Sendable {
  private let folded: FoldedLog
  private let limits: Mutex<Admission.Limits>

  package init(_ folded: FoldedLog, limits: Admission.Limits) {
    self.folded = folded
    self.limits = Mutex(limits)
  }

  /// A connection, a handshake or a request was refused.
  /// - Parameter address: the client's address, if it is known.
  package func refused(_ refusal: Refusal, _ address: IPAddress?) {
    folded.note("refused " + refusal.rawValue, peer: address) {
      var event = FoldedLog.Event(
        level: refusal.isOfTheGateway ? .warning : .notice, message: "clients were refused",
        metadata: ["reason": "\(refusal.rawValue)"])
      if let setting = refusal.setting { event.metadata["limit"] = "\(setting)" }
      if let value = refusal.value(in: limits.withLock { $0 }) { event.metadata["value"] = "\(value)" }
      return event
    }
  }

  /// Sets the limits that later lines show.
  package func apply(_ limits: Admission.Limits) { self.limits.withLock { $0 = limits } }

  /// A client on the stream was closed by a rule.
  package func closed(_ code: UInt16, _ reason: String, _ peer: IPAddress?) {
    folded.note("closed \(code)", peer: peer) {
      FoldedLog.Event(message: "clients were closed", metadata: ["code": "\(code)", "reason": "\(reason)"])
    }
  }

  /// A request to the administration had no operators' token, or a wrong one.
  package func refusedOperator(_ peer: IPAddress?) {
    folded.note("operators' token", peer: peer) {
      FoldedLog.Event(level: .warning, message: "an operator's token was refused")
    }
  }

  /// Logs due folded refusals; call about once a second.
  package func tell() { folded.tell() }
}

extension Refusal {
  /// Whether a limit of the whole gateway was reached, and not one of a peer. A drain does not count, because it was
  /// requested.
  fileprivate var isOfTheGateway: Bool {
    switch self {
    case .connections, .handshakeRate, .queuedBytes, .unanswered: true
    default: false
    }
  }

  /// The setting that causes the refusal.
  fileprivate var setting: String? {
    switch self {
    case .connections: "limits.clients"
    case .connectionsPerAddress: "limits.connections-per-address"
    case .connectionRate: "limits.connections-per-second-per-address"
    case .handshakeRate: "limits.handshakes-per-second"
    case .handshakeRatePerAddress: "limits.handshakes-per-second-per-address"
    case .requestRate: "limits.http-requests-per-second"
    case .requestRatePerAddress: "limits.http-requests-per-second-per-address"
    case .requestRatePerKey: "requests-per-second of the key"
    case .connectionsPerKey: "connections of the key"
    case .workPerAddress: "limits.full-rate-clients-per-address"
    case .queuedBytes: "limits.total-queued-bytes"
    case .origin: "origins"
    case .unauthorized, .forbidden: "keys-file"
    case .draining, .unanswered: nil
    }
  }

  fileprivate func value(in limits: Admission.Limits) -> Int? {
    switch self {
    case .connections: limits.connections
    case .connectionsPerAddress: limits.connectionsPerAddress
    case .connectionRate: limits.connectionsPerSecondPerAddress
    case .handshakeRate: limits.handshakesPerSecond
    case .handshakeRatePerAddress: limits.handshakesPerSecondPerAddress
    case .requestRate: limits.requestsPerSecond
    case .requestRatePerAddress: limits.requestsPerSecondPerAddress
    default: nil
    }
  }
}
