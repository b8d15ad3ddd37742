import Bytes
import HTTPAPI

/// The progress of an upgrade, for operators and metrics.
package struct UpgradeReport: Sendable {
  package enum Phase: String, Sendable {
    case idle, warming, writing, taking, leaving
    /// No upgrade can begin: the process ends.
    case ended
  }

  package var phase = Phase.idle
  /// The next process, while there is one.
  package var successor: Int32?
  /// Its connections to venues, live and all.
  package var warmth: (live: Int, of: Int)?
  /// Upgrades of this service until now, and those that failed in this process.
  package var number = 0
  package var failed = 0
  /// Why the last one failed, and when, UTC µs.
  package var failure: (reason: String, time: Int64)?

  /// - Parameter number: upgrades of this service until now.
  package init(number: Int = 0) { self.number = number }

  /// `{"phase":"warming","process":4711,"connections_live":2,"connections":3,"upgrades":4,"failed":0,…}`
  func response(status: Int = 200) -> HTTPResponse {
    .object(status: status) { writer in
      writer.field("phase", phase.rawValue)
      writer.field("process", successor.map { Int64($0) })
      writer.field("connections_live", warmth.map { Int64($0.live) })
      writer.field("connections", warmth.map { Int64($0.of) })
      writer.field("upgrades", number)
      writer.field("failed", failed)
      writer.field("failure", failure?.reason)
      writer.field("failure_time", failure?.time)
    }
  }

  private static let table: [Metric<UpgradeReport>] = [
    .counter("upgrades_total", "Upgrades of the service without a gap, until this process.", \.number),
    .counter("upgrade_failures_total", "Upgrades that failed in this process.", \.failed),
    .gauge("upgrade_under_way", "1 while the next process warms up or takes over.") {
      [.warming, .writing, .taking].contains($0.phase) ? 1 : 0
    },
  ]

  /// The same as metrics.
  var metrics: String {
    var writer = MetricsWriter()
    writer.append(Self.table, of: self)
    return writer.text
  }
}
