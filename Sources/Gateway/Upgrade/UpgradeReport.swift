import Bytes

/// The progress of an upgrade, for operators and metrics.
struct UpgradeReport: Sendable {
  var phase = OutgoingUpgrade.Phase.idle
  /// The next process, while there is one.
  var successor: Int32?
  /// Its connections to venues, live and all.
  var warmth: (live: Int, of: Int)?
  /// Upgrades of this service until now, and those that failed in this process.
  var number = 0
  var failed = 0
  /// Why the last one failed, and when, UTC µs.
  var failure: (reason: String, time: Int64)?

  var response: HTTPResponse { response(status: 200) }

  /// `{"phase":"warming","process":4711,"connections_live":2,"connections":3,"upgrades":4,"failed":0,…}`
  func response(status: Int) -> HTTPResponse {
    var writer = JSONObjectWriter(capacity: 256)
    writer.object { writer in
      writer.field("phase", phase.rawValue)
      writer.field("process", successor.map { Int64($0) })
      writer.field("connections_live", warmth.map { Int64($0.live) })
      writer.field("connections", warmth.map { Int64($0.of) })
      writer.field("upgrades", number)
      writer.field("failed", failed)
      writer.field("failure", failure?.reason)
      writer.field("failure_time", failure?.time)
    }
    return .json(writer.takeBytes(), status: status)
  }

  /// The same in Prometheus' text format.
  var metrics: String {
    func metric(_ name: String, _ type: String, _ help: String, _ value: Int) -> String {
      "# HELP tidegate_\(name) \(help)\n# TYPE tidegate_\(name) \(type)\ntidegate_\(name) \(value)\n"
    }
    return metric("upgrades_total", "counter", "Upgrades of the service without a gap, until this process.", number)
      + metric("upgrade_failures_total", "counter", "Upgrades that failed in this process.", failed)
      + metric(
        "upgrade_under_way", "gauge", "1 while the next process warms up or takes over.",
        [.warming, .writing, .taking].contains(phase) ? 1 : 0)
  }
}
