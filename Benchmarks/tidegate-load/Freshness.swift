import Glibc

/// Whether a gateway has had clients before. Memory of those who came earlier is used again, so that clients seem to
/// cost less than they do, or nothing: the memory of a client is only known of a gateway that has just begun.
enum Freshness: Equatable {
  case fresh
  /// Why nothing can be said.
  case unknown(String)
  case used(clients: Int)

  /// - Parameters:
  ///   - metrics: what the gateway's `/metrics` says; nil if it is not available.
  ///   - started: when the process under measurement was started, Unix time, s.
  init(metrics: String?, started: Double?) {
    guard let metrics else {
      self = .unknown("/metrics cannot be had: give --internal HOST:PORT of the gateway")
      return
    }
    guard let other = Self.value("process_start_time_seconds", in: metrics) else {
      self = .unknown("/metrics has no process_start_time_seconds: whose is it?")
      return
    }
    guard let started, abs(other - started) < 1 else {
      self = .unknown("--internal is of another process than --pid")
      return
    }
    guard let clients = Self.value("tidegate_clients_total", in: metrics) else {
      self = .unknown("/metrics has no tidegate_clients_total")
      return
    }
    self = clients == 0 ? .fresh : .used(clients: Int(clients))
  }

  /// Why the memory of a client is not said; nil if it is.
  var objection: String? {
    switch self {
    case .fresh: nil
    case .unknown(let reason): reason
    case .used(let clients): "the gateway has had \(clients) clients before, whose memory is used again: start it anew"
    }
  }

  private static func value(_ name: String, in metrics: String) -> Double? {
    metrics.split(separator: "\n").first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Double($0) }
  }
}
