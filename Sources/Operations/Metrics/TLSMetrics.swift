import Transport

/// The metrics of TLS on the client port.
package struct TLSMetrics {
  private let statistics: TLSStatistics
  private let certificates: [TLSCertificateInfo]

  package init(_ statistics: TLSStatistics, _ certificates: [TLSCertificateInfo]) {
    self.statistics = statistics
    self.certificates = certificates
  }

  private static let table: [Metric<TLSMetrics>] = [
    .gauges(
      "certificate_expiry_seconds", "When a certificate in use, or one of its chain, expires, Unix seconds.",
      isAlwaysListed: true
    ) { figures in
      figures.certificates.map { (["file": $0.file, "name": $0.names.first ?? ""], $0.expiry) }
    },
    .counters("handshakes_total", "Handshakes of clients that were completed, full or resumed.", by: "kind") {
      [("full", $0.statistics.full), ("resumed", $0.statistics.resumed)]
    },
    .counters("handshake_failures_total", "Handshakes of clients that failed, by reason.", by: "reason") { figures in
      TLSFailure.Kind.allCases.map { ($0.rawValue, figures.statistics.failures[$0] ?? 0) }
    },
    .gauge("handshakes_under_way", "Handshakes of clients under way.", \.statistics.underWay),
    .counters(
      "reloads_total", "Times that the certificate files were read again, and whether they could be used.", by: "result"
    ) {
      [("used", $0.statistics.reloads), ("refused", $0.statistics.reloadFailures)]
    },
  ]

  package var text: String {
    var writer = MetricsWriter(prefix: "tidegate_tls_")
    writer.append(Self.table, of: self)
    return writer.text
  }
}
