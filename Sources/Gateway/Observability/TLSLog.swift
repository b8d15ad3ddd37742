import Logging
import Transport

/// Logs failed TLS handshakes of clients.
final class TLSLog: Sendable {
  private let folded: FoldedLog

  init(_ folded: FoldedLog) { self.folded = folded }

  /// Logs due folded failures; call about once a second.
  func tell() { folded.tell() }

  func failed(_ peer: SocketAddress, _ serverName: String?, _ failure: TLSFailure) {
    folded.note("tls " + failure.kind.rawValue, peer: IPAddress(peer.host)) {
      var event = FoldedLog.Event(
        message: "clients' TLS handshakes failed",
        metadata: ["reason": "\(failure.description)", "kind": "\(failure.kind.rawValue)"])
      if let serverName { event.metadata["name"] = "\(serverName)" }
      return event
    }
  }

  /// A client spoke TLS to a port without TLS.
  func sawTLS(from peer: SocketAddress) {
    folded.note("tls in the clear", peer: IPAddress(peer.host)) {
      FoldedLog.Event(
        message: "clients spoke TLS to a port in the clear",
        metadata: ["hint": "use ws:// and http:// here, or set tls.certificate"])
    }
  }
}

/// TLS in Prometheus' text format.
enum TLSMetricsText {
  static func render(_ statistics: TLSStatistics, _ certificates: [TLSCertificateInfo]) -> String {
    var out = ""
    func metric(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: Int)]) {
      out += "# HELP tidegate_tls_\(name) \(help)\n# TYPE tidegate_tls_\(name) \(type)\n"
      for sample in samples { out += "tidegate_tls_\(name)\(sample.labels) \(sample.value)\n" }
    }
    metric(
      "certificate_expiry_seconds", "gauge", "When a certificate in use, or one of its chain, expires, Unix seconds.",
      certificates.map { info in
        ("{file=\"\(escaped(info.file))\",name=\"\(escaped(info.names.first ?? ""))\"}", info.expiry)
      })
    metric(
      "handshakes_total", "counter", "Handshakes of clients that were completed, full or resumed.",
      [("{kind=\"full\"}", statistics.full), ("{kind=\"resumed\"}", statistics.resumed)])
    metric(
      "handshake_failures_total", "counter", "Handshakes of clients that failed, by reason.",
      TLSFailure.Kind.allCases.map { ("{reason=\"\($0.rawValue)\"}", statistics.failures[$0] ?? 0) })
    metric(
      "handshakes_under_way", "gauge", "Handshakes of clients under way.", [("", statistics.underWay)])
    metric(
      "reloads_total", "counter", "Times that the certificate files were read again, and whether they could be used.",
      [("{result=\"used\"}", statistics.reloads), ("{result=\"refused\"}", statistics.reloadFailures)])
    return out
  }

  /// A label's value (Prometheus' text format: backslash, quotation mark and line feed are escaped).
  static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.append(character)
      }
    }
  }
}
