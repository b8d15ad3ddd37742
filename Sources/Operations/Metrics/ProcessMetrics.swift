import Transport

/// The metrics of the process, with the names that all client libraries use, so that ready-made dashboards and alerts
/// find them.
package enum ProcessMetrics {
  private static let table: [Metric<ProcessFigures>] = [
    .gauge("resident_memory_bytes", "Resident memory size in bytes.", ifKnown: \.residentBytes),
    .gauge("virtual_memory_bytes", "Virtual memory size in bytes.", ifKnown: \.virtualBytes),
    .counter("cpu_seconds_total", "Total user and system CPU time spent in seconds.", \.cpuSeconds),
    .gauge("open_fds", "Number of open file descriptors.", ifKnown: \.openDescriptors),
    .gauge("max_fds", "Maximum number of open file descriptors.", \.descriptorLimit),
    .gauge("start_time_seconds", "Start time of the process since unix epoch in seconds.", ifKnown: \.startTime),
  ]

  package static func text(_ figures: ProcessFigures) -> String {
    var writer = MetricsWriter(prefix: "process_")
    writer.append(table, of: figures)
    return writer.text
  }
}
